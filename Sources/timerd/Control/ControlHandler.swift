// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1

/// One connection to the control socket, or of a browser to the web server. It reads one request
/// after the other, passes each to what answers it, and writes the answers in the same order. While a request is being answered, nothing
/// more is read from the client. A client that sends many requests and reads nothing therefore has
/// one answer in memory, not a thousand.
///
/// Used only on its event loop.
final class ControlHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    private enum State: Equatable {
        /// Between two requests.
        case idle
        /// A part of a request has arrived.
        case receiving
        /// The service has the request, or its answer is being sent to the client. The number
        /// distinguishes it from earlier requests.
        case answering(UInt64)
        /// The client gets an answer part by part, until one end has enough of it.
        case streaming
        /// The last answer of the connection was sent: further input from the client is discarded.
        case done
    }

    /// Input that has arrived and was not processed yet.
    private enum Arrival {
        case part(HTTPServerRequestPart)
        case fault(HTTPParserError)
    }

    private let responder: any RequestResponder
    private let limits: ControlServer.Limits
    private let unread: UnreadBytes
    private var unreadCount = 0
    private var context: ChannelHandlerContext?
    private var state = State.idle
    private var arrivals = CircularBuffer<Arrival>()
    private var request: PartialRequest?
    private var isWorkingOff = false
    private var isReadHeld = false
    private var isInputClosed = false
    private var answers: UInt64 = 0
    private var clock: Scheduled<Void>?
    private var isRequestTimed = false
    private var stream: AnswerStream?
    private var streamClock: Scheduled<Void>?

    /// - Parameter unread: shared by all connections.
    init(
        responder: any RequestResponder, limits: ControlServer.Limits, unread: UnreadBytes
    ) {
        self.unread = unread
        self.responder = responder
        self.limits = limits
    }

    /// Adds the handlers of a connection, this one last.
    func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        var encoding = HTTPResponseEncoder.Configuration()
        encoding.automaticallySetFramingHeaders = false
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = 16 << 10
        decoding.maxHeaderListSize = 64 << 10
        decoding.maxHeaderFieldCount = 100
        try pipeline.addHandlers([
            FirstByteHandler(self),
            HTTPResponseEncoder(configuration: encoding),
            ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: decoding)),
            self,
        ])
    }

    // MARK: - What comes

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        startClock(limits.idleTime) { $0.close() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// The connection is gone.
    private func end() {
        state = .done
        endStream()
        arrivals.removeAll()
        request = nil
        stopClock()
        context = nil
        noteRead()
    }

    /// All of an answer was read.
    private func noteRead() {
        unread.giveBack(unreadCount)
        unreadCount = 0
    }

    /// Some bytes arrived. If they start a request, its time limit starts.
    fileprivate func noteBytes() {
        guard state == .idle, !isRequestTimed else { return }
        isRequestTimed = true
        startClock(limits.requestTime) { handler in
            handler.refuse(
                .error(
                    .requestTimeout,
                    "the request is not complete \(handler.limits.requestTime.nanoseconds / 1_000_000_000) s "
                        + "after its first byte"))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .done else { return }
        // Behind a stream nothing is answered.
        guard state != .streaming else { return close() }
        arrivals.append(.part(unwrapInboundIn(data)))
        workOff()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let fault = error as? HTTPParserError else {
            // The client closed the connection early.
            return close()
        }
        guard state != .done else { return }
        guard state != .streaming else { return close() }
        // After the answers to earlier requests.
        arrivals.append(.fault(fault))
        workOff()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            isInputClosed = true
            workOff()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        switch state {
        case .answering: isReadHeld = true
        // Of a stream, to notice that the client is gone.
        case .idle, .receiving, .streaming, .done: context.read()
        }
    }

    // MARK: - Working it off

    /// Processes the input up to a request that the service has to answer. It is a loop and not a
    /// recursion, because a client may send very many requests at once.
    private func workOff() {
        guard !isWorkingOff else { return }
        isWorkingOff = true
        defer { isWorkingOff = false }
        while state == .idle || state == .receiving, let arrival = arrivals.popFirst() {
            switch arrival {
            case .part(.head(let head)): begin(head)
            case .part(.body(let part)): add(part)
            case .part(.end): complete()
            case .fault(let fault): refuse(Self.answer(to: fault))
            }
        }
        switch state {
        case .idle where isInputClosed, .streaming where isInputClosed, .done where isInputClosed:
            close()
        case .receiving where isInputClosed:
            refuse(.error(.badRequest, "the request ends in its middle"))
        default: break
        }
        guard isReadHeld else { return }
        if case .answering = state { return }
        isReadHeld = false
        context?.read()
    }

    private func begin(_ head: HTTPRequestHead) {
        let request = PartialRequest(head, bytesMax: responder.bodyBytesMax(of: head))
        self.request = request
        state = .receiving
        if let refusal = request.refusal ?? responder.refusal(of: head) { return refuse(refusal) }
        if request.isWaitingToSend {
            context?.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))),
                promise: nil)
        }
    }

    private func add(_ part: ByteBuffer) {
        guard request?.add(part) == false, let limit = request?.bytesMax else { return }
        refuse(PartialRequest.tooLong(limit))
    }

    private func complete() {
        guard let request else { return }
        self.request = nil
        stopClock()
        answers += 1
        let number = answers
        state = .answering(number)
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        responder.answer(request.head, body: request.body) { answer in
            eventLoop.execute {
                let handler = bound.value
                guard handler.state == .answering(number) else {
                    answer.stream?.end()
                    return
                }
                if let stream = answer.stream {
                    return handler.begin(stream, of: answer, for: request.head)
                }
                handler.write(
                    answer, keepAlive: request.keepAlive, withBody: request.head.method != .HEAD)
            }
        }
    }

    private static func answer(to fault: HTTPParserError) -> ControlAnswer {
        switch fault {
        case .headerOverflow:
            .error(.requestHeaderFieldsTooLarge, "the header of the request is too long")
        case .invalidEOFState: .error(.badRequest, "the request ends in its middle")
        default: .error(.badRequest, "this is no request of HTTP/1.1: \(fault)")
        }
    }

    // MARK: - Answering

    /// Sends a last answer, even if a part of the request has not arrived.
    private func refuse(_ answer: ControlAnswer) {
        guard state == .idle || state == .receiving else { return }
        let withBody = request?.head.method != .HEAD
        request = nil
        arrivals.removeAll()
        answers += 1
        state = .answering(answers)
        write(answer, keepAlive: false, withBody: withBody, lingering: true)
    }

    /// The next request is processed when the whole answer was sent to the client.
    private func write(
        _ answer: ControlAnswer, keepAlive: Bool, withBody: Bool, lingering: Bool = false
    ) {
        guard let context else { return }
        var answer = responder.finished(answer)
        if responder.limitsUnread {
            if !unread.take(answer.line.readableBytes) {
                answer = responder.finished(Self.tooMuchUnread)
                // A short answer always counts.
                _ = unread.take(answer.line.readableBytes)
            }
            unreadCount = answer.line.readableBytes
        }
        startClock(timeToRead(answer.line.readableBytes)) { $0.close() }
        context.write(wrapOutboundOut(.head(answer.head(keepAlive: keepAlive))), promise: nil)
        if withBody, answer.line.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(answer.line))), promise: nil)
        }
        let gone = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        gone.assumeIsolated().whenComplete { [self] result in
            guard case .success = result else { return close() }
            noteRead()
            guard keepAlive else { return lingering ? linger() : close() }
            startClock(limits.idleTime) { $0.close() }
            isRequestTimed = false
            if state != .done { state = .idle }
            workOff()
        }
    }

    private static var tooMuchUnread: ControlAnswer {
        .error(
            .serviceUnavailable,
            "other clients have not read \(UnreadBytes.max >> 20) MiB of answers yet; try again later"
        )
    }

    private func timeToRead(_ bytes: Int) -> TimeAmount {
        limits.answerTime + .seconds(Int64(bytes / max(1, limits.answerBytesPerSecond)))
    }

    // MARK: - Answering part by part

    private func begin(
        _ stream: AnswerStream, of answer: ControlAnswer, for head: HTTPRequestHead
    ) {
        guard let context else { return stream.end() }
        let hasBody = head.method != .HEAD
        self.stream = stream
        state = .streaming
        context.writeAndFlush(
            wrapOutboundOut(
                .head(
                    responder.finished(answer).streamHead(
                        hasBody: hasBody, version: head.version))),
            promise: nil)
        guard hasBody, arrivals.isEmpty else { return close() }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        if let time = limits.streamTime {
            streamClock = eventLoop.scheduleTask(in: time) {
                bound.value.send(ByteBuffer(), isLast: true)
            }
        }
        stream.begin { part, isLast in
            eventLoop.execute { bound.value.send(part, isLast: isLast) }
        }
        workOff()
    }

    /// The next part comes when this one has gone to the client, which has as long for it as for an answer.
    private func send(_ part: ByteBuffer, isLast: Bool) {
        guard state == .streaming, let context else { return }
        if responder.limitsUnread {
            guard unread.take(part.readableBytes) else { return close() }
            unreadCount = part.readableBytes
        }
        startClock(timeToRead(part.readableBytes)) { $0.close() }
        if part.readableBytes > 0 {
            context.write(wrapOutboundOut(.body(.byteBuffer(part))), promise: nil)
        }
        let gone: EventLoopFuture<Void>
        if isLast {
            gone = context.writeAndFlush(wrapOutboundOut(.end(nil)))
        } else {
            gone = context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))))
        }
        gone.assumeIsolated().whenComplete { [self] result in
            guard case .success = result, !isLast else { return close() }
            stopClock()
            noteRead()
            stream?.taken()
        }
    }

    private func endStream() {
        streamClock?.cancel()
        streamClock = nil
        stream?.end()
        stream = nil
    }

    // MARK: - Closing

    /// A socket that is closed with unread bytes is reset, and the client might lose the answer.
    private func linger() {
        guard context != nil else { return }
        state = .done
        startClock(limits.lingerTime) { $0.close() }
        workOff()
    }

    private func close() {
        state = .done
        endStream()
        stopClock()
        context?.close(promise: nil)
    }

    private func startClock(
        _ time: TimeAmount, _ body: @escaping @Sendable (ControlHandler) -> Void
    ) {
        clock?.cancel()
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        clock = context.eventLoop.scheduleTask(in: time) { body(bound.value) }
    }

    private func stopClock() {
        clock?.cancel()
        clock = nil
    }
}

/// Reports bytes before they form a request.
private final class FirstByteHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let handler: ControlHandler

    init(_ handler: ControlHandler) { self.handler = handler }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        handler.noteBytes()
        context.fireChannelRead(data)
    }
}
