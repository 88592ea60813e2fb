// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerRunnerProtocol

/// The client's own thread: what it knows of the runs, and the connection while there is one.
struct ClientLoop: ~Copyable {
    private let mailbox: ClientMailbox
    let dial: RunnerClient.Dial
    let handler: RunnerClient.Handler
    var socket: FrameSocket?
    /// Which runner it is, or was.
    var instance: UInt64
    /// What it told of beginnings and ends, and of output.
    var events = Receipts()
    var output = Receipts()

    /// The runs that were told to start or were found, and are not forgotten.
    var runs: [Run.ID: Known] = [:]
    /// Runs the runner holds and nobody knows: they are forgotten once they are over.
    var unknownRuns: Set<Run.ID> = []
    /// In the order of their tokens: the answer to one is the answer to all before it.
    private var barriers: ArraySlice<(token: UInt64, done: @Sendable () -> Void)> = []
    private var token: UInt64 = 0
    private var down: (@Sendable () -> Void)?
    private(set) var isClosing = false
    /// The runner was told to end: no other is looked for.
    private(set) var isEnding = false
    /// The runner said that it ends, though this client did not tell it to.
    private var isLeaving = false
    var search: RunnerSearch
    /// Whether what is seen is to be said at the next turn.
    var mustConfirm = false
    /// Whether something was told since it last waited, of which is soon left word that it is seen.
    private var hasTold = false

    /// How many frames are taken before commands have their turn.
    private static let framesPerTurn = 128
    /// Whether there may be more frames that were read already.
    private var hasFrames = false

    /// What is known of a run, and what is wanted of it: said again to a runner that may not have heard.
    struct Known {
        /// Nil once it is known to be begun.
        var order: RunOrder?
        var isOver = false
        var end: Duration?
        var isSuspended = false
    }

    init(
        mailbox: ClientMailbox, dial: @escaping RunnerClient.Dial,
        handler: @escaping RunnerClient.Handler, socket: consuming FrameSocket, instance: UInt64,
        announcedBy path: String?
    ) {
        self.mailbox = mailbox
        self.dial = dial
        self.handler = handler
        self.socket = consume socket
        self.instance = instance
        search = RunnerSearch(announcedBy: path)
    }

    /// Begins with what the runner held at first.
    mutating func adopt(_ known: Set<Run.ID>, of holdings: [RunnerClient.Holding]) {
        for holding in holdings {
            if known.contains(holding.run) {
                runs[holding.run] = Known()
            } else {
                handleUnknown(holding)
            }
        }
    }

    mutating func handleUnknown(_ holding: RunnerClient.Holding) {
        if holding.isOver { send(.forget([holding.run])) } else { unknownRuns.insert(holding.run) }
    }

    // MARK: - The turn

    mutating func run() {
        while true {
            receive()
            let (words, seen) = mailbox.take()
            for word in words { execute(word) }
            confirm(seen[instance])
            flush()
            if isClosing { return leave() }
            if socket == nil, !isEnding {
                reconnect()
                // With what the runner holds, more may have come than was asked for.
                if socket != nil { continue }
            }
            wait()
        }
    }

    /// Says what is seen, once there is something for which that was awaited.
    private mutating func confirm(_ seen: ClientMailbox.Seen?) {
        if let seen {
            let isNew = [events.know(seen.events), output.know(seen.output)]
            if isNew.contains(true) { mustConfirm = true }
        }
        let slack = mustConfirm ? 0 : RunnerClient.unconfirmedMax
        mustConfirm = false
        let more = [events.nextToSay(slack: slack), output.nextToSay(slack: slack)]
        guard more.contains(where: { $0 != nil }) else { return }
        send(.seen(events: events.told, output: output.told))
    }

    private mutating func wait() {
        guard !hasFrames else { return }
        var wanted = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
        var time: Int32 = -1
        if let descriptor = socket?.descriptor {
            let events = (socket?.backlog ?? 0) > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
        } else if !isEnding {
            time = search.timeout
            wanted.append(pollfd(fd: search.descriptor, events: Int16(POLLIN), revents: 0))
        }
        // What was told is recorded before long, and word of that has time: one turn takes all of it.
        if hasTold, time < 0 { time = RunnerClient.gathering }
        guard mailbox.expect(shortly: hasTold) else { return }
        hasTold = false
        _ = poll(&wanted, nfds_t(wanted.count), time)
        if socket == nil, wanted.count > 1, wanted[1].revents != 0 { search.hear() }
    }

