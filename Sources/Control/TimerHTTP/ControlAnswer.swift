// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import NIOHTTP1
package import TimerControl
import TimerCore

/// The answer to a request: one line of JSON. Clients that get the same answer share its bytes.
package struct ControlAnswer: Sendable {
    /// Sends an answer; called once, on any thread.
    package typealias Reply = @Sendable (ControlAnswer) -> Void

    package var status: HTTPResponseStatus
    /// The allowed methods, for the header `Allow`; if empty, there is no such header.
    package var allowed: [String] = []
    /// The value of the header `Content-Type`.
    package var contentType = "application/json"
    /// Further headers; those of the connection and the body are added to them.
    package var headers: [(String, String)] = []
    /// Whether a service has answered it that knows the client.
    package var isForKnownClient = false
    package var line: ByteBuffer
    /// A body that comes part by part, in place of the line; nil: there is none.
    var stream: AnswerStream?

    /// An answer that is a stream of server-sent events.
    package init(stream: AnswerStream) {
        status = .ok
        line = ByteBuffer()
        self.stream = stream
    }

    package init(_ status: HTTPResponseStatus, _ value: some Encodable) {
        self.status = status
        var bytes: [UInt8]
        do {
            bytes = try ControlJSON.encode(value)
        } catch {
            self.status = .internalServerError
            let reply = ErrorReply("the answer is not valid JSON: \(error)")
            // An error of one string cannot fail to encode.
            bytes = (try? ControlJSON.encode(reply)) ?? []
        }
        bytes.append(UInt8(ascii: "\n"))
        line = ByteBuffer(bytes: bytes)
    }

    private init(options: [String]) {
        status = .noContent
        allowed = options
        line = ByteBuffer()
    }

    package init(_ status: HTTPResponseStatus, text: [UInt8]) {
        self.status = status
        line = ByteBuffer(bytes: text)
    }

    /// A text that is not JSON.
    package init(_ status: HTTPResponseStatus, _ text: [UInt8], type: String) {
        self.init(status, text: text)
        contentType = type
    }

    /// - Parameter code: the kind of error, if the status is not specific enough.
    package static func error(
        _ status: HTTPResponseStatus, _ text: String, code: ErrorReply.Code? = nil
    ) -> ControlAnswer {
        ControlAnswer(status, ErrorReply(text, code: code ?? Self.code(of: status)))
    }

    private static func code(of status: HTTPResponseStatus) -> ErrorReply.Code {
        switch status {
        case .unauthorized: .unauthorized
        case .forbidden: .forbidden
        case .misdirectedRequest: .misdirected
        case .unsupportedMediaType: .unsupportedMediaType
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .requestTimeout: .timeout
        case .payloadTooLarge, .requestHeaderFieldsTooLarge: .tooLarge
        case .serviceUnavailable: .busy
        case .internalServerError: .failed
        default: .badRequest
        }
    }

    /// The answer to OPTIONS: the allowed methods of a path, or of the whole API for `*`.
    package static func options(at path: String) -> ControlAnswer {
        guard path != "*" else {
            return ControlAnswer(options: ["GET", "HEAD", "POST", "OPTIONS"])
        }
        do throws(ControlRequest.Fault) {
            return ControlAnswer(options: try ControlRequest.methods(at: path))
        } catch {
            return .fault(error)
        }
    }

    /// The answer to a request that cannot be read.
    package static func fault(_ fault: ControlRequest.Fault) -> ControlAnswer {
        switch fault {
        case .notFound(let path): return .error(.notFound, "there is nothing at \(path)")
        case .methodNotAllowed(let allowed):
            let words = allowed.filter { $0 != "OPTIONS" }.joined(separator: ", ")
            var answer = ControlAnswer.error(.methodNotAllowed, "use one of \(words)")
            answer.allowed = allowed
            return answer
        case .badBody(let why), .badQuery(let why): return .error(.badRequest, why)
        case .conflict(let why): return .error(.conflict, why, code: .conflict)
        case .noSuchRun(let text):
            return .error(
                .notFound, "\"\(text)\" is not a run; `timerctl history` lists the runs",
                code: .noSuchRun)
        case .unknownKey(let name, let known):
            return .error(
                .badRequest, unknown("key", name, among: known), code: .unknownKey)
        case .unknownParameter(let name, let known):
            return .error(
                .badRequest, unknown("query parameter", name, among: known),
                code: .unknownParameter)
        }
    }

    private static func unknown(_ what: String, _ name: String, among known: [String]) -> String {
        let sentence = "unknown \(what) \"\(name.prefix(100))\""
        guard !known.isEmpty else { return "\(sentence): this request takes none" }
        // The distance of a prefix to a longer name, such as `for` to `for_usec`, is not counted as
        // edits.
        let near =
            nearestName(name, among: known)
            ?? known.first { !name.isEmpty && $0.hasPrefix(name) }
        return near.map { "\(sentence) (did you mean \"\($0)\"?)" }
            ?? "\(sentence); this request knows \(known.joined(separator: ", "))"
    }

    /// The header of a stream, behind which the connection ends. A client of HTTP/1.0 knows no chunks.
    func streamHead(hasBody: Bool, version: HTTPVersion) -> HTTPResponseHead {
        var headers = HTTPHeaders([("Content-Type", "text/event-stream"), ("Connection", "close")])
        for (name, value) in self.headers { headers.add(name: name, value: value) }
        headers.replaceOrAdd(name: "Cache-Control", value: "no-store")
        if hasBody, version.minor > 0 { headers.add(name: "Transfer-Encoding", value: "chunked") }
        return HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
    }

    /// The header of the answer for this client.
    func head(keepAlive: Bool) -> HTTPResponseHead {
        var headers = HTTPHeaders()
        if status.mayHaveResponseBody {
            headers.add(name: "Content-Type", value: contentType)
            headers.add(name: "Content-Length", value: "\(line.readableBytes)")
        }
        for (name, value) in self.headers { headers.add(name: name, value: value) }
        if !allowed.isEmpty { headers.add(name: "Allow", value: allowed.joined(separator: ", ")) }
        headers.add(name: "Connection", value: keepAlive ? "keep-alive" : "close")
        return HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    }
}

extension ControlAnswer {
    package static var unauthorized: ControlAnswer {
        .error(
            .unauthorized,
            "you are not logged in here, or not any more; `timerctl web` makes a link for you")
    }

    package static var elsewhere: ControlAnswer {
        .error(.forbidden, "this can be requested over the control socket only; use timerctl")
    }
}
