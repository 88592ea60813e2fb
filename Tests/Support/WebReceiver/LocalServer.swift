// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Servers on ports of this machine, with a thread for each connection.
public enum LocalServer {
    /// Listens on a free port of 127.0.0.1, or on this one.
    public static func listen(port: UInt16 = 0) -> (socket: Int32, port: UInt16) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
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
        precondition(isBound && Glibc.listen(socket, 128) == 0, "cannot listen")
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Accepts connections, in a thread of its own, until the socket is shut down; then closes the
    /// socket.
    ///
    /// - Parameter handle: gets each connection, and its number from 0, in a thread of its own. It
    ///   closes the connection.
    public static func serve(
        _ socket: Int32, _ handle: @escaping @Sendable (_ connection: Int32, _ number: Int) -> Void
    ) {
        Thread.detachNewThread {
            var number = 0
            while true {
                let connection = accept(socket, nil, nil)
                guard connection >= 0 else {
                    if errno == EINTR { continue }
                    close(socket)
                    return
                }
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread { [number] in handle(connection, number) }
                number += 1
            }
        }
    }

    /// Sends all of the bytes.
    /// - Returns: whether that succeeded.
    @discardableResult
    public static func write(_ bytes: [UInt8], to connection: Int32) -> Bool {
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

    /// Waits until the other end closes the connection.
    public static func waitForEnd(of connection: Int32) {
        var byte: UInt8 = 0
        while recv(connection, &byte, 1, 0) > 0 {}
    }
}

/// Reads the HTTP requests of a connection, one after the other.
public struct RequestReader {
    private let connection: Int32
    private var bytes: [UInt8] = []

    /// Reads nothing yet.
    public init(_ connection: Int32) { self.connection = connection }

    /// Waits for the next request.
    /// - Returns: nil if the connection ends before the end of a request.
    public mutating func next() -> WebReceiver.Request? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let request = take() { return request }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// Takes a request that has arrived completely.
    private mutating func take() -> WebReceiver.Request? {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let lines = head.split(separator: "\r\n").map { String($0) }
        let length =
            lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
        guard bytes.count >= end.upperBound + length else { return nil }
        let body = Array(bytes[end.upperBound..<end.upperBound + length])
        bytes.removeSubrange(..<(end.upperBound + length))
        return WebReceiver.Request(
            line: lines.first ?? "", header: Array(lines.dropFirst()), body: body)
    }
}
