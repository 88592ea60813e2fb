// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import TimerCore
import TimerRunnerProtocol

/// The runner's own thread: one epoll(7) over its mailbox, its processes and their pipes.
struct RunnerThread: ~Copyable {
    /// How many runs are begun before the ends and the output of others are looked at again. Each start costs
    /// more the more descriptors are open, so those of runs that ended had better be closed meanwhile.
    static let startsPerTurn = 32
    /// The most bytes read from one pipe before others have their turn.
    static let bytesPerTurn = 8 << 10
    /// The most bytes of which lines are made before it is looked whether there is room for more.
    static let bytesPerLook = 4 << 10
    /// The most bytes of a pipe that are thrown away at a time, and how many nanoseconds later more are.
    static let discardBytes = 256 << 10
    static let discardPause: Int64 = 20_000_000
    /// The most bytes read from one pipe at the end of its process: what a pipe may hold at most without
    /// privilege (pipe(7), pipe-max-size).
    static let drainBytesMax = 1 << 20
    /// How many ends are taken before others have their turn.
    static let endsPerTurn = 256
    /// How many nanoseconds what was told may wait for more.
    private static let gathering: Int64 = 10_000_000
    /// How many starts within how many nanoseconds are many.
    private static let many = (starts: 16, within: Int64(100_000_000))
    /// What stands in an event for the ends of children.
    static let ends = UInt64.max

    let mailbox: RunnerMailbox
    let registry: RunRegistry
    let epoll: Int32
    let orphanWatch: Int32?
    let spawner: Spawner
    let handler: @Sendable (RunnerEvent) -> Void
    let gate: @Sendable (Run.ID) -> OutputGate
    let turned: @Sendable (_ isLate: Bool) -> Bool
    var groups: ControlGroups?
    /// Where runs have their credentials; nil: nowhere.
    var credentials: CredentialStore?
    /// The control groups of runs that are over, by their children, as long as something is to be done about what is
    /// left in them.
    var leftGroups: [UInt64: LeftGroup] = [:]
    /// The number of the latest child; 0 is the mailbox.
    var serial: UInt64 = 0
    var children: [UInt64: Child] = [:]
    /// The children whose runs live.
    var serials: [Run.ID: UInt64] = [:]
    /// The children whose processes live, by their numbers.
    var processes: [Int32: UInt64] = [:]
    /// The children whose runs ended while somebody else holds their pipes, oldest first.
    var orphanedOutputs: [UInt64] = []
    /// The children of which nothing is read for now, by their runs.
    var unread: [Run.ID: UInt64] = [:]
    /// What the jobs wrote lately.
    var lineLimits = LineLimits()
    var timers = TimerHeap()
    /// The children that set themselves up, the latest last; some may be done. And when all of them are looked at
    /// again, at the latest.
    var launching: [(serial: UInt64, launch: Int32, isInSession: Bool)] = []
    var launchBy: Int64?
    /// The runs whose files are being read, and until when that may take.
    var reading: [Run.ID: Reading] = [:]
    /// How many were begun since an instant not long ago; with many, this thread goes first by itself.
    private var starts = (count: 0, since: Int64(0))
    /// What is yet to be begun, and the words that came for it meanwhile.
    var waiting: ArraySlice<Preparation> = []
    /// How many runs may live at once.
    var livesMax = Int.max
    var early: [Run.ID: [RunnerMailbox.Command]] = [:]
    /// When `turned` is to be called at the latest.
    private var turnBy: Int64?
    var isShutDown = false
    /// Whether children may have ended of whom the kernel tells no more.
    var mayHaveMoreEnds = false
    /// Who waits until every end that has come to pass is told.
    var barriers: [@Sendable () -> Void] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// A run whose files are being read.
    struct Reading {
        var request: RunRequest
        var account: Account
        var until: Int64
    }

