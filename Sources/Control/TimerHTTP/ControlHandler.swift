// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import NIOHTTP1

/// One connection to the control socket, or of a browser to the web server. It reads one request after the other,
/// passes each to what answers it, and writes the answers in the same order. While a request is being answered, nothing
/// more is read from the client. A client that sends many requests and reads nothing therefore has one answer in
/// memory, not a thousand.
///
/// Used only on its event loop.
package final class ControlHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundIn = Never
    package typealias OutboundOut = HTTPServerResponsePart

    package enum State: Equatable {
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
    enum Arrival {
        case part(HTTPServerRequestPart)
        case fault(HTTPParserError)
    }

    let responder: any RequestResponder
    let limits: ConnectionLimits
    let unread: UnreadBytes
    /// Its place among the connections of a server that anybody may use; nil: only those with a right use it.
    let place: ConnectionPlace?
    var unreadCount = 0
    var context: ChannelHandlerContext?
    var state = State.idle {
        didSet {
            guard let place else { return }
            if case .answering = state { return place.note(isAnswered: true) }
            place.note(isAnswered: state == .streaming)
        }
    }
    var arrivals = CircularBuffer<Arrival>()
    var request: PartialRequest?
    private var isWorkingOff = false
    private var isReadHeld = false
    var isInputClosed = false
    var answers: UInt64 = 0
    private var clock: Scheduled<Void>?
    var isRequestTimed = false
    var stream: AnswerStream?
    var streamClock: Scheduled<Void>?

    /// - Parameter unread: shared by all connections, because the limit is one for all of them.
    package init(
        responder: any RequestResponder, limits: ConnectionLimits, unread: UnreadBytes,
        place: ConnectionPlace? = nil
    ) {
        self.place = place
        self.unread = unread
        self.responder = responder
        self.limits = limits
    }

    /// Adds the handlers of a connection, this one last.
    package func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
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

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        startClock(limits.idleTime) { $0.close() }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { end() }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// The connection is gone: no answer to it can be written any more.
    private func end() {
        state = .done
        endStream()
        arrivals.removeAll()
        request = nil
        stopClock()
        context = nil
        noteRead()
    }

    /// The client has read all of an answer, so its bytes do not wait any more.
    func noteRead() {
        unread.giveBack(unreadCount)
        unreadCount = 0
    }

    /// Some bytes arrived. If they start a request, its time limit starts.
    func noteBytes() {
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

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .done else { return }
        // After a stream nothing is answered, so a client that sends more is disconnected.
        guard state != .streaming else { return close() }
        arrivals.append(.part(unwrapInboundIn(data)))
        workOff()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let fault = error as? HTTPParserError else {
            // The client closed the connection before its request was complete.
            return close()
        }
        guard state != .done else { return }
        guard state != .streaming else { return close() }
        // It is answered after the earlier requests, in their order.
        arrivals.append(.fault(fault))
        workOff()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            isInputClosed = true
            workOff()
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func read(context: ChannelHandlerContext) {
        switch state {
        case .answering: isReadHeld = true
        // Of a stream, to notice that the client is gone.
        case .idle, .receiving, .streaming, .done: context.read()
        }
    }

    // MARK: - Sending

    /// Processes the input up to a request that the service has to answer. It is a loop and not a
    /// recursion, because a client may send very many requests at once.
    func workOff() {
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
        default: .error(.badRequest, "this is not a valid HTTP/1.1 request: \(fault)")
        }
    }

    // MARK: - Closing

    /// A socket that is closed with unread bytes is reset, and the client might lose the answer.
    func linger() {
        guard context != nil else { return }
        state = .done
        startClock(limits.lingerTime) { $0.close() }
        workOff()
    }

    func close() {
        state = .done
        endStream()
        stopClock()
        context?.close(promise: nil)
    }

    func startClock(
        _ time: TimeAmount, _ body: @escaping @Sendable (ControlHandler) -> Void
    ) {
        clock?.cancel()
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        clock = context.eventLoop.scheduleTask(in: time) { body(bound.value) }
    }

    func stopClock() {
        clock?.cancel()
        clock = nil
    }
}
