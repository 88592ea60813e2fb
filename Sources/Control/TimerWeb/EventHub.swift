// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
package import TimerControl
package import TimerHTTP

/// Copies the daemon's stream of events to all browsers: all of them together are one reader of the daemon.
///
/// What a browser missed is requested from the daemon with the session of that browser, so that its session is checked.
/// The common stream is requested with the session of one of the browsers; the daemon ends it after a minute, and then
/// each session is checked again.
package final class EventHub: Sendable {
    /// The most browsers that follow the events at the same time.
    static let readersMax = 64
    /// The most bytes that wait for one browser. A slower browser is disconnected; it reconnects and requests the rest.
    static let waitingBytesMax = 4 << 20
    /// How often a browser without events gets a comment, so that both ends notice a lost connection.
    static let commentInterval: TimeAmount = .seconds(15)

    package typealias Send = AnswerStream.Send

    /// The requests that the hub makes to the daemon. Tests replace it.
    package protocol Source: Sendable {
        /// Asks for a stream and waits until it ends.
        func stream(
            _ query: EventQuery, _ credentials: Credentials, each: (ServerSentEvent) -> Bool
        ) -> Result<ControlClient.StreamEnd, ControlClient.Failure>

        /// Whether this session, or this program, is still valid; nil if the daemon does not answer.
        func isKnown(_ credentials: Credentials) -> Bool?
    }

    fileprivate struct Reader {
        var credentials: Credentials
        var query: EventQuery
        var send: Send?
        /// Whether what it missed was sent, so that it now gets new events.
        var isLive = false
        /// Whether it has not read the last part yet.
        var isBusy = false
        /// What waits, with the number of the last event in it.
        var waiting: [(id: UInt64, bytes: [UInt8])] = []
        var waitingBytes = 0
        /// The number of the last event that the browser has.
        var last: UInt64 = 0
    }

    private struct State {
        var readers: [UInt64: Reader] = [:]
        var nextID: UInt64 = 1
        /// Which instance of the daemon the common stream comes from; nil: there is no stream.
        var instance: String?
        /// The number of the last event of the common stream.
        var number: UInt64 = 0
        var isRunning = false
    }

    private let source: any Source
    private let loop: any EventLoop
    /// One thread for the common stream, and some for requests of what browsers missed.
    private let pool = NIOThreadPool(numberOfThreads: 4)
    private let state = Mutex(State())

    package init(source: any Source, loop: any EventLoop) {
        self.source = source
        self.loop = loop
        pool.start()
    }

    var count: Int { state.withLock { $0.readers.count } }

    /// Lets a browser follow the events.
    ///
    /// - Returns: the answer; an error if there are too many.
    package func follow(_ query: EventQuery, _ credentials: Credentials) -> ControlAnswer {
        guard query.job == nil, query.follows else {
            return .error(
                .badRequest,
                "here, events can be followed with after or last only; the control socket knows more"
            )
        }
        let id = state.withLock { state -> UInt64? in
            guard state.readers.count < Self.readersMax else { return nil }
            defer { state.nextID += 1 }
            state.readers[state.nextID] = Reader(credentials: credentials, query: query)
            return state.nextID
        }
        guard let id else {
            return .error(
                .serviceUnavailable,
                "\(Self.readersMax) browsers follow the events, which is the limit; close one, or try again later"
            )
        }
        return ControlAnswer(
            stream: AnswerStream(
                begin: { send in self.begin(id, send) }, taken: { self.flush(id, taken: true) },
                end: { self.leave(id) }))
    }

    private func begin(_ id: UInt64, _ send: @escaping Send) {
        let (mustRun, isLive) = state.withLock { state in
            state.readers[id]?.send = send
            defer { state.isRunning = true }
            return (!state.isRunning, state.instance != nil)
        }
        if mustRun { pool.submit { _ in self.run() } }
        if isLive { catchUp(id) }
        comment(id)
    }

    private func leave(_ id: UInt64) { state.withLock { $0.readers[id] = nil } }

    /// Ends the stream of a browser, which then reconnects.
    private func end(_ id: UInt64) {
        let send = state.withLock { $0.readers.removeValue(forKey: id)?.send }
        send?(ByteBuffer(), true)
    }

    private func endAll() {
        for id in state.withLock({ Array($0.readers.keys) }) { end(id) }
    }

    // MARK: - The common stream

    /// Follows the daemon as long as there are browsers.
    private func run() {
        while let credentials = anyKnown() {
            let (instance, number) = state.withLock { ($0.instance, $0.number) }
            var isSame = true
            let result = source.stream(
                EventQuery(start: instance == nil ? .now : .after(number)), credentials
            ) { message in
                isSame = handle(message)
                return isSame && count > 0
            }
            // The daemon ends it after a minute; anything else means that it is down, or was restarted.
            if isSame, case .success(.complete) = result { continue }
            if isSame, case .success(.stopped) = result { continue }
            state.withLock { $0.instance = nil }
            endAll()
        }
    }

    /// One of the sessions that are still valid; the browsers of the others are disconnected. Nil if there is none:
    /// then the daemon's stream is not read any more.
    private func anyKnown() -> Credentials? {
        while true {
            let readers = state.withLock { $0.readers.mapValues(\.credentials) }
            var known: Set<Credentials> = []
            for credentials in Set(readers.values) where source.isKnown(credentials) == true {
                known.insert(credentials)
            }
            for (id, credentials) in readers where !known.contains(credentials) { end(id) }
            if let one = known.first { return one }
            let isOver = state.withLock { state in
                guard state.readers.isEmpty else { return false }
                state.isRunning = false
                state.instance = nil
                return true
            }
            if isOver { return nil }
        }
    }

    /// - Returns: whether it comes from the same instance of the daemon as the part before.
    private func handle(_ message: ServerSentEvent) -> Bool {
        let number = message.id.flatMap { UInt64($0) } ?? 0
        if message.event == "hello" {
            guard let hello = try? ControlJSON.decode(EventsHello.self, from: message.data) else {
                return false
            }
            let (isSame, isFirst) = state.withLock { state in
                let isFirst = state.instance == nil
                let isSame = isFirst || state.instance == hello.instance
                state.instance = hello.instance
                if isFirst { state.number = hello.number }
                return (isSame, isFirst)
            }
            if isFirst {
                for id in state.withLock({ Array($0.readers.keys) }) { catchUp(id) }
            }
            return isSame
        }
        let bytes = ServerSentEvent.bytes(
            event: message.event, id: message.id ?? "0", data: message.data)
        let ids = state.withLock { state in
            state.number = max(state.number, number)
            // A gap concerns all readers, whatever they have received.
            let isGap = message.event != "events"
            for id in state.readers.keys { state.readers[id]?.add(number, bytes, always: isGap) }
            return Array(state.readers.keys)
        }
        for id in ids { flush(id, taken: false) }
        return true
    }

    // MARK: - One browser

    /// Sends what the browser missed, and then new events. The common stream is open before that, so that nothing is
    /// lost between the two.
    private func catchUp(_ id: UInt64) {
        guard let reader = state.withLock({ $0.readers[id] }), reader.send != nil, !reader.isLive
        else { return }
        pool.submit { [self] _ in
            var query = reader.query
            query.follows = false
            var bytes: [UInt8] = []
            var last: UInt64 = 0
            let result = source.stream(query, reader.credentials) { message in
                let number = message.id.flatMap { UInt64($0) } ?? 0
                bytes += ServerSentEvent.bytes(
                    event: message.event, id: message.id ?? "0", data: message.data)
                last = max(last, number)
                return true
            }
            guard case .success(.complete) = result, !bytes.isEmpty else { return end(id) }
            let missed = bytes
            let newest = last
            state.withLock { state in
                guard state.readers[id]?.isLive == false else { return }
                state.readers[id]?.begin(behind: newest, missed)
            }
            flush(id, taken: false)
        }
    }

    /// Sends what waits for a browser, when it has read what was sent before.
    private func flush(_ id: UInt64, taken: Bool) {
        enum Next { case nothing, end, send(Send, [UInt8]) }
        let next = state.withLock { state -> Next in
            guard var reader = state.readers[id] else { return .nothing }
            if taken { reader.isBusy = false }
            defer { if state.readers[id] != nil { state.readers[id] = reader } }
            guard reader.waitingBytes <= Self.waitingBytesMax else { return .end }
            guard reader.isLive, !reader.isBusy, !reader.waiting.isEmpty, let send = reader.send
            else { return .nothing }
            let bytes = reader.waiting.flatMap(\.bytes)
            reader.waiting = []
            reader.waitingBytes = 0
            reader.isBusy = true
            return .send(send, bytes)
        }
        switch next {
        case .nothing: break
        case .end: end(id)
        case .send(let send, let bytes): send(ByteBuffer(bytes: bytes), false)
        }
    }

    private func comment(_ id: UInt64) {
        loop.scheduleTask(in: Self.commentInterval) { [self] in
            let isThere = state.withLock { state in
                guard let reader = state.readers[id] else { return false }
                if reader.isLive, reader.waiting.isEmpty, !reader.isBusy {
                    state.readers[id]?.waiting = [(reader.last, ServerSentEvent.comment)]
                }
                return true
            }
            guard isThere else { return }
            flush(id, taken: false)
            comment(id)
        }
    }
}

extension EventHub.Reader {
    /// Adds a message with the events up to this number, unless the browser has them.
    fileprivate mutating func add(_ number: UInt64, _ bytes: [UInt8], always: Bool) {
        guard always || number > last || !isLive else { return }
        waiting.append((number, bytes))
        waitingBytes += bytes.count
        if isLive { last = max(last, number) }
    }

    /// What the browser missed has arrived; the newer part of what came meanwhile follows.
    fileprivate mutating func begin(behind number: UInt64, _ missed: [UInt8]) {
        let newer = waiting.filter { $0.id > number }
        waiting = [(number, missed)] + newer
        waitingBytes = newer.reduce(missed.count) { $0 + $1.bytes.count }
        last = newer.last?.id ?? number
        isLive = true
    }
}
