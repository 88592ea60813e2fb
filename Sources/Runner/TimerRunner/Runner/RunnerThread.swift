// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The runner's own thread: one epoll(7) over its mailbox, its processes and their pipes.
///
/// A run goes through these values, one after the other: its user is looked up and its files are
/// read (`PendingPreparations`), it waits for its start (`StartQueue`), its process sets itself up
/// (`LaunchPolls`) and is a child until its end (`Children`). A run that could not start goes through
/// them again (`Retries`). What remains of it in its control group is ended (`Leftovers`).
///
/// The values decide. The extensions of this type ask them, and do what follows: system calls, and
/// events to report.
struct RunnerThread: ~Copyable {
    /// How many processes are reaped before other events are handled.
    static let reapsPerIteration = 256

    let parts: Parts
    var epoll: Epoll
    var events: EventReporter
    var groups: ControlGroups?
    /// The credentials of runs; nil if there is no directory for them.
    var credentials: CredentialStore?
    var pending = PendingPreparations()
    var starts: StartQueue
    var commands = PendingCommands()
    var retries = Retries()
    var launches = LaunchPolls()
    var children: Children
    var output: OutputReader
    var leftovers = Leftovers()
    var timers = TimerHeap()
    var ends = EndWatch<RunnerMailbox.Barrier>()

    /// What the thread uses and does not change.
    struct Parts {
        let mailbox: RunnerMailbox
        let registry: RunRegistry
        /// A descriptor that reports that children have ended; nil if each child has a pidfd for
        /// that.
        let orphanWatch: Int32?
        /// See `Runner.Options.runtime`.
        let runtime: String?
        /// Prepares a run that could not start once more; nil if the runner is released.
        let prepareAgain: @Sendable (RunRequest) -> RunnerMailbox.Command?
        let spawner = Spawner(openFiles: RunnerThread.openFilesBefore)
        /// The signals that this process ignores or handles, as of the start of the thread: to ask
        /// for them takes 62 system calls, which would delay each start.
        let signals = cspawn_signals()
    }

    /// What the thread needs from the start on.
    struct InitialState {
        var mailbox: RunnerMailbox
        var registry: RunRegistry
        /// The active runs of an earlier runner, with their pidfds.
        var recovered: [(run: Run.ID, process: RunRegistry.Process, pidfd: Int32)]
        /// The control groups of its runs that are over.
        var leftGroups: [(run: Run.ID, group: RunRegistry.Group)] = []
        var orphanWatch: Int32?
        var groups: ControlGroups?
        var runtime: String?
        var credentials: CredentialStore?
        var handler: @Sendable (RunnerEvent) -> Void
        var outputGate: @Sendable (Run.ID) -> OutputGate = { _ in .open }
        var iterationEnded: @Sendable (_ isLate: Bool) -> Bool
        /// See `Parts.prepareAgain`.
        var prepareAgain: @Sendable (RunRequest) -> RunnerMailbox.Command? = { _ in nil }
        /// How many runs can be active at once, and have their output read after their end, because
        /// of the limit of open files.
        var placesMax = Int.max
    }

    private init(_ initialState: InitialState, epoll: Epoll) {
        parts = Parts(
            mailbox: initialState.mailbox, registry: initialState.registry,
            orphanWatch: initialState.orphanWatch, runtime: initialState.runtime,
            prepareAgain: initialState.prepareAgain)
        self.epoll = epoll
        events = EventReporter(
            initialState.handler, iterationEnded: initialState.iterationEnded)
        groups = initialState.groups
        credentials = initialState.credentials
        starts = StartQueue(placesMax: initialState.placesMax)
        // Of few places, most are for active runs.
        children = Children(
            orphanedMax: min(Runner.orphanedOutputsMax, max(1, initialState.placesMax / 4)))
        output = OutputReader(gate: initialState.outputGate)
        for (run, process, pidfd) in initialState.recovered { reattach(run, process, pidfd) }
        for (run, group) in initialState.leftGroups { takeOverGroup(group, of: run) }
    }

