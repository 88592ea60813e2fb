// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1

/// Sends the answers to the client, as a whole or part by part.
extension ControlHandler {
    /// Sends a last answer, even if a part of the request has not arrived.
    func refuse(_ answer: ControlAnswer) {
        guard state == .idle || state == .receiving else { return }
        let withBody = request?.head.method != .HEAD
        request = nil
        arrivals.removeAll()
        answers += 1
        state = .answering(answers)
        write(answer, keepAlive: false, withBody: withBody, lingering: true)
    }

    /// The next request is processed when the whole answer was sent to the client.
    func write(
        _ answer: ControlAnswer, keepAlive: Bool, withBody: Bool, lingering: Bool = false
    ) {
        guard let context else { return }
        if answer.isForKnownClient { place?.noteKnown() }
        var answer = responder.finished(answer)
        if responder.limitsUnread {
            if !unread.reserve(answer.line.readableBytes) {
                answer = responder.finished(Self.tooMuchUnread)
                // An answer that is so short always counts.
                _ = unread.reserve(answer.line.readableBytes)
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

    func begin(
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
            guard unread.reserve(part.readableBytes) else { return close() }
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

    func endStream() {
        streamClock?.cancel()
        streamClock = nil
        stream?.end()
        stream = nil
    }
}
