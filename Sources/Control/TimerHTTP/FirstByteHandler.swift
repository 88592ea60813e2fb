// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Reports that bytes have arrived, before NIO has made a request of them: its time limit starts
/// then.
final class FirstByteHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let handler: ControlHandler

    init(_ handler: ControlHandler) { self.handler = handler }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        handler.noteBytes()
        context.fireChannelRead(data)
    }
}
