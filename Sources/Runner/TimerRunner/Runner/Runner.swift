// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Glibc
import HostFiles
import HostThreads
import Synchronization
import TimerCore
public import TimerRunnerProtocol

/// Owns the processes of runs: starts them, reads their output, terminates them at their time
/// limit, and reports how they ended.
///
/// All of this happens on one thread, however many processes there are. The methods post a command
/// to the mailbox of that thread and return at once. The runner reports events on that thread, in
/// order for each run.
///
/// Before a run starts, the runner writes a record of it to the run registry, a file in the
/// directory `registry`. The record stays until the run is forgotten. So after a crash, a run
/// without a record never started, and the next runner finds the process of a run with a record.
///
/// A run ends when its process ends; a run that is being terminated ends when its process group is
/// empty. If descendants of an ended run still have its pipes open, the runner continues to read
/// their output, for at most `orphanedOutputsMax` runs. Beyond that it closes the pipes of the
/// oldest run, and a process that writes to them gets SIGPIPE.
///
/// Shut a runner down before you release it. Releasing it without that shuts it down with no grace
/// period, without waiting.
public final class Runner: Sendable {
    /// The most ended runs whose output is still read because another process has their pipes open.
    public static let orphanedOutputsMax = 256

    /// How long the runner waits after SIGKILL. A process that is still there after that is blocked
    /// in the kernel, or now belongs to another user. During a shutdown the runner then reports the
    /// run as `lost(runner)`.
    public static let killWait: Duration = .seconds(5)

    /// The longest grace period; a longer one is cut to it.
    public static let graceMax: Duration = .seconds(86_400)

    let mailbox: RunnerMailbox
    let registry: RunRegistry
    private let files: FileReaders
    private let userSources: UserSources
    private let lookUps = AccountLookUps()
    let accounts: AccountResolver
    /// How many runs the limit of open files allows at once.
    let placesMax: Int
    private let requests = Atomic<RunnerMailbox.RequestNumber>(0)
    /// Signalled when the thread has ended, for which a shutdown waits.
    let done = DispatchSemaphore(value: 0)

    /// The optional features of a runner, which are all off by default.
    public struct Options: Hashable, Sendable {
        /// Reap orphaned descendants of runs (PR_SET_CHILD_SUBREAPER). SIGCHLD must be blocked in
        /// every thread of this process (`blockSignals`), and no other code in it may have child
        /// processes.
        public var adoptsOrphans = false
        /// Give each run its own control group below that of this process.
        public var usesControlGroups = false
        /// A user as whom no run may execute: the user of the scheduler, because such a run could
        /// control the scheduler. Nil for none. This is in addition to the rule that a runner that
        /// is not root can only use its own user.
        public var refusedUser: UInt32?

        /// The directory for the credentials of runs, an absolute path without a symbolic link. It
        /// must exist, no other user may write to it, and the users of runs must be able to search
        /// it and its parent directories. Files of an earlier runner in it are removed. Nil: a job
        /// with credentials cannot be run.
        public var credentials: String?

        /// The runtime directory of the runner, an absolute path without a symbolic link. Without control groups, its
        /// runs get it in their environment, and a later runner whose registry was deleted finds them by it.
        public var runtime: String?

        public init() {}
    }

