// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Glibc
import Synchronization
import TimerCore

/// What the runner's thread is to do, left for it by others.
final class Inbox: Sendable {
    enum Word: Sendable {
        case start([RunRequest])
        case signal(Run.ID, Int32)
        case forget(Run.ID)
        case settle(@Sendable () -> Void)
        case shutDown(Duration)
    }

    /// Readable while there is something; an eventfd(2).
    let descriptor: Int32
    private let words = Mutex<[Word]>([])

    init() throws(Runner.Failure) {
        descriptor = cspawn_eventfd()
        guard descriptor >= 0 else { throw Runner.Failure("cannot make an eventfd", errno) }
    }

    deinit { close(descriptor) }

    func leave(_ word: Word) {
        let isFirst = words.withLock { words in
            words.append(word)
            return words.count == 1
        }
        guard isFirst else { return }
        var one: UInt64 = 1
        // It cannot fail: the counter is far from full, and the descriptor is ours.
        _ = write(descriptor, &one, 8)
    }

    func take() -> [Word] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        return words.withLock { words in
            defer { words = [] }
            return words
        }
    }
}

/// One run that lives, or whose output still comes.
struct Child {
    var id: Run.ID
    var pid: Int32
    /// Nil once its end is taken.
    var pidfd: Int32?
    var began: Int64
    var streams: [Pipe?]
    var tail = Tail()
    var wasStopped = false

    struct Pipe {
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
    /// How many pipes that outlived their runs are kept open; then the oldest is closed.
    static let leftoverPipesMax = 256

    private let inbox: Inbox
    private let marks: Int32
    private let epoll: Int32
    private let spawner: Spawner
    private let handler: @Sendable (RunnerEvent) -> Void
    private var serial: UInt64 = 0
    private var children: [UInt64: Child] = [:]
    private var serials: [Run.ID: UInt64] = [:]
    private var leftovers: [UInt64] = []
    private var waiting: [RunRequest] = []
    private var killAt: Int64?
    private var isShutDown = false
    /// Who waits until every end that has come to pass is told.
    private var settling: [@Sendable () -> Void] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// Starts the thread.
    static func begin(
        inbox: Inbox, marks: Int32, done: DispatchSemaphore,
        handler: @escaping @Sendable (RunnerEvent) -> Void
    ) throws(Runner.Failure) {
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Runner.Failure("cannot make an epoll", errno) }
        watch(inbox.descriptor, token: 0, in: epoll)
        let start = ThreadStart {
            var thread = RunnerThread(inbox: inbox, marks: marks, epoll: epoll, handler: handler)
            thread.run()
            close(epoll)
            close(marks)
            done.signal()
        }
        var id = pthread_t()
        let code = pthread_create(
            &id, nil,
            { start in
                let start = Unmanaged<ThreadStart>.fromOpaque(start!).takeRetainedValue()
                cspawn_name_thread("timerd.runner")
                start.body()
                return nil
            }, Unmanaged.passRetained(start).toOpaque())
        guard code == 0 else { throw Runner.Failure("cannot start a thread", code) }
        pthread_detach(id)
    }

    private final class ThreadStart {
        let body: () -> Void

        init(body: @escaping () -> Void) { self.body = body }
    }

    private init(
        inbox: Inbox, marks: Int32, epoll: Int32, handler: @escaping @Sendable (RunnerEvent) -> Void
    ) {
        self.inbox = inbox
        self.marks = marks
        self.epoll = epoll
        self.handler = handler
        spawner = Spawner(openFiles: Self.raiseOpenFiles())
    }

