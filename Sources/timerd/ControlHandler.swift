// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOPosix
import TimerControl

/// One connection to the control socket: gathers each request, has it answered, writes the answer. Used on
/// its event loop alone.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let service: any ControlService
    private var peer: Peer?
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLong = false
    /// Requests that came before the kernel told who asks.
    private var early: [(HTTPRequestHead, [UInt8])] = []

    init(service: any ControlService) { self.service = service }

    func channelActive(context: ChannelHandlerContext) {
        guard let provider = context.channel as? any SocketOptionProvider else {
            context.close(promise: nil)
            return
        }
        // SO_PEERCRED is 17 on every architecture Swift runs on under Linux (asm-generic/socket.h).
        let asked: EventLoopFuture<Peer> = provider.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: 17))
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        asked.whenComplete { result in
            let (handler, context) = bound.value
            switch result {
            case .success(let peer):
                handler.peer = peer
                let waiting = handler.early
                handler.early = []
                for (head, body) in waiting { handler.answer(head, body, context: context) }
            case .failure: context.close(promise: nil)
            }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLong = false
        case .body(let part):
            guard body.count + part.readableBytes <= ControlServer.bodyBytesMax else {
                isTooLong = true
                body = []
                return
            }
            body += part.readableBytesView
        case .end:
            guard let head else { return }
            self.head = nil
            if peer == nil {
                early.append((head, body))
            } else {
                answer(head, body, context: context)
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A client that breaks off or speaks no HTTP concerns only itself.
        context.close(promise: nil)
    }

    private func answer(_ head: HTTPRequestHead, _ body: [UInt8], context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        let keepAlive = head.isKeepAlive
        let reply: ControlAnswer.Reply = { answer in
            eventLoop.execute {
                let (handler, context) = bound.value
                handler.write(answer, keepAlive: keepAlive, context: context)
            }
        }
        guard !isTooLong else {
            let limit = ControlServer.bodyBytesMax
            return reply(.error(.payloadTooLarge, "a body has at most \(limit) bytes"))
        }
        let request: ControlRequest
        do throws(ControlRequest.Fault) {
            request = try ControlRequest(
                method: head.method.rawValue, path: head.uri, body: body)
        } catch {
            return reply(Self.answer(to: error))
        }
        guard let peer, peer.mayChange || !request.isChange else {
            return reply(
                .error(
                    .forbidden,
                    "only root and the daemon's own user may change anything; use sudo"))
        }
        service.answer(request, from: peer, reply: reply)
    }

    private static func answer(to fault: ControlRequest.Fault) -> ControlAnswer {
        switch fault {
        case .notFound(let path): .error(.notFound, "there is nothing at \(path)")
        case .methodNotAllowed(let allowed): .error(.methodNotAllowed, "use \(allowed)")
        case .badBody(let why), .badQuery(let why): .error(.badRequest, why)
        }
    }

    /// The answer ends only when all of it has gone to the client, and the client's next request is looked at
    /// only then: one that asks and asks and reads nothing has one answer in memory, not a thousand.
    private func write(
        _ answer: ControlAnswer, keepAlive: Bool, context: ChannelHandlerContext
    ) {
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": "\(answer.line.readableBytes)",
            "Connection": keepAlive ? "keep-alive" : "close",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        let gone = context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(answer.line))))
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        gone.whenSuccess {
            let (handler, context) = bound.value
            let done = context.writeAndFlush(handler.wrapOutboundOut(.end(nil)))
            if !keepAlive { done.whenComplete { _ in bound.value.1.close(promise: nil) } }
        }
        gone.whenFailure { _ in bound.value.1.close(promise: nil) }
    }
}
