// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A message of a stream of server-sent events
/// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
public struct ServerSentEvent: Hashable, Sendable {
    /// What kind of message it is; `message` if it does not say.
    public var event: String
    /// The identity from which a client can go on later; nil if no message had one yet.
    public var id: String?
    /// The lines of the message, with a newline between them.
    public var data: [UInt8]

    public init(event: String, id: String? = nil, data: [UInt8]) {
        self.event = event
        self.id = id
        self.data = data
    }

    /// The bytes of a message whose data is one line.
    ///
    /// - Parameter data: without an end of line, as JSON of `ControlJSON` is.
    public static func bytes(event: String, id: some CustomStringConvertible, data: [UInt8])
        -> [UInt8]
    {
        Array("id: \(id)\nevent: \(event)\ndata: ".utf8) + data + Array("\n\n".utf8)
    }

    /// A message that says nothing, so that both ends notice that the other one is gone.
    public static let comment = Array(":\n\n".utf8)
}

/// Takes a stream of server-sent events apart as it comes.
public struct ServerSentEventReader {
    /// The stream is none, or has a message that is too long.
    public struct Fault: Error {}

    /// The maximum length of a message, in bytes.
    static let bytesMax = 256 << 20

    private var line: [UInt8] = []
    private var event = ""
    private var id: String?
    private var data: [UInt8] = []
    private var hasData = false
    private var isAfterReturn = false

    /// A reader at the beginning of a stream.
    public init() {}

    /// The messages that are complete with these bytes.
    /// - Complexity: O(*n*) in the bytes.
    public mutating func add(_ bytes: ArraySlice<UInt8>) throws(Fault) -> [ServerSentEvent] {
        var found: [ServerSentEvent] = []
        var rest = bytes
        while let end = rest.firstIndex(where: { $0 == 10 || $0 == 13 }) {
            // LF behind CR is the second half of one line end, also in the next piece of the
            // stream.
            let isSecond = isAfterReturn && end == rest.startIndex && rest[end] == 10
            isAfterReturn = rest[end] == 13
            if !isSecond {
                line += rest[..<end]
                if let message = takeLine() { found.append(message) }
            }
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { isAfterReturn = false }
        line += rest
        guard line.count + data.count <= Self.bytesMax else { throw Fault() }
        return found
    }

    private mutating func takeLine() -> ServerSentEvent? {
        defer { line = [] }
        guard !line.isEmpty else {
            defer { (event, data, hasData) = ("", [], false) }
            return hasData
                ? ServerSentEvent(event: event.isEmpty ? "message" : event, id: id, data: data)
                : nil
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": event = String(decoding: value, as: UTF8.self)
        case "id": id = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(10) }
            hasData = true
            data += value
        // A comment, or a field that says nothing to us.
        default: break
        }
        return nil
    }
}
