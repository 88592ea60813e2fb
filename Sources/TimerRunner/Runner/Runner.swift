// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Glibc
import HostThreads
import Synchronization
public import TimerCore
public import TimerRunnerProtocol

/// Owns the processes of runs: starts them, reads what they write, ends them when their time is up, and
/// tells how they end.
///
/// All of it happens on one thread of its own, however many processes there are; calls leave word for it and
/// return at once. What it tells comes on that thread, in order for each run.
///
/// Before a run is begun its mark is made in a file in the directory of registry. It stays until the run is
/// forgotten, so that after a crash a run without a mark is known never to have begun, and the next runner
/// finds the process of one with a mark.
///
/// The end of its process is the end of a run; of one that was made to end, the end of its process group.
/// What a process left behind with its output in hand is read on, for at most `orphanedOutputsMax` runs; beyond,
/// the oldest's pipes are closed, and whoever writes there gets SIGPIPE.
///
/// A runner is to be shut down. One that is let go without is shut down with no grace, without waiting.
public final class Runner: Sendable {
    /// How many ended runs may have somebody left behind who still holds their output.
    public static let orphanedOutputsMax = 256

    /// How long is waited after SIGKILL. A process that outlives it stands still in the kernel, or became
    /// another user's. A shutdown gives it up as `lost(runner)`.
    public static let killPatience: Duration = .seconds(5)

    /// The longest grace; a longer one is cut to it.
    public static let graceMax: Duration = .seconds(86_400)

    private let mailbox: RunnerMailbox
    private let registry: RunRegistry
    private let account = Account.current()
    private let files: FileReaders
    private let refusedUser: UInt32?
    /// Whose runs are started; nil for anybody's.
    private let allowedUsers = Mutex<AllowedUsers?>(nil)
    /// Signalled when the thread has ended.
    private let done = DispatchSemaphore(value: 0)

    /// What a runner may do beyond its own children.
    public struct Options: Hashable, Sendable {
        /// Take the ends of all processes its runs leave behind (PR_SET_CHILD_SUBREAPER). SIGCHLD must be
        /// blocked in every thread of this process (`blockSignals`), and nobody else in it may have
        /// children.
        public var adoptsOrphans = false
        /// Give each run a control group of its own below this process's.
        public var usesControlGroups = false
        /// The user no run may have, beside those who may name no other than their own: that of the scheduler, which
        /// the run could make do what it likes. Nil for none.
        public var refusedUser: UInt32?

        /// The directory where runs have their credentials, as an absolute path without a symbolic link: it exists, no
        /// other user can write to it, and the users of runs can search it and the directories on the way. What an
        /// earlier runner left there is removed. Nil: a job with credentials cannot be run.
        public var credentials: String?

        /// Neither.
        public init() {}
    }