    /// What a thread begins with.
    struct Beginning {
        var mailbox: RunnerMailbox
        var registry: RunRegistry
        /// The runs an earlier runner left, with descriptors of their processes.
        var found: [(run: Run.ID, process: RunRegistry.Process, pidfd: Int32)]
        /// The control groups of those it left that are over.
        var left: [(run: Run.ID, group: RunRegistry.Group)] = []
        var orphanWatch: Int32?
        var groups: ControlGroups?
        var credentials: CredentialStore?
        var handler: @Sendable (RunnerEvent) -> Void
        var gate: @Sendable (Run.ID) -> OutputGate = { _ in .open }
        var turned: @Sendable (_ isLate: Bool) -> Bool
    }

    private init(_ beginning: Beginning, epoll: Int32) {
        mailbox = beginning.mailbox
        registry = beginning.registry
        orphanWatch = beginning.orphanWatch
        groups = beginning.groups
        credentials = beginning.credentials
        handler = beginning.handler
        gate = beginning.gate
        turned = beginning.turned
        self.epoll = epoll
        spawner = Spawner(openFiles: Self.openFilesBefore)
        for (run, process, pidfd) in beginning.found { adopt(run, process, pidfd) }
        for (run, group) in beginning.left { adopt(group, of: run) }
    }

