// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// The client's own thread: what it knows of the runs, and the connection while there is one.
struct ClientWork: ~Copyable {
    private let post: ClientPost
    private let dial: RunnerClient.Dial
    private let handler: RunnerClient.Handler
    private var socket: FrameSocket?
    /// Which runner it is, or was.
    private var instance: UInt64
    /// The last of its tellings that was passed on.
    private var lastNumber: UInt64 = 0

    /// The runs that were told to start or were found, and are not forgotten.
    private var runs: [Run.ID: Known] = [:]
    /// Runs the runner holds and nobody knows: they are forgotten once they are over.
    private var strays: Set<Run.ID> = []
    private var settling: [UInt64: @Sendable () -> Void] = [:]
    private var token: UInt64 = 0
    private var down: (@Sendable () -> Void)?
    private var isClosing = false
    /// The runner was told to end: no other is looked for.
    private var isEnding = false
    private var retryAt: Int64 = 0
    private var pause = RunnerClient.retryMin
    private var connectedAt: Int64 = RunnerThread.awake()
    /// What the runner was told is seen, of its tellings, and what of them is known to be seen here.
    private var seen: (said: UInt64, known: UInt64) = (0, 0)
    /// The tellings that are not seen before somebody says so, in their order.
    private var owed: ArraySlice<UInt64> = []
    /// Whether what is seen is to be said at the next turn.
    private var mustConfirm = false
    /// Whether something was told since it last waited, of which is soon left word that it is seen.
    private var hasTold = false

    /// What is known of a run, and what is wanted of it: said again to a runner that may not have heard.
    private struct Known {
        /// Nil once it is known to be begun.
        var order: RunOrder?
        var isOver = false
        var end: Duration?
        var isSuspended = false
    }

    init(
        post: ClientPost, dial: @escaping RunnerClient.Dial,
        handler: @escaping RunnerClient.Handler, socket: consuming FrameSocket, instance: UInt64
    ) {
        self.post = post
        self.dial = dial
        self.handler = handler
        self.socket = consume socket
        self.instance = instance
    }

    /// Begins with what the runner held at first.
    mutating func adopt(_ known: Set<Run.ID>, of holdings: [RunnerClient.Holding]) {
        for holding in holdings {
            if known.contains(holding.run) {
                runs[holding.run] = Known()
            } else {
                stray(holding)
            }
        }
    }

    private mutating func stray(_ holding: RunnerClient.Holding) {
        if holding.isOver { send(.forget([holding.run])) } else { strays.insert(holding.run) }
    }

    // MARK: - The turn

    mutating func run() {
        while true {
            receive()
            let (words, seen) = post.take()
            for word in words { obey(word) }
            confirm(seen[instance])
            flush()
            if isClosing { return leave() }
            if socket == nil, !isEnding {
                reach()
                // With what the runner holds, more may have come than was asked for.
                if socket != nil { continue }
            }
            wait()
        }
    }

    /// Says what is seen, once there is something for which that was awaited.
    private mutating func confirm(_ number: UInt64?) {
        if let number, number > seen.known {
            seen.known = number
            mustConfirm = true
        }
        while let first = owed.first, first <= seen.known { owed.removeFirst() }
        let all = (owed.first ?? lastNumber + 1) - 1
        guard mustConfirm || all > seen.said + RunnerClient.unconfirmedMax else { return }
        mustConfirm = false
        guard all > seen.said else { return }
        seen.said = all
        send(.seen(all))
    }

    private mutating func wait() {
        var wanted = [pollfd(fd: post.descriptor, events: Int16(POLLIN), revents: 0)]
        var time: Int32 = -1
        if let descriptor = socket?.descriptor {
            let events = (socket?.backlog ?? 0) > 0 ? POLLIN | POLLOUT : POLLIN
            wanted.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
        } else {
            let left = (retryAt - RunnerThread.awake()) / 1_000_000 + 1
            time = isEnding ? -1 : Int32(clamping: max(0, left))
        }
        // What was told is recorded before long, and word of that has time: one turn takes all of it.
        if hasTold, time < 0 { time = RunnerClient.gathering }
        guard post.expect(shortly: hasTold) else { return }
        hasTold = false
        _ = poll(&wanted, nfds_t(wanted.count), time)
    }