    /// Starts the runner's thread.
    ///
    /// It undoes an ignored SIGCHLD, which would have the kernel throw the ends of processes away, and
    /// raises this process's soft limit of open files towards the hard one; jobs get the former one.
    ///
    /// Before it returns, `handler` is told of everything an earlier runner left in the registry: runs that
    /// ended, runs that are lost, and runs that live and are taken up, as begun. Of those the end is awaited
    /// and their time limit holds, but how they end is not to be known any more: `lost(runner)`.
    ///
    /// - Parameters:
    ///   - registry: a descriptor of the directory of registry; the runner makes its own of it.
    ///   - handler: takes what the runner tells; called on the runner's thread, so it must not wait.
    ///   - gate: says there, after some output of a run was told, whether there is room for more of it; once there
    ///     is again, `readOn` is to be called.
    ///   - turned: called there now and then, at the latest when nothing more is to be told for the moment:
    ///     for whoever would rather hear of many things at once. It says whether something was told that may
    ///     wait for more to come along; some 10 ms later it is called again then, with true.
    ///   - ended: called there as the last thing, after a shutdown.
    /// - Throws: `Failure`; no thread and no descriptor is left behind.
    init(
        registry directory: Int32, options: Options = Options(),
        handler: @escaping @Sendable (RunnerEvent) -> Void,
        gate: @escaping @Sendable (Run.ID) -> OutputGate = { _ in .open },
        turned: @escaping @Sendable (_ isLate: Bool) -> Bool = { _ in false },
        ended: @escaping @Sendable () -> Void = {}
    ) throws(Failure) {
        cspawn_claim_ends()
        let mailbox = try RunnerMailbox()
        self.mailbox = mailbox
        refusedUser = options.refusedUser
        files = FileReaders { mailbox.load.startBytes < RunnerLimits.fileBytes }
        registry = try RunRegistry(in: directory)
        var beginning = RunnerThread.Beginning(
            mailbox: mailbox, registry: registry, found: [], handler: handler, gate: gate,
            turned: turned)
        if options.usesControlGroups { beginning.groups = try ControlGroups() }
        if let path = options.credentials {
            beginning.credentials = try CredentialStore(at: path)
        }
        if options.adoptsOrphans {
            let watch = cspawn_adopt_orphans()
            guard watch >= 0 else { throw Failure("cannot take orphaned processes", errno) }
            beginning.orphanWatch = watch
        }
        do throws(Failure) {
            try RunnerThread.begin(Self.recall(&beginning)) { [done] in
                ended()
                done.signal()
            }
        } catch {
            for found in beginning.found { close(found.pidfd) }
            if let watch = beginning.orphanWatch { close(watch) }
            beginning.groups?.closeAll()
            beginning.credentials?.close()
            throw error
        }
    }

    deinit { mailbox.post(.shutDown(.zero)) }

    /// Finds again what the registry tell of, and tells it.
    private static func recall(
        _ beginning: inout RunnerThread.Beginning
    ) -> RunnerThread.Beginning {
        let handler = beginning.handler
        for (run, recovered, group) in beginning.registry.recover() {
            var isOver = true
            defer { if isOver, let group { beginning.left.append((run, group)) } }
            switch recovered {
            case .ended(let end): handler(.ended(run, end))
            case .lost(let loss): handler(.ended(run, RunEnd(.lost(loss), at: RunnerClock.wall())))
            case .begun(let process):
                // First the descriptor, then the check: from then on it is this process and no other.
                let pidfd = cspawn_open_process(process.pid)
                guard pidfd >= 0, process.isAlive else {
                    if pidfd >= 0 { close(pidfd) }
                    handler(.ended(run, RunEnd(.lost(.runner), at: RunnerClock.wall())))
                    continue
                }
                isOver = false
                beginning.found.append((run, process, pidfd))
                handler(.began(run, pid: process.pid, at: process.beganAt))
            }
        }
        // The processes that are found keep theirs.
        beginning.credentials?.clean(keeping: beginning.found.map(\.run))
        return beginning
    }

    /// Moves this process into a control group of its own, beside those that `Options.usesControlGroups` makes, where
    /// a service manager finds it as part of the same service. To be called before there is a runner.
    /// - Throws: `Failure` if `Options.usesControlGroups` would fail too; the process is where it was.
    public static func enterControlGroup() throws(Failure) {
        let groups = try ControlGroups()
        defer { groups.closeAll() }
        try groups.enterLeaf()
    }

    /// Blocks these signals in the calling thread, and so in those it makes: SIGCHLD for `Options.adoptsOrphans`,
    /// and those of `RunnerServer.end(on:grace:)`. To be called before there are other threads.
    public static func blockSignals(_ numbers: [Int32]) {
        var blocked = SignalSet.of(numbers)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
    }

    /// Why there is no runner.
    public struct Failure: Error, Hashable, CustomStringConvertible {
        /// What could not be done, and why.
        public let description: String

        init(_ what: String, _ code: Int32) {
            description = "\(what): \(String(cString: strerror(code)))"
        }
    }