    /// The soft limit of open files this process had before it was raised, so as to hold three descriptors
    /// for each of many runs. Once for all runners: a second one would find what the first one raised.
    private static let openFilesBefore: UInt64 = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        let before = limit.rlim_cur
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return UInt64(before)
    }()

    /// As many as 1300 runs at once take.
    private static let descriptorsReady: rlim_t = 4096

    /// Has the kernel's table of this process's descriptors be so long from now on. It grows by doubling, and where
    /// threads share it, each time waits until no processor can be looking at the shorter one (Linux, fs/file.c:
    /// expand_fdtable, synchronize_rcu): 10 ms and more, in the midst of the first runs of which there are many.
    private static func preallocateFDTable(beside descriptor: Int32) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = min(limit.rlim_cur, descriptorsReady)
        let last = fcntl(descriptor, F_DUPFD_CLOEXEC, Int32(count) - 1)
        if last >= 0 { close(last) }
    }

    // MARK: - The thread

    /// Starts the thread, which calls `done` as the last thing it does.
    static func begin(
        _ beginning: Beginning, done: @escaping @Sendable () -> Void
    ) throws(Runner.Failure) {
        let mailbox = beginning.mailbox
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Runner.Failure("cannot make an epoll", errno) }
        guard watch(mailbox.descriptor, token: 0, in: epoll),
            beginning.orphanWatch.map({ watch($0, token: ends, in: epoll) }) ?? true
        else {
            let code = errno
            close(epoll)
            throw Runner.Failure("cannot watch a descriptor", code)
        }
        // Before there is one thread more.
        _ = openFilesBefore
        preallocateFDTable(beside: epoll)
        let code = WorkerThread.start("timerd.runner") {
            // The nice value most jobs have is that of this thread too, unless many begin, whatever the
            // runner's. A child begins with its parent's, and one that has to give up a lower one gives up the
            // processor with it: on a busy machine it would wait for its next turn before it runs its program.
            ThreadNice.reset()
            ThreadSlice.takeShortest()
            var thread = RunnerThread(beginning, epoll: epoll)
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

    // MARK: - The turn

    private mutating func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while !(isShutDown && serials.isEmpty && leftGroups.isEmpty) {
            let settled = barriers
            let count = epoll_wait(epoll, &events, Int32(events.count), timeout())
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.u64 {
                case 0: for word in mailbox.take() { execute(word) }
                case Self.ends: reapAll()
                case let token: serve(token)
                }
            }
            // Fewer events than there is room for: that was all of them.
            if mayHaveMoreEnds { reapAll() }
            if count >= 0, count < events.count, !mayHaveMoreEnds {
                for settled in settled { settled() }
                barriers.removeFirst(settled.count)
            }
            adjustTimeSlice(at: RunnerClock.awake())
            startSome()
            let now = RunnerClock.awake()
            while let serial = timers.pop(due: now) { handleTimer(of: serial, at: now) }
            let isLate = pollLaunches(at: now) || turnBy.map { now >= $0 } ?? false
            let mayWait = turned(isLate)
            turnBy = mayWait ? turnBy ?? now + Self.gathering : nil
        }
        for settled in barriers { settled() }
        _ = turned(true)
        for serial in Array(children.keys) { drop(serial) }
        // Who was killed with the last runs may take a moment to be gone.
        for _ in 0..<20 where groups?.areAllRemoved == false {
            usleep(5000)
            reapAll()
            groups?.removeEmpty()
        }
        groups?.closeAll()
        credentials?.close()
        if let orphanWatch { close(orphanWatch) }
    }

    /// Short turns have a run begin at once though the processors are taken, and its process gives them up before it
    /// is its program. That costs it a turn: where many begin, this thread goes first by itself, and they as any.
    private mutating func adjustTimeSlice(at now: Int64) {
        let wereMany = starts.count > Self.many.starts
        if now - starts.since >= Self.many.within { starts = (count: 0, since: now) }
        starts.count += min(waiting.count, Self.startsPerTurn)
        let areMany = starts.count > Self.many.starts
        guard areMany != wereMany else { return }
        if !areMany {
            ThreadSlice.shareShortest()
        } else if !ThreadSlice.keepShortest(nice: ThreadNice.first) {
            ThreadSlice.reset()
        }
    }

    /// How long to wait for something, in milliseconds; -1 for ever.
    private func timeout() -> Int32 {
        if mayStart || !barriers.isEmpty || mayHaveMoreEnds { return 0 }
        let next = min(timers.next ?? .max, turnBy ?? .max, launchBy ?? .max)
        guard next < .max else { return -1 }
        // Rounded up, so as not to turn in vain; a day at most, lest the number not fit.
        return Int32(min(86_400_000, max(0, (next - RunnerClock.awake() + 999_999) / 1_000_000)))
    }

    private mutating func execute(_ word: RunnerMailbox.Command) {
        switch word {
        case .start(let preparations): if !isShutDown { waiting += preparations }
        case .read(let request, let account): awaitFiles(of: request, account)
        case .wasRead(let run, let files): takeFiles(of: run, files)
        case .signal(let run, let number):
            guard let child = child(of: run, or: word) else { return }
            kill(child, number)
        case .end(let run, let grace): end(run, grace: grace)
        case .suspend(let run):
            guard child(of: run, or: word) != nil else { return }
            suspend(run)
        case .resume(let run):
            guard child(of: run, or: word) != nil else { return }
            resume(run)
        case .barrier(let done): barriers.append(done)
        case .readOn(let runs): for run in runs { readOn(run) }
        case .limit(let count):
            livesMax = count
            // A configuration was read, which takes much memory; the next run is not to wait for what follows from that.
            cspawn_get_ready()
        case .shutDown(let grace): shutDown(grace)
        }
    }

    /// The child of a run. A word for a run whose program does not run yet is kept until then.
    private mutating func child(of run: Run.ID, or word: RunnerMailbox.Command) -> Child? {
        let child = serials[run].flatMap { children[$0] }
        if let child, child.launch == nil { return child }
        if child != nil || reading[run] != nil || waiting.contains(where: { $0.request.id == run })
        {
            early[run, default: []].append(word)
            mailbox.keepCommands(1)
        }
        return nil
    }

    /// What was said of a run before its program ran.
    mutating func executeEarly(_ run: Run.ID) {
        for word in forgetEarly(run) { execute(word) }
    }

    /// Takes out what was said of a run before its program ran.
    @discardableResult
    mutating func forgetEarly(_ run: Run.ID) -> [RunnerMailbox.Command] {
        guard !early.isEmpty, let words = early.removeValue(forKey: run) else { return [] }
        mailbox.keepCommands(-words.count)
        return words
    }

    // MARK: - The kernel

    /// Has the epoll tell when there is something to read. False, with errno set, if it will not.
    static func watch(_ descriptor: Int32, token: UInt64, in epoll: Int32) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }
}
