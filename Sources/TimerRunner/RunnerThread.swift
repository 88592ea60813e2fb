// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Glibc
import TimerCore

/// One run that lives, or whose output still comes.
struct Child {
    var id: Run.ID
    var pid: Int32
    /// Nil once its end is taken.
    var pidfd: Int32?
    var began: Int64
    /// Standard output and standard error; nil once closed.
    var streams: [Stream?]
    var tail = Tail()
    /// A shutdown found it alive and signalled it.
    var wasStopped = false

    struct Stream {
        var descriptor: Int32
        var lines = LineCutter()
    }
}

/// The runner's own thread: one epoll(7) over its inbox, its processes and their pipes.
struct RunnerThread: ~Copyable {
    /// How many runs are begun before the ends and the output of others are looked at again.
    static let startsPerTurn = 32
    /// The most bytes read from one pipe before others have their turn.
    static let bytesPerTurn = 256 << 10
    /// The most bytes read from one pipe at the end of its process: what a pipe may hold at most without
    /// privilege (pipe(7), pipe-max-size).
    static let drainBytesMax = 1 << 20

    let inbox: Inbox
    let marks: Marks
    let epoll: Int32
    let spawner: Spawner
    let handler: @Sendable (RunnerEvent) -> Void
    /// The number of the latest child; 0 is the inbox.
    var serial: UInt64 = 0
    var children: [UInt64: Child] = [:]
    /// The children whose processes live.
    var serials: [Run.ID: UInt64] = [:]
    /// The children whose processes ended while somebody else holds their pipes, oldest first.
    var leftovers: [UInt64] = []
    /// What is yet to be begun, and the signals that came for it meanwhile.
    var waiting: ArraySlice<RunRequest> = []
    var early: [Run.ID: [Int32]] = [:]
    /// When to kill, and when to give up, once shut down.
    var killAt: Int64?
    var giveUpAt: Int64?
    var isShutDown = false
    /// Who waits until every end that has come to pass is told.
    var settling: [@Sendable () -> Void] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)

    private init(
        inbox: Inbox, marks: Marks, epoll: Int32, handler: @escaping @Sendable (RunnerEvent) -> Void
    ) {
        self.inbox = inbox
        self.marks = marks
        self.epoll = epoll
        self.handler = handler
        spawner = Spawner(openFiles: Self.openFilesBefore)
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

    // MARK: - The thread

    /// Starts the thread, which signals `done` as the last thing it does.
    static func begin(
        inbox: Inbox, marks: Marks, done: DispatchSemaphore,
        handler: @escaping @Sendable (RunnerEvent) -> Void
    ) throws(Runner.Failure) {
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Runner.Failure("cannot make an epoll", errno) }
        guard watch(inbox.descriptor, token: 0, in: epoll) else {
            let code = errno
            close(epoll)
            throw Runner.Failure("cannot watch an eventfd", code)
        }
        let body = Body {
            var thread = RunnerThread(inbox: inbox, marks: marks, epoll: epoll, handler: handler)
            thread.run()
            close(epoll)
            for case .forget(let run) in inbox.close() { marks.remove(run) }
            done.signal()
        }
        let code = start(Unmanaged.passRetained(body))
        guard code == 0 else {
            close(epoll)
            throw Runner.Failure("cannot start a thread", code)
        }
    }

    private final class Body {
        let run: () -> Void

        init(run: @escaping () -> Void) { self.run = run }
    }

    /// Runs the body on a detached thread that takes no signal: those of the process are for the threads
    /// that expect them. Only what the thread itself would cause stays open.
    private static func start(_ body: Unmanaged<Body>) -> Int32 {
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { body in
                guard let body else { return nil }
                cspawn_name_thread("timerd.runner")
                Unmanaged<Body>.fromOpaque(body).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        if code == 0 { pthread_detach(id) } else { body.release() }
        return code
    }

    // MARK: - The turn

    private mutating func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while !(isShutDown && serials.isEmpty) {
            let settled = settling
            let count = epoll_wait(epoll, &events, Int32(events.count), patience())
            for event in events.prefix(Int(max(0, count))) {
                let token = event.data.u64
                if token == 0 { for word in inbox.take() { obey(word) } } else { serve(token) }
            }
            // Fewer events than there is room for: that was all of them.
            if count >= 0, count < events.count {
                for settled in settled { settled() }
                settling.removeFirst(settled.count)
            }
            startSome()
            stopIfTime()
        }
        for settled in settling { settled() }
        for serial in Array(children.keys) { drop(serial) }
    }

    /// How long to wait for something, in milliseconds; -1 for ever.
    private func patience() -> Int32 {
        if !waiting.isEmpty || !settling.isEmpty { return 0 }
        guard let next = killAt ?? giveUpAt else { return -1 }
        return Int32(clamping: max(0, (next - Self.awake()) / 1_000_000 + 1))
    }

    private mutating func obey(_ word: Inbox.Word) {
        switch word {
        case .start(let requests): if !isShutDown { waiting += requests }
        case .signal(let run, let number):
            if let serial = serials[run], let child = children[serial] {
                kill(child, number)
            } else if waiting.contains(where: { $0.id == run }) {
                early[run, default: []].append(number)
            }
        case .forget(let run): marks.remove(run)
        case .settle(let done): settling.append(done)
        case .shutDown(let grace): shutDown(grace)
        }
    }

    // MARK: - Stopping

    private mutating func shutDown(_ grace: Duration) {
        let until = Self.awake() + max(.zero, min(grace, Runner.graceMax)).wholeNanoseconds
        guard !isShutDown else {
            if let killAt { self.killAt = min(killAt, until) }
            return
        }
        isShutDown = true
        // What was never begun has no mark, and the next life begins it.
        waiting = []
        early = [:]
        killAt = until
        // Who ended before it was asked to was not stopped.
        for serial in Array(serials.values) { takeEnd(of: serial) }
        stopAll(SIGTERM)
        // Who stands still takes SIGTERM only once it goes on.
        stopAll(SIGCONT)
    }

    private mutating func stopIfTime() {
        let now = Self.awake()
        if let killAt, now >= killAt {
            self.killAt = nil
            giveUpAt = now + Runner.killPatience.wholeNanoseconds
            stopAll(SIGKILL)
        } else if let giveUpAt, now >= giveUpAt {
            self.giveUpAt = nil
            for serial in Array(serials.values) { end(serial, .lost(.daemon), cspawn_end()) }
        }
    }

    private mutating func stopAll(_ number: Int32) {
        for serial in serials.values {
            children[serial]?.wasStopped = true
            if let child = children[serial] { kill(child, number) }
        }
    }

    /// The group's number is the process's, and stays its own until its end is taken.
    func kill(_ child: Child, _ number: Int32) {
        guard child.pidfd != nil else { return }
        Glibc.kill(-child.pid, number)
    }

    // MARK: - The kernel

    /// Has the epoll tell when there is something to read. False, with errno set, if it will not.
    static func watch(_ descriptor: Int32, token: UInt64, in epoll: Int32) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    /// Closes what may be watched. Taken out by name: closing alone does so only once nobody else holds the
    /// open file, and another thread may just be copying this process's descriptors into a child.
    func closeWatched(_ descriptor: Int32) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
        close(descriptor)
    }

    /// CLOCK_MONOTONIC, in nanoseconds.
    static func awake() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
