// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension ControlClient {
    /// How a stream ended, if the connection did not fail.
    public enum StreamEnd: Hashable, Sendable {
        /// The daemon ended it.
        case complete
        /// The reader ended it.
        case stopped
        /// There was none: the daemon answered something else.
        case refused(Reply)
    }

    /// How long nothing may come of a stream, in seconds: the daemon sends something every 15 s.
    private static let quietSeconds = 60

    /// Asks for a stream of server-sent events and passes each message on as it comes.
    ///
    /// - Parameter each: is given each message; false ends the stream.
    /// - Returns: how it ended.
    public func stream(
        _ request: ControlRequest, each: (ServerSentEvent) -> Bool
    ) throws(Failure) -> StreamEnd {
        let socket = try connect()
        defer { close(socket) }
        wait(timeoutSeconds, for: SO_RCVTIMEO, of: socket)
        var head =
            "\(request.method) \(request.path) HTTP/1.1\r\nHost: timerd\r\n"
            + "Accept: text/event-stream\r\nConnection: close\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        try write(Array((head + "\r\n").utf8), to: socket)
        var reader = AnswerReader(isHead: false)
        var messages = ServerSentEventReader()
        var other: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !reader.isComplete {
            let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            if count < 0 {
                if errno == EINTR { continue }
                let timeout = reader.status == nil ? timeoutSeconds : Self.quietSeconds
                throw readFailure(errno, timeout: timeout)
            }
            guard count > 0 else {
                guard reader.mayEnd else { throw .broken("\(path): the stream was cut off") }
                break
            }
            let hadHead = reader.status != nil
            var part: [UInt8] = []
            do throws(AnswerReader.Fault) {
                try reader.add(buffer[..<count], head: { _ in }, part: { part += $0 })
            } catch {
                throw .broken("\(path): the answer is not HTTP/1.1")
            }
            if !hadHead, reader.status != nil {
                wait(Self.quietSeconds, for: SO_RCVTIMEO, of: socket)
            }
            guard reader.status == 200 else {
                other += part
                continue
            }
            do throws(ServerSentEventReader.Fault) {
                for message in try messages.add(part[...]) where !each(message) { return .stopped }
            } catch {
                throw .broken("\(path): a message of the stream is too long")
            }
        }
        guard reader.status == 200 else {
            return .refused(Reply(status: reader.status ?? 0, body: other))
        }
        return .complete
    }
}
