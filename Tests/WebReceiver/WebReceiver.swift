// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
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
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.socket = socket
        state = Mutex(State(answer: answer))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var yes: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let code = bind(socket, pointer, length)
                getsockname(socket, pointer, &length)
                return code == 0
            }
        }
        precondition(isBound && listen(socket, 128) == 0, "cannot listen")
        self.port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
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

    private func accept() {
        while true {
            let connection = Glibc.accept(socket, nil, nil)
            guard connection >= 0 else {
                if errno == EINTR { continue }
                close(socket)
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            Thread.detachNewThread { [self] in
                serve(connection)
                close(connection)
            }
        }
    }

    private func serve(_ connection: Int32) {
        guard let request = Self.read(connection) else { return }
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
            Self.write(Array(head.utf8) + body, to: connection)
        case .bytes(let bytes): Self.write(bytes, to: connection)
        case .silence:
            state.withLock { _ = $0.silent.insert(connection) }
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
            state.withLock { _ = $0.silent.remove(connection) }
        }
    }

    private static func write(_ bytes: [UInt8], to connection: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let found = bytes.firstRange(of: end) {
                let head = String(decoding: bytes[..<found.lowerBound], as: UTF8.self)
                let lines = head.split(separator: "\r\n").map { String($0) }
                let length =
                    lines.first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
                let body = bytes[found.upperBound...]
                if body.count >= length {
                    return Request(
                        line: lines.first ?? "", header: Array(lines.dropFirst()),
                        body: Array(body.prefix(length)))
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }
}