    /// Lets this process hold three descriptors for each of many runs.
    /// - Returns: the soft limit it had, which is what jobs get.
    private static func raiseOpenFiles() -> UInt64 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        let before = limit.rlim_cur
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return UInt64(before)
    }

    // MARK: - The turn

    private mutating func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while !(isShutDown && serials.isEmpty && waiting.isEmpty) {
            let settled = settling
            let count = epoll_wait(epoll, &events, Int32(events.count), patience())
            for event in events.prefix(Int(max(0, count))) {
                let token = event.data.u64
                if token == 0 { for word in inbox.take() { obey(word) } } else { serve(token) }
            }
            // Fewer events than there is room for: that was all of them.
            if count < events.count {
                for settled in settled { settled() }
                settling.removeFirst(settled.count)
            }
            startSome()
            killIfTime()
        }
        for settled in settling { settled() }
        for serial in Array(children.keys) { closeStreams(of: serial) }
    }

    /// How long to wait for something, in milliseconds; -1 for ever.
    private func patience() -> Int32 {
        if !waiting.isEmpty || !settling.isEmpty { return 0 }
        guard let killAt else { return -1 }
        return Int32(clamping: max(0, (killAt - Self.awake()) / 1_000_000 + 1))
    }

    private mutating func obey(_ word: Inbox.Word) {
        switch word {
        case .start(let requests):
            if isShutDown { return }
            waiting += requests
        case .signal(let run, let number):
            if let serial = serials[run], let child = children[serial] { kill(child, number) }
        case .forget(let run): unlinkat(marks, run.description, 0)
        case .settle(let done): settling.append(done)
        case .shutDown(let grace):
            isShutDown = true
            // What was never begun has no mark, and the next life begins it.
            waiting = []
            killAt = Self.awake() + grace.wholeNanoseconds
            stopAll(SIGTERM)
        }
    }

    private mutating func killIfTime() {
        guard let killAt, Self.awake() >= killAt else { return }
        self.killAt = nil
        stopAll(SIGKILL)
    }

    private mutating func stopAll(_ number: Int32) {
        for serial in serials.values {
            children[serial]?.wasStopped = true
            if let child = children[serial] { kill(child, number) }
        }
    }

    /// The group's number is the process's, and stays its own until its end is taken.
    private func kill(_ child: Child, _ number: Int32) {
        guard child.pidfd != nil else { return }
        Glibc.kill(-child.pid, number)
    }

    // MARK: - Starting

    private mutating func startSome() {
        guard !waiting.isEmpty else { return }
        for request in waiting.prefix(Self.startsPerTurn) { start(request) }
        waiting.removeFirst(min(Self.startsPerTurn, waiting.count))
    }

    private mutating func start(_ request: RunRequest) {
        do throws(Spawner.Failure) {
            try mark(request.id)
            try spawn(request)
        } catch {
            handler(.ended(request.id, error.outcome, RunUsage(), tail: []))
        }
    }

    /// Says that the run is begun before it is. A run whose mark is there was begun before.
    private func mark(_ run: Run.ID) throws(Spawner.Failure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = openat(marks, run.description, flags, 0o600)
        guard file >= 0 else {
            guard errno != EEXIST else { throw Spawner.Failure(outcome: .lost(.daemon)) }
            throw Spawner.failure(errno, "mark the run")
        }
        close(file)
    }

    private mutating func spawn(_ request: RunRequest) throws(Spawner.Failure) {
        let output = try Self.makePipe()
        defer { close(output.writing) }
        let error: (reading: Int32, writing: Int32)
        let process: Spawner.Process
        let began = Self.awake()
        do throws(Spawner.Failure) {
            error = try Self.makePipe()
            defer { close(error.writing) }
            do throws(Spawner.Failure) {
                process = try spawner.spawn(request, output: output.writing, error: error.writing)
            } catch let failure {
                close(error.reading)
                throw failure
            }
        } catch let failure {
            close(output.reading)
            throw failure
        }
        serial += 1
        children[serial] = Child(
            id: request.id, pid: process.pid, pidfd: process.pidfd, began: began,
            streams: [
                Child.Pipe(descriptor: output.reading), Child.Pipe(descriptor: error.reading),
            ])
        serials[request.id] = serial
        Self.watch(process.pidfd, token: serial << 2, in: epoll)
        Self.watch(output.reading, token: serial << 2 | 1, in: epoll)
        Self.watch(error.reading, token: serial << 2 | 2, in: epoll)
        handler(.began(request.id, pid: process.pid))
    }

    private static func makePipe() throws(Spawner.Failure) -> (reading: Int32, writing: Int32) {
        var reading: Int32 = -1
        var writing: Int32 = -1
        guard cspawn_pipe(&reading, &writing) == 0 else {
            throw Spawner.failure(errno, "make a pipe")
        }
        return (reading, writing)
    }

    // MARK: - Serving

    private mutating func serve(_ token: UInt64) {
        let serial = token >> 2
        switch token & 3 {
        case 0: takeEnd(of: serial)
        case let stream:
            readSome(of: serial, stream: Int(stream) - 1)
            dropIfDone(serial)
        }
    }

    /// The end of the process is the end of the run: whoever it left behind with the pipe in hand does not
    /// hold it up. What is in the pipe already still belongs to it.
    private mutating func takeEnd(of serial: UInt64) {
        guard let pidfd = children[serial]?.pidfd else { return }
        var end = cspawn_end()
        guard cspawn_reap(pidfd, &end) == 1 else { return }
        close(pidfd)
        children[serial]?.pidfd = nil
        for stream in 0..<2 { readSome(of: serial, stream: stream) }
        for stream in 0..<2 { finishLine(of: serial, stream: stream) }
        guard let child = children[serial] else { return }
        let usage = RunUsage(
            elapsed: .nanoseconds(Self.awake() - child.began),
            user: .microseconds(end.user_microseconds),
            system: .microseconds(end.system_microseconds),
            peakResidentBytes: end.peak_kibibytes << 10)
        let outcome = child.wasStopped ? .stopped : Self.outcome(of: end)
        serials[child.id] = nil
        handler(.ended(child.id, outcome, usage, tail: child.tail.last))
        keepLeftovers(of: serial)
    }

    private static func outcome(of end: cspawn_end) -> RunOutcome {
        if end.code == CLD_EXITED { return .exited(end.status) }
        let name = cspawn_signal_name(end.status).map { "SIG\(String(cString: $0))" }
        return .signalled(name ?? "signal \(end.status)")
    }

    private mutating func readSome(of serial: UInt64, stream: Int) {
        var total = 0
        while total < Self.bytesPerTurn, let pipe = children[serial]?.streams[stream] {
            let count = read(pipe.descriptor, &buffer, buffer.count)
            if count > 0 {
                total += count
                take(count, of: serial, stream: stream)
            } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                finishLine(of: serial, stream: stream)
                close(pipe.descriptor)
                children[serial]?.streams[stream] = nil
            } else if errno == EAGAIN {
                return
            }
        }
    }

    private mutating func take(_ count: Int, of serial: UInt64, stream: Int) {
        guard let id = children[serial]?.id else { return }
        let handler = handler
        buffer.withUnsafeBytes { bytes in
            let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            children[serial]?.tail.take(bytes)
            children[serial]?.streams[stream]?.lines.take(bytes) { line, isCut in
                handler(.output(id, stream == 0 ? .stdout : .stderr, line: line, isCut: isCut))
            }
        }
    }

    private mutating func finishLine(of serial: UInt64, stream: Int) {
        guard let id = children[serial]?.id else { return }
        let handler = handler
        children[serial]?.streams[stream]?.lines.finish { line, isCut in
            handler(.output(id, stream == 0 ? .stdout : .stderr, line: line, isCut: isCut))
        }
    }

    /// What a run left behind may write on as long as it likes; only so many such pipes are kept.
    private mutating func keepLeftovers(of serial: UInt64) {
        guard children[serial]?.streams.contains(where: { $0 != nil }) == true else {
            children[serial] = nil
            return
        }
        leftovers.append(serial)
        guard leftovers.count > Self.leftoverPipesMax else { return }
        closeStreams(of: leftovers.removeFirst())
    }

    private mutating func dropIfDone(_ serial: UInt64) {
        guard let child = children[serial], child.pidfd == nil,
            child.streams.allSatisfy({ $0 == nil })
        else { return }
        children[serial] = nil
        leftovers.removeAll { $0 == serial }
    }

    private mutating func closeStreams(of serial: UInt64) {
        for pipe in children[serial]?.streams ?? [] {
            if let pipe { close(pipe.descriptor) }
        }
        children[serial] = nil
    }

    // MARK: - The kernel

    private static func watch(_ descriptor: Int32, token: UInt64, in epoll: Int32) {
        var event = epoll_event(
            events: EPOLLIN.rawValue, data: epoll_data_t(u64: token))
        // Closing the descriptor takes it out again.
        epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// CLOCK_MONOTONIC, in nanoseconds.
    private static func awake() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
