// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization

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
        var connections = 0
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
        (socket, port) = Self.listen()
        let thread = Thread { [self] in accept() }
        thread.start()
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
        let (socket, port) = listen()
        close(socket)
        return port
    }

    // MARK: - Sockets

    private static func listen() -> (socket: Int32, port: UInt16) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let code = bind(socket, pointer, length)
                getsockname(socket, pointer, &length)
                return code == 0
            }
        }
        precondition(isBound && Glibc.listen(socket, 16) == 0, "cannot listen")
        return (socket, UInt16(bigEndian: address.sin_port))
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
            let number = state.withLock { state in
                state.open += 1
                state.connections += 1
                return state.connections - 1
            }
            let thread = Thread { [self] in
                serve(connection, number)
                close(connection)
                state.withLock { $0.open -= 1 }
                changed.signal()
            }
            thread.start()
        }
    }

    private func serve(_ connection: Int32, _ number: Int) {
        var bytes: [UInt8] = []
        while let request = read(connection, number, &bytes) {
            for step in answer(request) {
                switch step {
                case .send(let bytes): guard Self.write(bytes, to: connection) else { return }
                case .flood(let bytes): while Self.write(bytes, to: connection) {}
                case .wait:
                    var byte: UInt8 = 0
                    while recv(connection, &byte, 1, 0) > 0 {}
                    return
                case .close: return
                }
            }
        }
    }

    private static func write(_ bytes: [UInt8], to connection: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func read(_ connection: Int32, _ number: Int, _ bytes: inout [UInt8]) -> Request? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let found = bytes.firstRange(of: end) {
                let head = String(decoding: bytes[..<found.lowerBound], as: UTF8.self)
                let lines = head.split(separator: "\r\n").map { String($0) }
                let length =
                    lines.first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
                if bytes.count >= found.upperBound + length {
                    let body = bytes[found.upperBound..<found.upperBound + length]
                    bytes.removeSubrange(..<(found.upperBound + length))
                    return note(lines, body, connection: number)
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    private func note(_ lines: [String], _ body: ArraySlice<UInt8>, connection: Int) -> Request {
        let request = state.withLock { state in
            let request = Request(
                path: String(lines.first?.split(separator: " ").dropFirst().first ?? ""),
                header: Array(lines.dropFirst()), body: String(decoding: body, as: UTF8.self),
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
