// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The runner's own thread: one epoll(7) over its mailbox, its processes and their pipes.
struct RunnerThread: ~Copyable {
    /// How many runs are started before events of other runs are handled. A start costs more with
    /// more open descriptors, so the descriptors of runs that ended should be closed in between.
    static let startsPerIteration = 32
    /// How many runs that send messages may be active at once.
    static let activeMessagesMax = 4
    /// The most bytes read from one pipe before other pipes are read.
    static let bytesPerPipe = 8 << 10
    /// The most bytes that are cut into lines before `outputGate` is checked again.
    static let bytesPerGateCheck = 4 << 10
    /// The most bytes that are discarded from a pipe at a time, and the time until the next
    /// discard, in nanoseconds.
    static let discardBytes = 256 << 10
    static let discardPause: Int64 = 20_000_000
    /// The most bytes read from one pipe when its process has ended: the largest pipe that an
    /// unprivileged process can have (pipe(7), pipe-max-size).
    static let drainBytesMax = 1 << 20
    /// How long a program may have to wait until it may start.
    static let startDelayMax: Duration = .seconds(1)
    /// How many processes are reaped before other events are handled.
    static let reapsPerIteration = 256
    /// How long an event may wait, so that it is sent together with further events, in nanoseconds.
    private static let gathering: Int64 = 10_000_000
    /// More starts than this within this time, in nanoseconds, are a burst; see `adjustTimeSlice`.
    private static let many = (starts: 16, within: Int64(100_000_000))
    /// The epoll token of `orphanWatch`, which reports that children have ended.
    static let ends = UInt64.max

    let mailbox: RunnerMailbox
    let registry: RunRegistry
    let epoll: Int32
    let orphanWatch: Int32?
    let spawner: Spawner
    /// The signals that this process ignores or handles, as of the start of the thread: to ask for
    /// them takes 62 system calls, which would delay each start.
    let signals = cspawn_signals()
    let handler: @Sendable (RunnerEvent) -> Void
    let outputGate: @Sendable (Run.ID) -> OutputGate
    let iterationEnded: @Sendable (_ isLate: Bool) -> Bool
    let prepareAgain: @Sendable (RunRequest) -> RunnerMailbox.Command?
    /// How many runs can be active at once, and have their output read after their end, because of the limit of open
    /// files.
    let placesMax: Int
    var groups: ControlGroups?
    /// See `Runner.Options.runtime`.
    let runtime: String?
    /// The credentials of runs; nil if there is no directory for them.
    var credentials: CredentialStore?
    /// The control groups of runs that are over, by the serial numbers of their children, while
    /// processes in them still have to be terminated.
    var leftGroups: [UInt64: LeftoverGroup] = [:]
    /// The serial number of the latest child; 0 is the mailbox.
    var serial: UInt64 = 0
    var children: [UInt64: Child] = [:]
    /// The serial numbers of the children of active runs.
    var serials: [Run.ID: UInt64] = [:]
    /// The serial numbers of the children whose processes are not reaped, by process id.
    var processes: [Int32: UInt64] = [:]
    /// The children whose runs ended while another process has their pipes open, oldest first.
    var orphanedOutputs: [UInt64] = []
    /// The children whose output is not read for now, by their runs.
    var unread: [Run.ID: UInt64] = [:]
    /// The windows in which the lines of jobs are counted.
    var lineLimits = LineLimits()
    var timers = TimerHeap()
    /// The children whose set-up is in progress, the latest last; some may be done. `launchBy` is
    /// the instant at which all of them are polled next.
    var launching: [(serial: UInt64, launch: Int32, isInSession: Bool, hasCopies: Bool)] = []
    var launchBy: Int64?
    /// The runs whose users are being looked up, or whose files are being read, and the deadline
    /// for that.
    var reading: [Run.ID: Reading] = [:]
    /// The children with a line that is not ended, with the numbers of lines that their streams had ended then, and
    /// when they are looked at next.
    var unfinished: [UInt64: [Int]] = [:]
    var unfinishedAt: Int64?
    /// The runs that could not start for a reason that may be gone in a moment, until they start or fail, and when the
    /// next one of them is tried again.
    var retries: [Run.ID: Retry] = [:]
    var retryAt: Int64?
    /// How many runs were started since when, by CLOCK_MONOTONIC. In a burst, only this thread gets
    /// the short time slice, and not the processes that it starts.
    private var starts = (count: 0, since: Int64(0))
    /// The runs that wait to be started, and the commands that arrived for runs whose program does
    /// not run yet.
    var waiting: ArraySlice<Preparation> = []
    /// The messages that wait to be sent, and the active runs that send some. They have places of
    /// their own, so that a receiver that does not answer takes none of the jobs.
    var messages: ArraySlice<Preparation> = []
    var activeMessages: Set<Run.ID> = []
    /// How many runs of jobs may be active at once.
    var activeMax = Int.max
    var pendingCommands: [Run.ID: [RunnerMailbox.Command]] = [:]
    /// When the events that wait must be sent: `iterationEnded` is called with true then.
    private var flushBy: Int64?
    var isShutDown = false
    /// Whether there may be more ended children, for which the kernel does not signal again.
    var mayHaveMoreEnds = false
    /// The barriers that are called when every end that has happened is reported.
    var barriers: [@Sendable () -> Void] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// A run whose user is being looked up, or whose files are being read.
    struct Reading {
        var request: RunRequest
        var number: RunnerMailbox.RequestNumber
        /// The user of the run; nil until the look-up has ended.
        var account: Account?
        var until: Int64
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
        /// Prepares a run that could not start once more; see `RunnerThread.startRetries`.
        var prepareAgain: @Sendable (RunRequest) -> RunnerMailbox.Command? = { _ in nil }
        /// See `RunnerThread.placesMax`.
        var placesMax = Int.max
    }

