// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import TimerControl

/// What a request is answered with: one line of JSON. Whoever is given the same answer shares its bytes.
struct ControlAnswer: Sendable {
    /// Passes an answer on; called once, from anywhere.
    typealias Reply = @Sendable (ControlAnswer) -> Void

    var status: HTTPResponseStatus
    var line: ByteBuffer

    init(_ status: HTTPResponseStatus, _ value: some Encodable) {
        self.status = status
        var bytes: [UInt8]
        do {
            bytes = try ControlJSON.encode(value)
        } catch {
            self.status = .internalServerError
            let reply = ErrorReply("the answer is no JSON: \(error)")
            // An error of one string cannot fail to encode.
            bytes = (try? ControlJSON.encode(reply)) ?? []
        }
        bytes.append(UInt8(ascii: "\n"))
        line = ByteBuffer(bytes: bytes)
    }

    static func error(_ status: HTTPResponseStatus, _ text: String) -> ControlAnswer {
        ControlAnswer(status, ErrorReply(text))
    }
}