    /// Starts the runner's thread.
    ///
    /// It stops ignoring SIGCHLD, because the kernel discards the exit statuses of children
    /// otherwise, and raises this process's soft limit of open files towards the hard limit; jobs
    /// get the previous soft limit. Signals that the process ignores or handles at this time are
    /// reset for runs, so nothing else may be ignored or handled later.
    ///
    /// Before it returns, it passes to `handler` what an earlier runner left in the registry: runs
    /// that ended, runs that are lost, and, as begun, runs that are still running, which it
    /// reattaches to. It watches those until they end and enforces their time limit, but their exit
    /// status cannot be read, so they end as `lost(runner)`.
    ///
    /// - Parameters:
    ///   - registry: a descriptor of the directory of the run registry; it is not
    ///     used after this initializer.
    ///   - handler: receives the events; called on the runner's thread, so it must not block.
    ///   - outputGate: called there after output of a run was reported; returns whether there is
    ///     room for more of it. When there is room again, call `resumeReading`.
    ///   - iterationEnded: called there after each loop iteration, so that a receiver can handle
    ///     many events at once. It returns whether it holds back an event until more arrive; then it
    ///     is called again after some 10 ms, with true.
    ///   - ended: called there as the last step, after a shutdown.
    ///   - userSources: whether users are looked up on another thread.
    ///   - findAccount: looks up the names of a user and a group, where the third is the account of
    ///     this process.
    /// - Throws: `Failure`; it leaves no thread and no descriptor behind.
    init(
        registry directory: Int32, options: Options = Options(),
        handler: @escaping @Sendable (RunnerEvent) -> Void,
        outputGate: @escaping @Sendable (Run.ID) -> OutputGate = { _ in .open },
        iterationEnded: @escaping @Sendable (_ isLate: Bool) -> Bool = { _ in false },
        ended: @escaping @Sendable () -> Void = {},
        userSources: UserSources = UserSources(),
        findAccount: @escaping AccountResolver.Find = Account.resolve
    ) throws(Failure) {
        cspawn_reset_sigchld()
        let mailbox = try RunnerMailbox()
        self.mailbox = mailbox
        self.userSources = userSources
        accounts = AccountResolver(refusing: options.refusedUser, find: findAccount)
        files = FileReaders { mailbox.load.startBytes < RunnerLimits.fileBytes }
        registry = try RunRegistry(in: directory)
        var initialState = RunnerThread.InitialState(
            mailbox: mailbox, registry: registry, recovered: [], handler: handler,
            outputGate: outputGate,
            iterationEnded: iterationEnded)
        if options.usesControlGroups { initialState.groups = try ControlGroups() }
        initialState.runtime = options.runtime
        if let path = options.credentials {
            initialState.credentials = try CredentialStore(at: path)
        }
        if options.adoptsOrphans {
            let watch = cspawn_watch_orphans()
            guard watch >= 0 else { throw Failure("cannot take orphaned processes", errno) }
            initialState.orphanWatch = watch
        }
        placesMax = RunPlaces.max()
        initialState.placesMax = placesMax
        initialState.prepareAgain = { [weak self] in self?.prepareAgain($0) }
        do throws(Failure) {
            try RunnerThread.start(Self.recoverRuns(&initialState)) { [done] in
                ended()
                done.signal()
            }
        } catch {
            for found in initialState.recovered { close(found.pidfd) }
            if let watch = initialState.orphanWatch { close(watch) }
            initialState.groups?.closeAll()
            initialState.credentials?.close()
            throw error
        }
    }

    deinit { mailbox.post(.shutDown(.zero)) }

    /// Recovers the runs in the registry and reports them.
    private static func recoverRuns(
        _ initialState: inout RunnerThread.InitialState
    ) -> RunnerThread.InitialState {
        let handler = initialState.handler
        for (run, recovered, group) in records(initialState) {
            var isOver = true
            defer { if isOver, let group { initialState.leftGroups.append((run, group)) } }
            switch recovered {
            case .ended(let end): handler(.ended(run, end))
            case .lost(let loss): handler(.ended(run, RunEnd(.lost(loss), at: RunnerClock.wall())))
            case .begun(let process):
                // The pidfd is opened before the check, so that it refers to the process that was
                // checked.
                let pidfd = cspawn_open_process(process.pid)
                guard pidfd >= 0, process.isAlive else {
                    if pidfd >= 0 { close(pidfd) }
                    handler(.ended(run, RunEnd(.lost(.runner), at: RunnerClock.wall())))
                    continue
                }
                isOver = false
                initialState.recovered.append((run, process, pidfd))
                handler(.began(run, pid: process.pid, at: process.beganAt))
            }
        }
        // The runs that are still active keep their credentials.
        initialState.credentials?.clean(keeping: initialState.recovered.map(\.run))
        return initialState
    }

    /// The recorded runs. If there may be others, of which the record is gone or was never complete, those that live
    /// are found and recorded.
    private static func records(
        _ state: RunnerThread.InitialState
    ) -> [(run: Run.ID, recovered: RunRegistry.RecoveredRun, group: RunRegistry.Group?)] {
        let registry = state.registry
        let records = registry.recover()
        let unproven = Set(records.filter { $0.recovered == .lost(.runner) }.map(\.run))
        guard registry.isNew || !unproven.isEmpty else { return records }
        let living =
            state.groups.map { LivingRuns.inGroups($0) }
            ?? state.runtime.map { LivingRuns.withRuntime($0) } ?? []
        for (run, process) in living {
            if unproven.contains(run) { registry.remove(run) }
            registry.adopt(run, process)
        }
        return living.isEmpty ? records : registry.recover()
    }