    private init(_ initialState: InitialState, epoll: Int32) {
        mailbox = initialState.mailbox
        registry = initialState.registry
        orphanWatch = initialState.orphanWatch
        groups = initialState.groups
        runtime = initialState.runtime
        credentials = initialState.credentials
        handler = initialState.handler
        outputGate = initialState.outputGate
        iterationEnded = initialState.iterationEnded
        prepareAgain = initialState.prepareAgain
        placesMax = initialState.placesMax
        self.epoll = epoll
        spawner = Spawner(openFiles: Self.openFilesBefore)
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

    /// Enough for 1300 active runs, with their pipes and pidfds.
    private static let descriptorsReady: rlim_t = 4096

    /// Enlarges the kernel's descriptor table of this process in advance. The kernel doubles the
    /// table when it is full, and if threads share it, each time waits until no processor can still
    /// be using the old one (Linux, fs/file.c: expand_fdtable, synchronize_rcu). That takes 10 ms
    /// and more, during the start of the first large burst of runs.
    private static func preallocateFDTable(beside descriptor: Int32) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(limit.rlim_cur, descriptorsReady)
        let last = fcntl(descriptor, F_DUPFD_CLOEXEC, Int32(count) - 1)
        if last >= 0 { close(last) }
    }

    // MARK: - The thread