    /// What was said last is to reach the runner; a second is more than it needs if it lives.
    private mutating func leave() {
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

    // MARK: - Words

    private mutating func execute(_ word: ClientMailbox.Command) {
        switch word {
        case .start(let orders):
            let room = max(0, RunnerClient.waitingMax - runs.count)
            for order in orders.dropFirst(room) { refuse(order) }
            for order in orders.prefix(room) { runs[order.run] = Known(order: order) }
            start(Array(orders.prefix(room)))
        case .end(let run, let grace):
            guard let known = runs[run], !known.isOver else { return }
            runs[run]?.end = min(known.end ?? grace, grace)
            send(.end(run, grace: grace))
        case .suspend(let run):
            runs[run]?.isSuspended = true
            send(.suspend(run))
        case .resume(let run):
            runs[run]?.isSuspended = false
            send(.resume(run))
        case .signal(let run, let number): send(.signal(run, number))
        case .barrier(let done):
            guard socket != nil else { return done() }
            token += 1
            barriers.append((token, done))
            send(.barrier(token))
        case .forget(let run):
            runs[run] = nil
            send(.forget([run]))
        case .shutDown(let grace, let down):
            isEnding = true
            guard socket != nil else { return down() }
            self.down = down
            send(.shutDown(grace: grace))
        case .refresh: send(.refresh)
        case .forgetFormer: send(.forgetFormer)
        case .close: isClosing = true
        }
    }

    /// There is no room for one more run that the runner has to be told of.
    private func refuse(_ order: RunOrder) {
        let outcome = RunOutcome.spawnFailed(
            errno: "EAGAIN",
            what: "wait for the runner, for which \(RunnerClient.waitingMax) runs wait already")
        handler(.event(.ended(order.run, RunEnd(outcome, at: RunnerClock.wall())))) {}
    }

    mutating func start(_ orders: [RunOrder]) {
        var rest = orders[...]
        while !rest.isEmpty {
            send(.start(Array(rest.prefix(Wire.runsPerFrame))))
            rest = rest.dropFirst(Wire.runsPerFrame)
        }
    }

    // MARK: - News

    private mutating func receive() {
        hasFrames = false
        var isFilled = false
        for _ in 0..<Self.framesPerTurn {
            if let frame = socket?.next() {
                guard let reply = try? WireReply(frame) else {
                    return disconnect("what the runner says cannot be understood")
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
            while let first = barriers.first, first.token <= token {
                barriers.removeFirst()
                first.done()
            }
            _ = events.receive(number)
            mustConfirm = true
        case .down:
            isLeaving = !isEnding
            down?()
            down = nil
        case .welcome, .holds, .complete: disconnect("what the runner says is out of turn")
        }
    }

    private mutating func take(_ number: UInt64, _ event: RunnerEvent) {
        switch event {
        case .output, .dropped, .limited, .slowed, .leftBehind: takeOutput(number, event)
        case .began, .ended: takeEvent(number, event)
        }
    }

    private mutating func takeOutput(_ number: UInt64, _ event: RunnerEvent) {
        // Told before on another connection, and passed on then.
        guard !output.receive(number) else { return mustConfirm = true }
        output.expectAcknowledgement(of: number)
        hasTold = true
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
                return mustConfirm = true
            }
            guard runs[run]?.isOver == false else { return mustConfirm = true }
            runs[run]?.isOver = true
        }
        runs[run]?.order = nil
        if isAgain { return mustConfirm = true }
        if needsAcknowledgement {
            hasTold = true
            events.expectAcknowledgement(of: number)
        }
        let (mailbox, instance) = (mailbox, instance)
        handler(.event(event)) { mailbox.seen(events: number, of: instance) }
    }

    // MARK: - Parting

    private mutating func disconnect(_ why: String) {
        socket = nil
        search.begin()
        failPending(why)
    }

    /// Nobody waits for what will not come.
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
