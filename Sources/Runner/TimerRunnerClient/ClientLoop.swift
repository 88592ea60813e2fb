// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// The state and the loop of the client's thread: the known runs, and the connection while there is
/// one.
struct ClientLoop: ~Copyable {
    /// How many frames are handled before commands are executed.
    private static let framesPerIteration = 128

    let mailbox: ClientMailbox
    let dial: RunnerClient.Dial
    let handler: RunnerClient.Handler
    var socket: FrameSocket?
    var search: RunnerSearch
    var received: ReceivedMessages
    var runs = KnownRuns()
    var checks = PendingChecks()
    var replies = PendingReplies<@Sendable () -> Void>()
    var course = ClientCourse()
    /// Whether there may be more frames in the buffer.
    private var hasFrames = false

    init(
        mailbox: ClientMailbox, dial: @escaping RunnerClient.Dial,
        handler: @escaping RunnerClient.Handler, socket: consuming FrameSocket, instance: UInt64,
        memory: UInt64, announcedBy path: String?
    ) {
        self.mailbox = mailbox
        self.dial = dial
        self.handler = handler
        self.socket = consume socket
        received = ReceivedMessages(instance: instance, memory: memory)
        search = RunnerSearch(announcedBy: path)
    }

    /// Adds the runs that the runner reported on the first connection.
    mutating func add(_ known: Set<Run.ID>, of holdings: [RunnerClient.Holding]) {
        for holding in holdings {
            let isForgotten = runs.add(holding, isKnown: known.contains(holding.run))
            if isForgotten { send(.forget([holding.run])) }
        }
    }

    // MARK: - The loop

    mutating func run() {
        while true {
            // The commands come first: a reply may be about a run whose start was sent directly.
            let taken = mailbox.drain()
            if !taken.rest.isEmpty { socket?.sendRest(taken.rest) }
            for command in taken.commands { execute(command) }
            receive()
            acknowledge(taken.seen[received.instance])
            flush()
            if course.isClosing { return drainAndDisconnect() }
            if socket == nil, course.mayReconnect {
                reconnect()
                // More messages may have arrived together with the runner's list of runs.
                if socket != nil { continue }
            }
            wait()
        }
    }

    /// Waits until the runner or the mailbox has something, or a time is over.
    private mutating func wait() {
        guard !hasFrames else { return }
        var wanted = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
        var time: Int32 = -1
        if let descriptor = socket?.descriptor {
            let isWritten = socket?.backlog == 0
            let events = isWritten ? POLLIN : POLLIN | POLLOUT
            wanted.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
            if isWritten { mailbox.openLine(descriptor, room: runs.room) }
        } else if course.mayReconnect {
            time = search.timeout
            wanted.append(pollfd(fd: search.descriptor, events: Int16(POLLIN), revents: 0))
        }
        _ = poll(&wanted, nfds_t(wanted.count), time)
        if socket == nil, wanted.count > 1, wanted[1].revents != 0 { search.handleChange() }
    }

    /// Acknowledges messages, if the runner waits for that.
    private mutating func acknowledge(_ seen: ClientMailbox.Seen?) {
        guard let numbers = received.acknowledge(seen) else { return }
        send(.seen(events: numbers.events, output: numbers.output))
    }