    /// Starts the thread. It calls `done` as its last step.
    static func start(
        _ initialState: InitialState, done: @escaping @Sendable () -> Void
    ) throws(Runner.Failure) {
        let mailbox = initialState.mailbox
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Runner.Failure("cannot make an epoll", errno) }
        guard watch(mailbox.descriptor, token: 0, in: epoll),
            initialState.orphanWatch.map({ watch($0, token: ends, in: epoll) }) ?? true
        else {
            let code = errno
            close(epoll)
            throw Runner.Failure("cannot watch a descriptor", code)
        }
        // These come before the new thread exists.
        _ = openFilesBefore
        preallocateFDTable(beside: epoll)
        let code = WorkerThread.start("timerd.runner") {
            // This thread has the nice value of most jobs, whatever the runner has, except during a
            // burst of starts. A child inherits it, and a child that had to raise a lower value
            // would yield the processor: on a busy machine it would wait for its next time slice
            // before it executes its program.
            ThreadNice.reset()
            ThreadSlice.takeShortest()
            var thread = RunnerThread(initialState, epoll: epoll)
            thread.run()
            close(epoll)
            mailbox.close()
            done()
        }
        guard code == 0 else {
            close(epoll)
            throw Runner.Failure("cannot start a thread", code)
        }
    }

    // MARK: - The loop

    private mutating func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while !(isShutDown && serials.isEmpty && leftGroups.isEmpty) {
            let settled = barriers
            let count = epoll_wait(epoll, &events, Int32(events.count), timeout())
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.u64 {
                case 0: for command in mailbox.take() { execute(command) }
                case Self.ends: reapAll()
                case let token: serve(token)
                }
            }
            // If the array is not full, these were all pending events.
            if mayHaveMoreEnds { reapAll() }
            if count >= 0, count < events.count, !mayHaveMoreEnds {
                for settled in settled { settled() }
                barriers.removeFirst(settled.count)
            }
            adjustTimeSlice(at: RunnerClock.awake())
            startRetries(at: RunnerClock.awake())
            startPreparations()
            let now = RunnerClock.awake()
            while let serial = timers.pop(due: now) { handleTimer(of: serial, at: now) }
            reportUnfinished(at: now)
            let isLate = pollLaunches(at: now) || flushBy.map { now >= $0 } ?? false
            let mayWait = iterationEnded(isLate)
            flushBy = mayWait ? flushBy ?? now + Self.gathering : nil
        }
        for settled in barriers { settled() }
        _ = iterationEnded(true)
        for serial in Array(children.keys) { drop(serial) }
        // Processes that were killed with the last runs may need a moment to end.
        for _ in 0..<20 where groups?.areAllRemoved == false {
            usleep(5000)
            reapAll()
            groups?.removeEmpty()
        }
        groups?.closeAll()
        credentials?.close()
        if let orphanWatch { close(orphanWatch) }
    }

    /// With a short time slice, a run starts at once although the processors are busy, and its
    /// process resets the slice before it executes its program, which makes it yield the processor.
    /// During a burst of starts only this thread has the short slice, and the runs compete like any
    /// other process.
    private mutating func adjustTimeSlice(at now: Int64) {
        let wereMany = starts.count > Self.many.starts
        if now - starts.since >= Self.many.within { starts = (count: 0, since: now) }
        starts.count += min(waiting.count, Self.startsPerIteration)
        let areMany = starts.count > Self.many.starts
        guard areMany != wereMany else { return }
        if !areMany {
            ThreadSlice.shareShortest()
        } else if !ThreadSlice.keepShortest(nice: ThreadNice.first) {
            ThreadSlice.reset()
        }
    }

    /// How long epoll_wait may wait, in milliseconds; -1 for no limit.
    private func timeout() -> Int32 {
        if mayStart || maySend || !barriers.isEmpty || mayHaveMoreEnds { return 0 }
        let next = min(
            timers.next ?? .max, flushBy ?? .max, launchBy ?? .max, retryAt ?? .max,
            unfinishedAt ?? .max)
        guard next < .max else { return -1 }
        // Rounded up, so that the loop does not wake too early; at most a day, so that the number
        // fits.
        return Int32(min(86_400_000, max(0, (next - RunnerClock.awake() + 999_999) / 1_000_000)))
    }

    // MARK: - The kernel

    /// Makes epoll report when there is something to read. False, with errno set, on an error.
    static func watch(_ descriptor: Int32, token: UInt64, in epoll: Int32) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }
}