    /// Begins the runs, in this order; one that has files to be read once they are, which others do. Their users
    /// are looked up before this returns; whatever keeps a run from beginning is told as its end. A run that has a mark is not
    /// begun again but told as ended, `lost(runner)`. After a shutdown nothing is begun and nothing told.
    public func start(_ requests: [RunRequest]) {
        guard !requests.isEmpty else { return }
        var found: [AccountKey: Result<Account, Spawner.Failure>] = [:]
        var ready: [Preparation] = []
        for request in requests {
            let execution = request.definition.execution
            let key = AccountKey(user: execution.user, group: execution.group)
            // Once for all that are begun together, which may be many of one user.
            let account = found[key] ?? resolve(key)
            found[key] = account
            guard let wanted = RunFiles(execution), case .success(let owner) = account
            else {
                ready.append(Preparation(request, account))
                continue
            }
            mailbox.post(.read(request, owner))
            files.read(wanted, for: owner.identity) { [mailbox] in
                mailbox.post(.wasRead(request.id, $0))
            }
        }
        if !ready.isEmpty { mailbox.post(.start(ready)) }
    }

    /// Whose a run is to be, by name.
    private struct AccountKey: Hashable {
        var user: String?
        var group: String?
    }

    private func resolve(_ key: AccountKey) -> Result<Account, Spawner.Failure> {
        do throws(Spawner.Failure) {
            let found = try Account.resolve(user: key.user, group: key.group, current: account)
            guard found.identity == nil || found.identity?.user != refusedUser else {
                throw Spawner.failure(
                    EPERM,
                    "run as \(found.name), who is the user of the scheduler: give the job another user"
                )
            }
            if let allowed = allowedUsers.withLock(\.self) {
                try found.check(isOneOf: allowed, named: key.user)
            }
            return .success(found)
        } catch {
            return .failure(error)
        }
    }

    /// What waits for the runner's thread.
    var load: RunnerMailbox.Load { mailbox.load }

    /// Ends a run: SIGTERM to its process group, after `grace` SIGKILL. It ends as `stopped`; one that waits
    /// for its start is not begun. A second call may only shorten the grace.
    public func end(_ run: Run.ID, grace: Duration) { mailbox.post(.end(run, grace: grace)) }

    /// Stops the process group of a run where it stands, by SIGSTOP; its time limit stands still with it.
    public func suspend(_ run: Run.ID) { mailbox.post(.suspend(run)) }

    /// Lets a run go on that stands still, and its time limit with it.
    public func resume(_ run: Run.ID) { mailbox.post(.resume(run)) }

    /// Sends a signal to the process group of a run. One that still waits for its start gets it right after;
    /// for a run that has ended it is ignored.
    public func signal(_ run: Run.ID, _ number: Int32) { mailbox.post(.signal(run, number)) }

    /// From now on at most so many runs live at once, and further ones wait for their start until others have ended.
    /// Those that live already stay. Before the first call there is no limit.
    public func limit(to lives: Int) { mailbox.post(.limit(lives)) }

    /// From now on only the runs of these users are started; nil: those of all users. Active runs are not affected.
    public func allow(_ users: AllowedUsers?) { allowedUsers.withLock { $0 = users } }

    /// There is room for the output of these runs again.
    func readOn(_ runs: [Run.ID]) { mailbox.post(.readOn(runs)) }

    /// Calls `done`, on the runner's thread, once every end that has come to pass by now is told. After the
    /// runner was shut down it is not called.
    public func barrier(_ done: @escaping @Sendable () -> Void) { mailbox.post(.barrier(done)) }

    /// The end of this run is on record: its mark is not needed any more. After a shutdown too.
    public func forget(_ run: Run.ID) { registry.remove(run) }

    /// The same as `shutdown`, but returns at once.
    func shutDownSoon(grace: Duration) { mailbox.post(.shutDown(grace)) }

    /// Ends every run, by SIGTERM, after `grace` by SIGKILL, and then the thread. Their ends are told as
    /// usual, as `stopped`. Returns when that is done, after at most `grace` and `killPatience`; afterwards
    /// nothing is started any more. A second call may only shorten the grace. Must not be called by the
    /// handler, whose thread it waits for.
    public func shutdown(grace: Duration) {
        mailbox.post(.shutDown(grace))
        done.wait()
        // For whoever asks again.
        done.signal()
    }
}
