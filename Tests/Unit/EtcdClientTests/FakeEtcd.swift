// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import WebReceiver

/// A server on a port of this machine that answers requests as a test wants it: well, half, or not
/// at all.
final class FakeEtcd: Sendable {
    /// A request as it came.
    struct Request: Sendable {
        var path: String
        var header: [String]
        var body: String
        /// Which connection it came over, from 0.
        var connection: Int
        /// Which request it is, from 0.
        var number: Int
    }

    /// What the server does with a connection.
    enum Step: Sendable {
        case send([UInt8])
        /// Sends the bytes again and again, until the other end closes the connection.
        case flood([UInt8])
        /// Waits until the other end closes the connection.
        case wait
        case close
    }

    private struct State {
        var requests: [Request] = []
        var open = 0
    }

    let port: UInt16
    private let socket: Int32
    private let state = Mutex(State())
    private let changed = DispatchSemaphore(value: 0)
    private let answer: @Sendable (Request) -> [Step]

    /// Starts it on a free port of 127.0.0.1. A connection stays open after an answer without
    /// `close`.
    init(_ answer: @escaping @Sendable (Request) -> [Step]) {
        self.answer = answer
        (socket, port) = LocalServer.listen()
        LocalServer.serve(socket) { [self] connection, number in
            state.withLock { $0.open += 1 }
            serve(connection, number)
            close(connection)
            state.withLock { $0.open -= 1 }
            changed.signal()
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// The requests so far.
    var requests: [Request] { state.withLock { $0.requests } }

    /// Stops listening.
    func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

    /// Waits until there are so many requests, at most a minute.
    func waitForRequests(_ count: Int) -> Bool { wait { $0.requests.count >= count } }

    /// Waits until all connections are closed, at most a minute.
    func waitUntilClosed() -> Bool { wait { $0.open == 0 } }

    private func wait(until isDone: (State) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + 60
        while !state.withLock({ isDone($0) }) {
            guard changed.wait(timeout: deadline) == .success else { return false }
        }
        return true
    }

    /// A port at which nothing listens.
    static func unusedPort() -> UInt16 {
        let (socket, port) = LocalServer.listen()
        close(socket)
        return port
    }

    private func serve(_ connection: Int32, _ number: Int) {
        var reader = RequestReader(connection)
        while let request = reader.next() {
            for step in answer(note(request, connection: number)) {
                switch step {
                case .send(let bytes):
                    guard LocalServer.write(bytes, to: connection) else { return }
                case .flood(let bytes): while LocalServer.write(bytes, to: connection) {}
                case .wait: return LocalServer.waitForEnd(of: connection)
                case .close: return
                }
            }
        }
    }

    private func note(_ request: WebReceiver.Request, connection: Int) -> Request {
        let request = state.withLock { state in
            let request = Request(
                path: String(request.line.split(separator: " ").dropFirst().first ?? ""),
                header: request.header, body: String(decoding: request.body, as: UTF8.self),
                connection: connection, number: state.requests.count)
            state.requests.append(request)
            return request
        }
        changed.signal()
        return request
    }
}

extension FakeEtcd.Step {
    /// A complete answer, after which the connection stays open.
    static func json(_ text: String, status: Int = 200, header: [String] = []) -> Self {
        .send(Array(FakeEtcd.text(text, status: status, header: header).utf8))
    }

    static func text(_ text: String) -> Self { .send(Array(text.utf8)) }

    /// The beginning of a stream.
    static var chunked: Self {
        .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    /// A part of a stream.
    static func chunk(_ text: String) -> Self {
        .text("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
    }
}

extension FakeEtcd {
    static func text(_ body: String, status: Int = 200, header: [String] = []) -> String {
        (["HTTP/1.1 \(status) Status", "Content-Length: \(body.utf8.count)"] + header)
            .joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// The header of each message of etcd.
    static let header = #""header":{"cluster_id":"11","member_id":"1","revision":"7"}"#
}
