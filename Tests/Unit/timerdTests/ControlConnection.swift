// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import TimerControl
import TimerCore

@testable import TimerAPI
@testable import TimerDaemon
@testable import TimerHTTP

/// A user with read access.
let guest: UInt32 = 4_000_000_000

/// Answers each request at once with its path, or keeps it until the test answers it.
final class StubService: ControlService {
    struct Call: Sendable {
        var request: ControlRequest
        var peer: Peer
        var reply: ControlAnswer.Reply
    }

    private struct State {
        var calls: [Call] = []
        var count = 0
    }

    private let state = Mutex(State())
    private let isHolding: Bool

    init(isHolding: Bool = false) { self.isHolding = isHolding }

    /// How many requests have come.
    var count: Int { state.withLock { $0.count } }

    func answer(
        _ request: ControlRequest, from peer: Peer, reply: @escaping ControlAnswer.Reply
    ) {
        state.withLock { state in
            state.count += 1
            if isHolding { state.calls.append(Call(request: request, peer: peer, reply: reply)) }
        }
        if !isHolding { reply(Self.answer(to: request)) }
    }

    /// The requests without an answer, which the test must answer from now on.
    func takeCalls() -> [Call] {
        state.withLock { state in
            defer { state.calls = [] }
            return state.calls
        }
    }

    static func answer(to request: ControlRequest) -> ControlAnswer {
        ControlAnswer(.ok, ["path": request.path])
    }
}

/// A connection to the control API without a socket and without a real clock.
final class ControlConnection {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let service: StubService
    private let reader = SlowReader()
    private(set) var output: [UInt8] = []

    init(
        _ service: StubService = StubService(), uid: UInt32 = geteuid(),
        limits: ConnectionLimits = .init(), unread: UnreadBytes = UnreadBytes(),
        responder: (any RequestResponder)? = nil
    ) throws {
        self.service = service
        channel = EmbeddedChannel(loop: loop)
        try channel.pipeline.syncOperations.addHandler(reader)
        let peer = Peer(pid: 1, uid: uid)
        try ControlHandler(
            responder: responder ?? ControlResponder(service: service, peer: peer),
            limits: limits, unread: unread
        )
        .add(to: channel.pipeline.syncOperations)
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/x"), promise: nil)
    }

    /// Whether the daemon has not closed it.
    var isOpen: Bool { channel.isActive }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        guard isOpen else { return }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        work()
    }

    /// The client closes its sending side and continues to read.
    func endInput() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        work()
    }

    func pass(_ time: TimeAmount) {
        loop.advanceTime(by: time)
        work()
    }

    /// Whether the client reads what the daemon sends; it does at first.
    func setReading(_ isReading: Bool) {
        reader.isReading = isReading
        work()
    }

    func work() {
        loop.run()
        while let part = try? channel.readOutbound(as: ByteBuffer.self) {
            output += part.readableBytesView
        }
    }

    /// The responses of HTTP since the last call; nil if the bytes are not valid.
    func responses() -> [Response]? {
        defer { output = [] }
        return Response.all(in: output)
    }

    /// The response since the last call, if there is exactly one.
    func response() -> Response? {
        guard let all = responses(), all.count == 1 else { return nil }
        return all[0]
    }
}

/// Passes writes on, and completes each of them only while the client reads.
private final class SlowReader: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var isReading = true {
        didSet {
            guard isReading else { return }
            for promise in held { promise.succeed(()) }
            held = []
        }
    }
    private var held: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isReading, let promise else { return context.write(data, promise: promise) }
        context.write(data, promise: nil)
        held.append(promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        for promise in held { promise.fail(ChannelError.ioOnClosedChannel) }
        held = []
        context.close(mode: mode, promise: promise)
    }
}

/// A response of HTTP, parsed strictly.
struct Response: Hashable {
    var status: Int
    var headers: [String: String]
    var body: String

    /// The error in its body.
    var error: String? {
        (try? ControlJSON.decode(ErrorReply.self, from: Array(body.utf8)))?.error
    }

    /// All responses; nil if the bytes contain anything else, or a part is missing.
    static func all(in bytes: [UInt8]) -> [Response]? {
        var found: [Response] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let one = Response(&rest) else { return nil }
            found.append(one)
        }
        return found
    }

    private init?(_ rest: inout ArraySlice<UInt8>) {
        var lines: [String] = []
        while true {
            guard let end = rest.firstIndex(of: 13), end + 1 < rest.endIndex, rest[end + 1] == 10,
                let line = String(validating: rest[..<end], as: UTF8.self)
            else { return nil }
            rest = rest[(end + 2)...]
            if line.isEmpty { break }
            lines.append(line)
        }
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count == 3, words[0] == "HTTP/1.1", let status = Int(words[1]),
            (100...599).contains(status)
        else { return nil }
        self.status = status
        headers = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let name = line[..<colon].lowercased()
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            guard headers.updateValue(String(value), forKey: name) == nil else { return nil }
        }
        body = ""
        if status == 100 || status == 204 || status == 304 {
            guard headers["content-length"] == nil else { return nil }
            return
        }
        guard let count = headers["content-length"].flatMap({ Int($0) }), count >= 0 else {
            return nil
        }
        // The answer to HEAD has a length and no body.
        guard !rest.isEmpty, !rest.starts(with: "HTTP/1.1 ".utf8) else { return }
        guard rest.count >= count,
            let text = String(validating: rest.prefix(count), as: UTF8.self)
        else { return nil }
        body = text
        rest = rest.dropFirst(count)
    }
}