    /// Moves this process into its own control group, beside those that `Options.usesControlGroups`
    /// creates, where a service manager still finds it as part of the same service. Call it before
    /// a runner is created.
    /// - Throws: `Failure` if `Options.usesControlGroups` would fail too; the process is not moved
    ///   then.
    public static func enterControlGroup() throws(Failure) {
        let groups = try ControlGroups()
        defer { groups.closeAll() }
        try groups.enterLeaf()
    }

    /// Blocks these signals in the calling thread and in the threads it creates later: SIGCHLD for
    /// `Options.adoptsOrphans`, and the signals of `RunnerServer.handleSignals`. Call it before
    /// other threads are created.
    public static func blockSignals(_ numbers: [Int32]) {
        var blocked = SignalSet.of(numbers)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
    }

    /// The reason why a runner could not be created.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What failed, and the error of the system.
        public let description: String

        init(_ what: String, _ code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Starts the runs in this order; a run with files starts when a reader thread has read them.
    /// Their users are looked up before this method returns, or on another thread if that may take
    /// long. A run that cannot start is reported as ended with the reason. A run that has a record
    /// is not started again but reported as ended, `lost(runner)`. After a shutdown nothing is
    /// started or reported.
    public func start(_ requests: [RunRequest]) {
        var found: [AccountLookUps.Key: Result<Account, Spawner.Failure>] = [:]
        var ready: [Preparation] = []
        // Not asked again for each of many runs.
        lazy var areLocal = userSources.areLocal
        for request in requests {
            let key = AccountLookUps.Key(request)
            guard !key.hasName || areLocal else {
                let number = nextNumber
                mailbox.post(.lookUp(request, number))
                lookUp(key, of: request, number)
                continue
            }
            // Looked up once for all runs of the request, because many of them may have the same
            // user.
            let account = found[key] ?? accounts.resolve(key)
            found[key] = account
            if let wanted = RunFiles(request), case .success(let owner) = account {
                let number = nextNumber
                mailbox.post(.read(request, owner, number))
                Self.read(wanted, of: request.id, number, for: owner, files, mailbox)
            } else {
                ready.append(Preparation(request, account))
            }
        }
        if !ready.isEmpty { mailbox.post(.start(ready)) }
    }

    /// The same for a run that could not start. The runner's thread calls this and executes the command before any
    /// other, so that each further command for this run finds it.
    private func prepareAgain(_ request: RunRequest) -> RunnerMailbox.Command {
        let (key, number) = (AccountLookUps.Key(request), nextNumber)
        guard !key.hasName || userSources.areLocal else {
            lookUp(key, of: request, number)
            return .lookUp(request, number)
        }
        let account = accounts.resolve(key)
        guard let wanted = RunFiles(request), case .success(let owner) = account else {
            return .start([Preparation(request, account)])
        }
        Self.read(wanted, of: request.id, number, for: owner, files, mailbox)
        return .read(request, owner, number)
    }

    private func lookUp(
        _ key: AccountLookUps.Key, of request: RunRequest, _ number: RunnerMailbox.RequestNumber
    ) {
        let (run, wanted) = (request.id, RunFiles(request))
        let until = RunnerClock.awake() + Spawner.timeout.wholeNanoseconds
        // These are kept for as long as a server does not answer, so neither the request nor this
        // runner is in them.
        lookUps.find(key, until: until) { [accounts] in
            accounts.resolve(key)
        } done: { [files, mailbox] account in
            mailbox.post(.lookedUp(run, number, account))
            guard let wanted, case .success(let owner) = account else { return }
            Self.read(wanted, of: run, number, for: owner, files, mailbox)
        }
    }

    private static func read(
        _ wanted: RunFiles, of run: Run.ID, _ number: RunnerMailbox.RequestNumber,
        for owner: Account, _ files: FileReaders, _ mailbox: RunnerMailbox
    ) {
        files.read(wanted, for: owner.identity) { mailbox.post(.wasRead(run, number, $0)) }
    }

    private var nextNumber: RunnerMailbox.RequestNumber {
        requests.add(1, ordering: .relaxed).newValue
    }

    /// The work that waits for the runner's thread.
    var load: RunnerMailbox.Load { mailbox.load }
}
