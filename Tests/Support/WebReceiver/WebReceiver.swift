// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// A receiver of HTTP requests on a port of this machine, which keeps them all.
public final class WebReceiver: Sendable {
    /// A request as it came.
    public struct Request: Sendable {
        /// Its first line, such as `POST /hook HTTP/1.1`.
        public var line: String
        /// The lines of its header.
        public var header: [String]
        /// Its body.
        public var body: [UInt8]
    }

    /// What it answers.
    public enum Answer: Sendable {
        /// An answer with this status and body.
        case status(Int, String = "")
        /// Exactly these bytes; then it closes the connection.
        case bytes([UInt8])
        /// Nothing, until the other end closes the connection.
        case silence
    }

    private struct State {
        var requests: [Request] = []
        var answer: @Sendable (Request) -> Answer
        /// The connections that get no answer.
        var silent: Set<Int32> = []
    }

    /// Its port.
    public let port: UInt16
    private let socket: Int32
    private let state: Mutex<State>
    private let more = DispatchSemaphore(value: 0)

    /// Starts it on a free port of 127.0.0.1, or on this one.
    public init(
        port: UInt16 = 0, answer: @escaping @Sendable (Request) -> Answer = { _ in .status(200) }
    ) {
        (socket, self.port) = LocalServer.listen(port: port)
        state = Mutex(State(answer: answer))
        LocalServer.serve(socket) { [self] connection, _ in
            serve(connection)
            close(connection)
        }
    }

    /// The requests so far.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Changes what it answers, and closes the connections that got no answer.
    public func answer(_ answer: @escaping @Sendable (Request) -> Answer) {
        state.withLock { state in
            state.answer = answer
            for connection in state.silent { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    /// Waits until the requests satisfy the condition, at most five minutes.
    /// - Returns: whether they do.
    public func wait(until isDone: ([Request]) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + 300
        while !isDone(requests) {
            guard more.wait(timeout: deadline) == .success else { return isDone(requests) }
        }
        return true
    }

    /// Stops listening.
    public func stop() {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    private func serve(_ connection: Int32) {
        var reader = RequestReader(connection)
        guard let request = reader.next() else { return }
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        more.signal()
        switch answer(request) {
        case .status(let status, let text):
            let body = Array(text.utf8)
            let head =
                "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
            LocalServer.write(Array(head.utf8) + body, to: connection)
        case .bytes(let bytes): LocalServer.write(bytes, to: connection)
        case .silence:
            state.withLock { _ = $0.silent.insert(connection) }
            LocalServer.waitForEnd(of: connection)
            state.withLock { _ = $0.silent.remove(connection) }
        }
    }
}
