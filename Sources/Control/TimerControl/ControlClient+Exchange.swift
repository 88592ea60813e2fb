// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension ControlClient {
    /// Sends any request and passes the answer on as it arrives. After the header an answer may
    /// take any time: it may be an endless stream.
    ///
    /// - Parameters:
    ///   - head: called with the status line and the headers, including the empty line after them.
    ///   - part: called with each part of the body, without the framing of a chunked body.
    /// - Returns: the status of HTTP.
    public func exchange(
        _ method: String, _ path: String, body: [UInt8], head: (ArraySlice<UInt8>) -> Void,
        part: (ArraySlice<UInt8>) -> Void
    ) throws(Failure) -> Int {
        let socket = try connect()
        defer { close(socket) }
        let timeout = max(timeoutSeconds, Self.longSeconds)
        wait(timeout, for: SO_RCVTIMEO, of: socket)
        var text = "\(method) \(path) HTTP/1.1\r\nHost: timerd\r\nConnection: close\r\n"
        if !body.isEmpty || method == "POST" { text += "Content-Length: \(body.count)\r\n" }
        if !body.isEmpty { text += "Content-Type: application/json\r\n" }
        try write(Array((text + "\r\n").utf8) + body, to: socket)
        var reader = AnswerReader(isHead: method == "HEAD")
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !reader.isComplete {
            let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            if count < 0 {
                if errno == EINTR { continue }
                throw readFailure(errno, timeout: timeout)
            }
            guard count > 0 else {
                guard reader.mayEnd else { throw .broken("\(self.path): the answer is cut off") }
                break
            }
            let hadHead = reader.status != nil
            do throws(AnswerReader.Fault) {
                try reader.add(buffer[..<count], head: head, part: part)
            } catch {
                throw .broken("\(self.path): the answer is not HTTP/1.1")
            }
            if !hadHead, reader.status != nil { wait(0, for: SO_RCVTIMEO, of: socket) }
        }
        return reader.status ?? 0
    }
}

/// Parses an answer of HTTP/1.1 as it arrives (RFC 9112, 6).
struct AnswerReader {
    struct Fault: Error {}

    /// How the end of the body is found, and what of it comes next.
    private enum Body {
        case empty
        /// A body with a Content-Length, of which this many bytes are missing.
        case length(Int)
        /// The length of the next chunk comes next.
        case chunkHead
        /// This many bytes of a chunk are missing, including the line end after it.
        case chunk(Int)
        /// The lines after the last chunk, up to an empty one.
        case trailer
        case untilEnd
    }

    /// The most bytes of a header, and of the line before a chunk.
    private static let headBytesMax = 65_536

    private let isHead: Bool
    private var pending: [UInt8] = []
    private var body: Body?
    /// The status; nil before the whole header has arrived.
    private(set) var status: Int?

    /// - Parameter isHead: whether it is an answer to HEAD, which has no body.
    init(isHead: Bool) { self.isHead = isHead }

    /// Whether the whole answer has arrived.
    var isComplete: Bool {
        switch body {
        case .empty, .length(0): true
        default: false
        }
    }

    /// Whether the server may close the connection here: a body without a length ends with it.
    var mayEnd: Bool { if case .untilEnd? = body { true } else { isComplete } }

    mutating func add(
        _ bytes: ArraySlice<UInt8>, head: (ArraySlice<UInt8>) -> Void,
        part: (ArraySlice<UInt8>) -> Void
    ) throws(Fault) {
        pending += bytes
        if body == nil {
            guard let end = Self.firstIndex(of: [13, 10, 13, 10], in: pending) else {
                return try limit()
            }
            try readHead(pending[..<end])
            head(pending[..<(end + 4)])
            pending.removeSubrange(..<(end + 4))
        }
        while try takeSome(part) {}
    }

    private func limit() throws(Fault) {
        guard pending.count <= Self.headBytesMax else { throw Fault() }
    }

    private mutating func readHead(_ text: ArraySlice<UInt8>) throws(Fault) {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\r\n" as Character)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw Fault()
        }
        self.status = status
        var framing = Body.untilEnd
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            let value = halves[1].drop { $0 == " " }
            switch halves[0].lowercased() {
            case "content-length":
                guard let count = Int(value), count >= 0 else { throw Fault() }
                if case .untilEnd = framing { framing = .length(count) }
            case "transfer-encoding" where value.lowercased() == "chunked": framing = .chunkHead
            default: break
            }
        }
        body = isHead || status == 204 || status == 304 ? Body.empty : framing
    }

    /// Reads a part of the body; false if more bytes must arrive first.
    private mutating func takeSome(_ part: (ArraySlice<UInt8>) -> Void) throws(Fault) -> Bool {
        guard let body, !pending.isEmpty else { return false }
        switch body {
        case .empty: return false
        case .untilEnd:
            part(pending[...])
            pending = []
        case .length(let count):
            guard count > 0 else { return false }
            part(pending.prefix(count))
            self.body = .length(count - min(count, pending.count))
            pending.removeFirst(min(count, pending.count))
        case .chunk(let count):
            // Its last two bytes are the line end.
            if count > 2 { part(pending.prefix(count - 2)) }
            let taken = min(count, pending.count)
            pending.removeFirst(taken)
            self.body = taken == count ? .chunkHead : .chunk(count - taken)
        case .chunkHead, .trailer:
            guard let end = Self.firstIndex(of: [13, 10], in: pending) else {
                try limit()
                return false
            }
            try readLine(pending[..<end])
            pending.removeSubrange(..<(end + 2))
        }
        return true
    }

    private mutating func readLine(_ line: ArraySlice<UInt8>) throws(Fault) {
        if case .trailer? = body {
            if line.isEmpty { body = Body.empty }
            return
        }
        let digits = String(decoding: line, as: UTF8.self).prefix { $0 != ";" && $0 != " " }
        guard let count = Int(digits, radix: 16), (0...Int(Int32.max)).contains(count) else {
            throw Fault()
        }
        body = count == 0 ? .trailer : .chunk(count + 2)
    }

    private static func firstIndex(of mark: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= mark.count else { return nil }
        return (0...(bytes.count - mark.count)).first { bytes[$0...].starts(with: mark) }
    }
}
