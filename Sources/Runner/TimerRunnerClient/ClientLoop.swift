// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// The state and the loop of the client's thread: the known runs, and the connection while there is
/// one.
struct ClientLoop: ~Copyable {
    let mailbox: ClientMailbox
    let dial: RunnerClient.Dial
    let handler: RunnerClient.Handler
    var socket: FrameSocket?
    /// The instance number of the runner of the current or last connection.
    var instance: UInt64
    /// The identity of the memory of that runner.
    var memory: UInt64
    /// The received messages of that runner: starts and ends, and output.
    var events = Receipts()
    var output = Receipts()

    /// The runs that were requested or found, and are not forgotten.
    var runs: [Run.ID: Known] = [:]
    /// Runs of the runner that the scheduler does not know: they are forgotten once they have
    /// ended.
    var unknownRuns: Set<Run.ID> = []
    /// In the order of their tokens: the response to one also answers all before it.
    var barriers: ArraySlice<(token: UInt64, done: @Sendable () -> Void)> = []
    var token = Wire.preparedToken
    /// Called once a runner has read the configuration; nil if that is not awaited.
    var prepared: (@Sendable () -> Void)?
    var down: (@Sendable () -> Void)?
    var isClosing = false
    /// The runner was told to shut down: the client does not reconnect.
    var isEnding = false
    /// Whether the runner reported that it ends although this client did not request it.
    private var isLeaving = false
    var search: RunnerSearch
    /// Whether to acknowledge messages in the next loop iteration.
    var mustAcknowledge = false

    /// How many frames are handled before commands are executed.
    private static let framesPerIteration = 128
    /// Whether there may be more frames in the buffer.
    var hasFrames = false

    /// The request for a run that has not started.
    enum Request {
        case run(RunOrder)
        case message(MessageOrder)
    }

    /// What is known about a run, and the commands for it: they are sent again to a runner that may
    /// not have received them.
    struct Known {
        /// Nil once the run has started.
        var order: Request?
        /// The memory of the runner to which its start was sent; nil if it was not sent yet.
        var sentTo: UInt64?
        var isOver = false
        var end: Duration?
        var isSuspended = false
    }

    init(
        mailbox: ClientMailbox, dial: @escaping RunnerClient.Dial,
        handler: @escaping RunnerClient.Handler, socket: consuming FrameSocket, instance: UInt64,
        memory: UInt64, announcedBy path: String?
    ) {
        self.mailbox = mailbox
        self.dial = dial
        self.handler = handler
        self.socket = consume socket
        self.instance = instance
        self.memory = memory
        search = RunnerSearch(announcedBy: path)
    }

    /// Adds the runs that the runner reported on the first connection.
    mutating func add(_ known: Set<Run.ID>, of holdings: [RunnerClient.Holding]) {
        for holding in holdings {
            if known.contains(holding.run) || holding.run.isMessage {
                runs[holding.run] = Known()
            } else {
                handleUnknown(holding)
            }
        }
    }

    mutating func handleUnknown(_ holding: RunnerClient.Holding) {
        if holding.isOver { send(.forget([holding.run])) } else { unknownRuns.insert(holding.run) }
    }

    /// The runs that were requested and not sent to any runner.
    var unsent: [Run.ID] {
        runs.filter { run, known in
            if case .run? = known.order { known.sentTo == nil && !known.isOver } else { false }
        }.map(\.key)
    }

    // MARK: - The loop

    mutating func run() {
        while true {
            // The commands come first: a reply may be about a run whose start was sent directly.
            let taken = mailbox.take()
            if !taken.rest.isEmpty { socket?.sendRest(taken.rest) }
            for command in taken.commands { execute(command) }
            receive()
            acknowledge(taken.seen[instance])
            flush()
            if isClosing { return drainAndDisconnect() }
            if socket == nil, !isEnding {
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
            if isWritten { mailbox.openLine(descriptor, room: room) }
        } else if !isEnding {
            time = search.timeout
            wanted.append(pollfd(fd: search.descriptor, events: Int16(POLLIN), revents: 0))
        }
        _ = poll(&wanted, nfds_t(wanted.count), time)
        if socket == nil, wanted.count > 1, wanted[1].revents != 0 { search.handleChange() }
    }

    /// Acknowledges messages, if the runner waits for that.
    private mutating func acknowledge(_ seen: ClientMailbox.Seen?) {
        if let seen {
            let isNew = [events.markHandled(seen.events), output.markHandled(seen.output)]
            if isNew.contains(true) { mustAcknowledge = true }
        }
        let slack = mustAcknowledge ? 0 : RunnerClient.unacknowledgedMax
        mustAcknowledge = false
        let more = [events.nextToAcknowledge(slack: slack), output.nextToAcknowledge(slack: slack)]
        guard more.contains(where: { $0 != nil }) else { return }
        send(.seen(events: events.acknowledged, output: output.acknowledged))
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
                take(reply)
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

    private mutating func take(_ reply: WireReply) {
        switch reply {
        case .event(let number, let event): take(number, event)
        case .barrierReached(let number, let token):
            if token == Wire.preparedToken { prepared.take()?() }
            while let first = barriers.first, first.token <= token {
                barriers.removeFirst()
                first.done()
            }
            _ = events.receive(number)
            mustAcknowledge = true
        case .down:
            isLeaving = !isEnding
            down?()
            down = nil
        case .welcome, .memory, .holds, .complete:
            disconnect("the runner sent an unexpected message")
        }
    }

    private mutating func take(_ number: UInt64, _ event: RunnerEvent) {
        switch event {
        case .output, .unfinished, .dropped, .limited, .slowed, .leftBehind:
            takeOutput(number, event)
        case .began, .ended: takeEvent(number, event)
        }
    }

    private mutating func takeOutput(_ number: UInt64, _ event: RunnerEvent) {
        // It was received on an earlier connection, and passed on then.
        guard !output.receive(number) else { return mustAcknowledge = true }
        output.expectAcknowledgement(of: number)
        let (mailbox, instance) = (mailbox, instance)
        handler(.event(event)) { mailbox.seen(output: number, of: instance) }
    }

    private mutating func takeEvent(_ number: UInt64, _ event: RunnerEvent) {
        let isAgain = events.receive(number)
        let run = event.run
        var needsAcknowledgement = false
        if case .ended = event {
            needsAcknowledgement = true
            if unknownRuns.remove(run) != nil || runs[run] == nil {
                send(.forget([run]))
                return mustAcknowledge = true
            }
            guard runs[run]?.isOver == false else { return mustAcknowledge = true }
            runs[run]?.isOver = true
        }
        runs[run]?.order = nil
        if isAgain { return mustAcknowledge = true }
        if needsAcknowledgement {
            events.expectAcknowledgement(of: number)
        }
        let (mailbox, instance) = (mailbox, instance)
        handler(.event(event)) { mailbox.seen(events: number, of: instance) }
    }

    // MARK: - Disconnecting

    private mutating func disconnect(_ why: String) {
        socket = nil
        search.begin()
        failPending(why)
    }

    /// Completes the pending requests, for which no reply will come.
    private mutating func failPending(_ why: String) {
        for (_, done) in barriers { done() }
        barriers = []
        down?()
        down = nil
        let wasAnnounced = isLeaving
        isLeaving = false
        if !isClosing, !isEnding { handler(.away(why, wasAnnounced: wasAnnounced)) {} }
    }
}