    /// The soft limit of open files that this process had before it was raised to allow three
    /// descriptors for each of many runs. It is read once for all runners, because a second runner
    /// would read the raised limit.
    static let openFilesBefore: UInt64 = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        let before = limit.rlim_cur
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return UInt64(before)
    }()

    // MARK: - The thread

    /// Starts the thread. It calls `done` as its last step.
    static func start(
        _ initialState: InitialState, done: @escaping @Sendable () -> Void
    ) throws(Runner.Failure) {
        let mailbox = initialState.mailbox
        let epoll = try Epoll()
        guard epoll.watch(mailbox.descriptor, as: .mailbox),
            initialState.orphanWatch.map({ epoll.watch($0, as: .ends) }) ?? true
        else {
            let code = errno
            epoll.close()
            throw Runner.Failure("cannot watch a descriptor", code)
        }
        // These come before the new thread exists.
        _ = openFilesBefore
        epoll.preallocateFDTable()
        let code = WorkerThread.start("timerd.runner") {
            // This thread has the nice value of most jobs, whatever the runner has, except during a
            // burst of starts. A child inherits it, and a child that had to raise a lower value
            // would yield the processor: on a busy machine it would wait for its next time slice
            // before it executes its program.
            ThreadNice.reset()
            ThreadSlice.takeShortest()
            var thread = RunnerThread(initialState, epoll: epoll)
            thread.run()
            epoll.close()
            mailbox.close()
            done()
        }
        guard code == 0 else {
            epoll.close()
            throw Runner.Failure("cannot start a thread", code)
        }
    }

    // MARK: - The loop

    private mutating func run() {
        while starts.isOpen || children.hasActive || !leftovers.isEmpty {
            ends.beginIteration()
            let (count, areAll) = epoll.wait(timeout())
            for index in 0..<count {
                switch epoll.source(at: index) {
                case .mailbox: for command in parts.mailbox.drain() { execute(command) }
                case .ends: reapAll()
                case .child(let serial, let part): serve(part, of: serial)
                }
            }
            if ends.mayHaveMore { reapAll() }
            for barrier in ends.endIteration(isComplete: areAll) { barrier.isPassed() }
            adjustTimeSlice(at: RunnerClock.awake())
            startRetries(at: RunnerClock.awake())
            startPreparations()
            let now = RunnerClock.awake()
            while let serial = timers.pop(due: now) { handleTimer(of: serial, at: now) }
            reportUnfinished(at: now)
            events.endIteration(isLate: pollLaunches(at: now), at: now)
        }
        end()
    }

    /// Cleans up after the last run.
    private mutating func end() {
        for barrier in ends.finish() { barrier.isPassed() }
        events.finish()
        for serial in children.serials { drop(serial) }
        // Processes that were killed with the last runs may need a moment to end.
        for _ in 0..<20 where groups?.areAllRemoved == false {
            usleep(5000)
            reapAll()
            groups?.removeEmpty()
        }
        groups?.closeAll()
        credentials?.close()
        if let orphanWatch = parts.orphanWatch { close(orphanWatch) }
    }

    /// With a short time slice, a run starts at once although the processors are busy, and its
    /// process resets the slice before it executes its program, which makes it yield the processor.
    /// During a burst of starts only this thread has the short slice, and the runs compete like any
    /// other process.
    private mutating func adjustTimeSlice(at now: Int64) {
        switch starts.noteBurst(at: now) {
        case nil: break
        case .ended: ThreadSlice.shareShortest()
        case .began:
            if !ThreadSlice.keepShortest(nice: ThreadNice.first) { ThreadSlice.reset() }
        }
    }

    /// How long epoll_wait may wait, in milliseconds; -1 for no limit.
    private func timeout() -> Int32 {
        if starts.hasNext(beside: children.occupancy) || ends.isBusy { return 0 }
        let next = min(
            timers.next ?? .max, events.next ?? .max, launches.next ?? .max,
            retries.next ?? .max, output.next ?? .max)
        guard next < .max else { return -1 }
        // Rounded up, so that the loop does not wake too early; at most a day, so that the number
        // fits.
        return Int32(min(86_400_000, max(0, (next - RunnerClock.awake() + 999_999) / 1_000_000)))
    }

    /// Whether the runner shuts down.
    var isShutDown: Bool { !starts.isOpen }
}
