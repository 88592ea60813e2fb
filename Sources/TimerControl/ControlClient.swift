// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// One connection to a daemon's control socket, for one request. Small on purpose: what asks must start
/// in milliseconds, and the other end is ours.
public struct ControlClient: Sendable {
    /// The most bytes of an answer that are read.
    public static let replyBytesMax = 256 << 20

    /// Why there is no answer.
    public enum Failure: Error, Hashable, Sendable {
        /// Nothing listens there.
        case noDaemon(String)
        /// Something went wrong on the way.
        case broken(String)
    }

    /// What the daemon answered.
    public struct Reply: Hashable, Sendable {
        /// The status of HTTP.
        public var status: Int
        /// JSON.
        public var body: [UInt8]
    }

    /// The socket's path.
    public let path: String
    /// How long to wait for the daemon at each step, in seconds.
    public var timeoutSeconds = 30
    /// The command of the service manager the daemon belongs to, for whoever finds none.
    public var manager = "systemctl"

    /// A client of the daemon that listens at `path`.
    public init(path: String) { self.path = path }

    /// Asks and waits for the answer.
    public func send(_ request: ControlRequest) throws(Failure) -> Reply {
        let socket = try connect()
        defer { close(socket) }
        let body = request.body
        var head = "\(request.method) \(request.path) HTTP/1.1\r\nHost: timerd\r\n"
        head += "Connection: close\r\nContent-Length: \(body.count)\r\n"
        if !body.isEmpty { head += "Content-Type: application/json\r\n" }
        try write(Array((head + "\r\n").utf8) + body, to: socket)
        return try parse(try readAll(from: socket))
    }

    private func connect() throws(Failure) -> Int32 {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .broken("cannot make a socket: \(lastError())") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { space in
            guard path.utf8.count < space.count else { return false }
            space.copyBytes(from: path.utf8)
            return true
        }
        guard fits else {
            close(socket)
            throw .broken("\(path): too long for the path of a socket (107 bytes at most)")
        }
        var patience = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                socket, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(socket)
            switch code {
            case ENOENT, ECONNREFUSED:
                throw .noDaemon(
                    "no daemon listens at \(path); start it with `\(manager) start timerd`, "
                        + "or name its socket with --socket")
            case EACCES, EPERM:
                throw .broken("\(path): permission denied; ask as root or as the daemon's user")
            default: throw .broken("cannot connect to \(path): \(describe(code))")
            }
        }
        return socket
    }

    private func write(_ bytes: [UInt8], to socket: Int32) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno != EINTR {
                throw .broken("cannot write to \(path): \(lastError())")
            }
        }
    }

    private func readAll(from socket: Int32) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN {
                    throw .broken(
                        "\(path): no answer for \(timeoutSeconds) s; `\(manager) status timerd` and "
                            + "its journal say what holds the daemon up")
                }
                let hint =
                    errno == ECONNRESET
                    ? "; `\(manager) status timerd` and its journal say why the daemon broke off"
                    : ""
                throw .broken("cannot read from \(path): \(lastError())\(hint)")
            }
            bytes += buffer[..<count]
            guard bytes.count <= Self.replyBytesMax else {
                throw .broken("\(path): the answer is longer than \(Self.replyBytesMax) bytes")
            }
        }
    }

    /// The daemon sends a Content-Length and closes; a body that falls short of it was cut off.
    private func parse(_ bytes: [UInt8]) throws(Failure) -> Reply {
        let end = bytes.indices.first { index in
            bytes[index...].starts(with: [13, 10, 13, 10])
        }
        guard let end else { throw .broken("\(path): the answer is cut off") }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw .broken("\(path): what answers is no timerd")
        }
        let body = Array(bytes[(end + 4)...])
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
            guard Int(parts[1].drop { $0 == " " }) == body.count else {
                throw .broken("\(path): the answer is cut off")
            }
        }
        return Reply(status: status, body: body)
    }

    private func lastError() -> String { describe(errno) }

    private func describe(_ code: Int32) -> String { String(cString: strerror(code)) }
}
