// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import TimerControl

/// A request whose header has arrived, with the part of the body that has arrived so far.
package struct PartialRequest: Sendable {
    let head: HTTPRequestHead
    /// The most bytes its body may have; a longer one is refused.
    let bytesMax: Int
    private(set) var body: [UInt8] = []

    /// - Parameter bytesMax: the most bytes its body may have.
    init(_ head: HTTPRequestHead, bytesMax: Int) {
        self.head = head
        self.bytesMax = bytesMax
    }

    /// Adds bytes to the body.
    ///
    /// - Returns: false if the body is too long then.
    mutating func add(_ part: ByteBuffer) -> Bool {
        guard body.count + part.readableBytes <= bytesMax else { return false }
        body += part.readableBytesView
        return true
    }

    /// Whether the connection continues after this request. It does not after an upgrade request,
    /// because the decoder reads nothing after one.
    var keepAlive: Bool {
        head.isKeepAlive && head.method != .CONNECT && !head.headers.contains(name: "Upgrade")
    }

    /// Whether the client sends the body only when the server asks for it (RFC 9110, 10.1.1).
    var isWaitingToSend: Bool { !isFirstVersion && hasExpectation }

    /// HTTP/1.0 has neither a Host header nor an expectation.
    private var isFirstVersion: Bool { head.version.minor == 0 }

    private var hasExpectation: Bool { head.headers.contains(name: "Expect") }

    /// The refusal for which the header alone is enough; nil if there is none.
    var refusal: ControlAnswer? {
        guard head.version.major == 1 else {
            return .error(.httpVersionNotSupported, "this is HTTP/1.1")
        }
        // RFC 9112, 3.2. On a Unix socket the value of the header does not matter; the web server
        // checks it.
        let hosts = head.headers["Host"].count
        guard hosts == 1 || hosts == 0 && isFirstVersion else {
            return .error(.badRequest, "a request has one Host header; this has \(hosts)")
        }
        let expectations = head.headers["Expect"]
        guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else {
            return .error(.expectationFailed, "the only supported expectation is 100-continue")
        }
        if let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }),
            length > bytesMax
        {
            return Self.tooLong(bytesMax)
        }
        return nil
    }

    static func tooLong(_ limit: Int) -> ControlAnswer {
        .error(.payloadTooLarge, "the body of this request has at most \(limit) bytes")
    }
}