    /// What was said last is to reach the runner; a second is more than it needs if it lives.
    private mutating func leave() {
        let deadline = RunnerThread.awake() + 1_000_000_000
        while let descriptor = socket?.descriptor, (socket?.backlog ?? 0) > 0 {
            let left = (deadline - RunnerThread.awake()) / 1_000_000
            guard left > 0 else { break }
            var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&wanted, 1, Int32(left))
            flush()
        }
        socket = nil
        lose("closed")
    }

    private mutating func send(_ request: WireRequest) { socket?.send(request.bytes) }

    private mutating func flush() {
        guard let isThere = socket?.flush(), !isThere else { return }
        part("the connection to the runner broke")
    }

    // MARK: - Words

    private mutating func obey(_ word: ClientPost.Word) {
        switch word {
        case .start(let orders):
            for order in orders { runs[order.run] = Known(order: order) }
            start(orders)
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
        case .settle(let done):
            guard socket != nil else { return done() }
            token += 1
            settling[token] = done
            send(.settle(token))
        case .forget(let run):
            runs[run] = nil
            send(.forget([run]))
        case .shutDown(let grace, let down):
            isEnding = true
            guard socket != nil else { return down() }
            self.down = down
            send(.shutDown(grace: grace))
        case .refresh: send(.refresh)
        case .close: isClosing = true
        }
    }

    private mutating func start(_ orders: [RunOrder]) {
        var rest = orders[...]
        while !rest.isEmpty {
            send(.start(Array(rest.prefix(Wire.runsPerFrame))))
            rest = rest.dropFirst(Wire.runsPerFrame)
        }
    }

    // MARK: - News

    private mutating func receive() {
        guard socket != nil else { return }
        socket?.fill()
        while let frame = socket?.next() {
            guard let reply = try? WireReply(frame) else {
                return part("what the runner says cannot be understood")
            }
            take(reply)
        }
        if socket?.isOpen == false { part("the runner is gone") }
    }

    private mutating func take(_ reply: WireReply) {
        switch reply {
        case .event(let number, let event): take(number, event)
        case .settled(let number, let token):
            settling.removeValue(forKey: token)?()
            lastNumber = max(lastNumber, number)
            mustConfirm = true
        case .down:
            down?()
            down = nil
        case .welcome, .holds, .complete: part("what the runner says is out of turn")
        }
    }

    private mutating func take(_ number: UInt64, _ event: RunnerEvent) {
        let isAgain = number <= lastNumber
        var isOwed = true
        lastNumber = max(lastNumber, number)
        let run = event.run
        switch event {
        case .began:
            runs[run]?.order = nil
            isOwed = false
        case .ended:
            if strays.remove(run) != nil || runs[run] == nil {
                send(.forget([run]))
                mustConfirm = true
                return
            }
            guard runs[run]?.isOver == false else {
                mustConfirm = true
                return
            }
            runs[run]?.order = nil
            runs[run]?.isOver = true
        case .output, .dropped: break
        }
        if isAgain {
            // Told before on another connection, and passed on then; the runner has not heard that it is seen.
            seen.said = min(seen.said, number - 1)
            mustConfirm = true
            return
        }
        if isOwed {
            hasTold = true
            owed.append(number)
        }
        let (post, instance) = (post, instance)
        handler(.event(event)) { post.seen(number, of: instance) }
    }

    // MARK: - Parting and meeting again

    private mutating func part(_ why: String) {
        socket = nil
        // One that lived for a while is looked for at once; one that does not stay, ever more slowly.
        let now = RunnerThread.awake()
        let isSteady = now - connectedAt > RunnerClient.retryMax.wholeNanoseconds
        if isSteady { pause = RunnerClient.retryMin }
        retryAt = isSteady ? now : now + pause.wholeNanoseconds
        if !isSteady { pause = min(pause * 2, RunnerClient.retryMax) }
        lose(why)
    }

    /// Nobody waits for what will not come.
    private mutating func lose(_ why: String) {
        for done in settling.values { done() }
        settling = [:]
        down?()
        down = nil
        if !isClosing, !isEnding { handler(.away(why)) {} }
    }

    private mutating func reach() {
        let now = RunnerThread.awake()
        guard now >= retryAt else { return }
        do throws(RunnerClient.Failure) {
            let descriptor = try dial().get()
            var fresh = FrameSocket(descriptor)
            let greeting = try Greeting.exchange(on: &fresh, until: now + 5_000_000_000)
            let isSame = greeting.instance == instance
            if !isSame {
                instance = greeting.instance
                lastNumber = 0
                owed = []
                seen.known = 0
            }
            seen.said = 0
            mustConfirm = true
            socket = consume fresh
            connectedAt = RunnerThread.awake()
            compare(greeting.holdings)
            handler(.back(isSame: isSame)) {}
        } catch {
            retryAt = RunnerThread.awake() + pause.wholeNanoseconds
            pause = min(pause * 2, RunnerClient.retryMax)
        }
    }

    /// Brings what the runner holds and what is known here together.
    private mutating func compare(_ holdings: [RunnerClient.Holding]) {
        let held = Dictionary(holdings.map { ($0.run, $0) }) { first, _ in first }
        strays = []
        for holding in holdings where runs[holding.run] == nil { stray(holding) }
        var orders: [RunOrder] = []
        for (run, known) in runs where !known.isOver {
            if let order = known.order, held[run] == nil {
                orders.append(order)
            } else if held[run] == nil {
                // It was begun, and its runner took all memory of it along.
                runs[run]?.isOver = true
                let end = RunEnd(.lost(.runner), at: RunnerThread.wall())
                handler(.event(.ended(run, end))) {}
            }
            if let grace = known.end { send(.end(run, grace: grace)) }
            if known.isSuspended { send(.suspend(run)) }
        }
        start(orders.sorted { $0.run.description < $1.run.description })
    }
}