    /// Sends the remaining requests to the runner; a second is more than a running one needs.
    private mutating func drainAndDisconnect() {
        let deadline = RunnerClock.awake() + 1_000_000_000
        while let descriptor = socket?.descriptor, (socket?.backlog ?? 0) > 0 {
            let left = (deadline - RunnerClock.awake()) / 1_000_000
            guard left > 0 else { break }
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&wanted, 1, Int32(left))
            flush()
        }
        socket = nil
        failPending("closed")
    }

    mutating func send(_ request: WireRequest) { socket?.send(request.bytes) }

    private mutating func flush() {
        guard let isThere = socket?.flush(), !isThere else { return }
        disconnect("the connection to the runner broke")
    }

    // MARK: - Events

    private mutating func receive() {
        hasFrames = false
        var isFilled = false
        for _ in 0..<Self.framesPerIteration {
            if let frame = socket?.next() {
                guard let reply = try? WireReply(frame) else {
                    return disconnect("the runner sent an invalid message")
                }
                handle(reply)
            } else if !isFilled {
                isFilled = true
                socket?.fill()
            } else {
                if socket?.isOpen == false { disconnect("the runner is gone") }
                return
            }
        }
        hasFrames = true
    }

    private mutating func handle(_ reply: WireReply) {
        switch reply {
        case .event(let number, let event): handle(number, event)
        case .barrierReached(let number, let token):
            for reply in replies.take(through: token) { reply() }
            _ = received.receiveEvent(number)
            received.acknowledgeSoon()
        case .down:
            course.announceEnd()
            replies.takeShutdown()?()
        case .checked(let run, let number, let answer):
            guard checks.take(run, number: number) else { return }
            handler(.checked(run, number: number, answer)) {}
        case .machineChanged(let parts): handler(.machineChanged(parts)) {}
        case .welcome, .memory, .holds, .complete:
            disconnect("the runner sent an unexpected message")
        }
    }

    private mutating func handle(_ number: UInt64, _ event: RunnerEvent) {
        switch event {
        case .output, .unfinished, .dropped, .limited, .slowed, .leftBehind:
            handleOutput(number, event)
        case .began, .ended: handleEvent(number, event)
        }
    }

    private mutating func handleOutput(_ number: UInt64, _ event: RunnerEvent) {
        guard received.receiveOutput(number) else { return }
        let (mailbox, instance) = (mailbox, received.instance)
        handler(.event(event)) { mailbox.seen(output: number, of: instance) }
    }

    private mutating func handleEvent(_ number: UInt64, _ event: RunnerEvent) {
        let isNew = received.receiveEvent(number)
        var isEnd = false
        if case .ended = event {
            isEnd = true
            switch runs.end(event.run) {
            case .report: break
            case .ignore: return received.acknowledgeSoon()
            case .forget:
                send(.forget([event.run]))
                return received.acknowledgeSoon()
            }
        } else {
            runs.begin(event.run)
        }
        guard isNew else { return received.acknowledgeSoon() }
        if isEnd { received.expectAcknowledgement(ofEvent: number) }
        let (mailbox, instance) = (mailbox, received.instance)
        handler(.event(event)) { mailbox.seen(events: number, of: instance) }
    }

    // MARK: - Connecting

    /// Reconnects to a runner, if it is time for that, and reconciles the runs that both sides know.
    private mutating func reconnect() {
        let now = RunnerClock.awake()
        guard search.isDue(at: now) else { return }
        do throws(RunnerClient.Failure) {
            let descriptor = try dial().get()
            var fresh = FrameSocket(descriptor, frameBytesMax: Wire.replyBytesMax)
            let greeting = try Greeting.exchange(on: &fresh, until: now + 5_000_000_000)
            let isSame = received.reconnect(
                instance: greeting.instance, memory: greeting.memory)
            socket = consume fresh
            search.end()
            if replies.awaitsPreparation { send(.prepare) }
            reconcile(greeting.holdings)
            for request in checks.all { send(.check(request)) }
            handler(.back(isSame: isSame)) {}
        } catch {
            search.fail()
        }
    }

    /// Reconciles the runs that the runner reports with the runs that are known here. A run is lost
    /// that may have started, and of which this runner cannot know.
    private mutating func reconcile(_ holdings: [RunnerClient.Holding]) {
        let result = runs.reconcile(with: holdings, memory: received.memory)
        for request in result.requests { send(request) }
        for run in result.lost {
            handler(.event(.ended(run, RunEnd(.lost(.runner), at: RunnerClock.wall())))) {}
        }
        start(result.starts)
    }

    // MARK: - Disconnecting

    private mutating func disconnect(_ why: String) {
        socket = nil
        search.begin()
        failPending(why)
    }

    /// Completes the pending requests, for which no reply will come.
    private mutating func failPending(_ why: String) {
        for reply in replies.takeFailed() { reply() }
        if let wasAnnounced = course.takeAnnouncement() {
            handler(.away(why, wasAnnounced: wasAnnounced)) {}
        }
    }
}
