// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles

/// One connection to a daemon's control socket, for one request. It does not use an HTTP library,
/// because a command must start within milliseconds, and the server is our own.
public struct ControlClient: Sendable {
    /// The most bytes of an answer that are read.
    public static let replyBytesMax = 1 << 30

    /// Why there is no answer, as a sentence for the user.
    public enum Failure: Error, Hashable, Sendable {
        /// No daemon listens at the socket.
        case noDaemon(String)
        /// The connection failed, or what came is not an answer.
        case broken(String)
    }

    /// The answer of the daemon, whatever its status.
    public struct Reply: Hashable, Sendable {
        /// The status of HTTP; from 400 on, the body is an `ErrorReply`.
        public var status: Int
        /// JSON, except for metrics.
        public var body: [UInt8]

        public init(status: Int, body: [UInt8]) {
            self.status = status
            self.body = body
        }
    }

    /// The absolute path of the control socket.
    public let path: String
    /// How long to wait for the daemon at each step, in seconds.
    public var timeoutSeconds = 30
    /// How long to wait for an answer that may concern all jobs, in seconds: a daemon may have
    /// 250 000 jobs.
    public static let longSeconds = 300
    /// The command of the daemon's service manager, for the error if no daemon listens.
    public var manager = "systemctl"

    /// Further headers of each request, such as that of a session; no line's end may be in them.
    public var headers: [(name: String, value: String)] = []
    /// The most bytes of an answer that this client reads.
    public var replyBytesMax = ControlClient.replyBytesMax

    /// A client of the daemon that listens at `path`.
    public init(path: String) { self.path = path }

    /// Sends a request and waits for the answer. If the daemon has too many connections at the
    /// moment, tries again for a few seconds.
    public func send(_ request: ControlRequest) throws(Failure) -> Reply {
        var delay: UInt32 = 50_000
        while true {
            let reply = try sendOnce(request)
            guard reply.status == 503, delay <= Self.retryDelayMax else { return reply }
            usleep(delay)
            delay *= 2
        }
    }

    /// The longest delay between two attempts, in microseconds. With the shorter ones before it,
    /// the attempts take about six seconds.
    private static let retryDelayMax: UInt32 = 3_200_000

    /// The same without another attempt if the daemon has too many connections.
    public func sendOnce(_ request: ControlRequest) throws(Failure) -> Reply {
        let socket = try connect()
        defer { close(socket) }
        let timeout = request.isLong ? max(timeoutSeconds, Self.longSeconds) : timeoutSeconds
        wait(timeout, for: SO_RCVTIMEO, of: socket)
        let body = request.body
        var head = "\(request.method) \(request.path) HTTP/1.1\r\nHost: timerd\r\n"
        head += "Connection: close\r\nContent-Length: \(body.count)\r\n"
        if !body.isEmpty { head += "Content-Type: application/json\r\n" }
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        try write(Array((head + "\r\n").utf8) + body, to: socket)
        return try readReply(from: socket, timeout: timeout)
    }

    func wait(_ seconds: Int, for option: Int32, of socket: Int32) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    func connect() throws(Failure) -> Int32 {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw .broken("cannot make a socket: \(lastError())") }
        wait(timeoutSeconds, for: SO_SNDTIMEO, of: socket)
        let result = UnixSocket.withAddress(path) { Glibc.connect(socket, $0, $1) }
        guard result == 0 else {
            let code = errno
            close(socket)
            switch code {
            case ENAMETOOLONG:
                throw .broken("\(path): too long for the path of a socket (107 bytes at most)")
            case ENOENT, ECONNREFUSED:
                throw .noDaemon(
                    "no daemon listens at \(path); start it with `\(manager) start timerd`, "
                        + "or name its socket with --socket")
            case EACCES, EPERM:
                throw .broken(
                    "\(path): permission denied; ask as root, as the daemon's user, or, for what "
                        + "changes nothing, as a member of its group (timerd)")
            default: throw .broken("cannot connect to \(path): \(describe(code))")
            }
        }
        return socket
    }

    func write(_ bytes: [UInt8], to socket: Int32) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EPIPE || errno == ECONNRESET {
                // The daemon answered with an error before it had read everything.
                return
            } else if errno != EINTR {
                throw .broken("cannot write to \(path): \(lastError())")
            }
        }
    }

    /// The daemon sends a Content-Length. A shorter body is not used.
    private func readReply(from socket: Int32, timeout: Int) throws(Failure) -> Reply {
        var reply = PartialReply()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            if count == 0 { throw .broken("\(path): the answer is cut off") }
            if count < 0 {
                if errno == EINTR { continue }
                throw readFailure(errno, timeout: timeout)
            }
            guard reply.add(buffer[..<count]) else {
                throw .broken("\(path): unexpected response: is this a timerd socket?")
            }
            if let whole = reply.whole { return whole }
            guard reply.bytes.count <= replyBytesMax else {
                throw .broken("\(path): the answer is longer than \(replyBytesMax) bytes")
            }
        }
    }

    func readFailure(_ code: Int32, timeout: Int) -> Failure {
        switch code {
        case EAGAIN:
            return .broken(
                "\(path): no answer for \(timeout) s; `\(manager) status timerd` and "
                    + "its journal say what blocks the daemon")
        case ECONNRESET:
            return .broken(
                "cannot read from \(path): \(describe(code)); `\(manager) status timerd` and its "
                    + "journal say why the daemon closed the connection")
        default: return .broken("cannot read from \(path): \(describe(code))")
        }
    }

    private func lastError() -> String { describe(errno) }

    private func describe(_ code: Int32) -> String { String(cString: strerror(code)) }
}

/// The part of an answer that has arrived.
private struct PartialReply {
    private(set) var bytes: [UInt8] = []
    private var head: (status: Int, bodyStart: Int, bodyCount: Int)?

    /// Adds bytes.
    ///
    /// - Returns: false if this is no valid answer.
    mutating func add(_ part: ArraySlice<UInt8>) -> Bool {
        let searched = max(0, bytes.count - 3)
        bytes += part
        guard head == nil else { return true }
        let end = bytes[searched...].indices.first { bytes[$0...].starts(with: [13, 10, 13, 10]) }
        guard let end else { return bytes.count <= 65_536 }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            return false
        }
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length",
                let count = Int(parts[1].drop { $0 == " " }), count >= 0
            else { continue }
            head = (status, end + 4, count)
            return true
        }
        return false
    }

    /// The answer; nil while bytes of it are missing.
    var whole: ControlClient.Reply? {
        guard let head, bytes.count >= head.bodyStart + head.bodyCount else { return nil }
        return ControlClient.Reply(
            status: head.status,
            body: Array(bytes[head.bodyStart..<head.bodyStart + head.bodyCount]))
    }
}
