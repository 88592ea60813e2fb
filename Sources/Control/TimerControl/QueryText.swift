// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The part of a path after `?`. Each parameter is read once.
struct QueryText {
    private var values: [String: String] = [:]
    private var taken: [String] = []

    static func write(_ pairs: [(String, String?)]) -> String {
        let given = pairs.compactMap { name, value in value.map { "\(name)=\(encode($0))" } }
        return given.isEmpty ? "" : "?" + given.joined(separator: "&")
    }

    init(_ text: Substring) throws(ControlRequest.Fault) {
        for part in text.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(halves[0]), !name.isEmpty,
                let value = Self.decode(halves.count > 1 ? halves[1] : "")
            else { throw .badQuery("\"\(part)\" is not of the form name=value") }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .badQuery("\(name) is given twice")
            }
        }
    }

    /// The value of a parameter, which is known from then on; nil if it is missing.
    mutating func take(_ name: String) -> String? {
        taken.append(name)
        return values.removeValue(forKey: name)
    }

    /// An instant, as RFC 3339; nil if the name is not in the query.
    mutating func instant(_ name: String) throws(ControlRequest.Fault) -> WallInstant? {
        guard let text = take(name) else { return nil }
        guard let instant = WallInstant(rfc3339: text) else {
            throw .badQuery("\(name) must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
        }
        return instant
    }

    /// A parameter with the value 1 or 0; `fallback` if it is missing.
    mutating func flag(
        _ name: String, unless fallback: Bool = false
    ) throws(ControlRequest.Fault) -> Bool {
        switch take(name) {
        case "1", "true": return true
        case "0", "false": return false
        case nil: return fallback
        default: throw .badQuery("\(name) must be 1 or 0")
        }
    }

    /// Must be called after all known parameters were read.
    func finish() throws(ControlRequest.Fault) {
        guard let other = values.keys.min() else { return }
        throw .unknownParameter(other, known: taken)
    }

    mutating func run() throws(ControlRequest.Fault) -> Run.ID? {
        guard let text = take("run") else { return nil }
        guard let run = Run.ID(text) else { throw .noSuchRun(text) }
        return run
    }

    /// The base of a name, to which a number is added.
    mutating func base() throws(ControlRequest.Fault) -> String? {
        guard let text = take("base") else { return nil }
        guard text.utf8.count <= OneOffsReply.baseLengthMax, Job.Name(text) != nil else {
            throw .badQuery(
                "base must be the beginning of a job name, of \(OneOffsReply.baseLengthMax) "
                    + "characters at most")
        }
        return text
    }

    mutating func after() throws(ControlRequest.Fault) -> UInt64? {
        guard let text = take("after") else { return nil }
        guard let number = UInt64(digits: text), number <= Int64.max else {
            throw .badQuery("after must be a whole number, at most \(Int64.max)")
        }
        return number
    }

    /// Encodes all characters except the unreserved ones of RFC 3986 and the colon, which a query
    /// may contain.
    private static func encode(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let isPlain =
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || "-._~:".utf8.contains(byte)
            if isPlain {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    /// Decodes percent-encoding; nil if two hexadecimal digits are missing after a `%`, or if the
    /// result is not UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension QueryText {
    /// A whole number; `fallback` if it is missing.
    mutating func number(
        _ name: String, _ range: ClosedRange<Int>, unless fallback: Int
    ) throws(ControlRequest.Fault) -> Int {
        guard let text = take(name) else { return fallback }
        guard let number = Int(digits: text), range.contains(number) else {
            throw .badQuery("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The name of a job; nil if the parameter is missing.
    mutating func job(_ name: String) throws(ControlRequest.Fault) -> Job.Name? {
        guard let text = take(name) else { return nil }
        guard let job = Job.Name(text) else { throw .badQuery("\"\(text)\" is not a job name") }
        return job
    }
}

extension HistoryQuery {
    init(_ query: inout QueryText) throws(ControlRequest.Fault) {
        self.init()
        job = try query.job("job")
        failed = try query.flag("failed")
        since = try query.instant("since")
        until = try query.instant("until")
        limit = try query.number("limit", 1...Self.limitMax, unless: limit)
        output = try query.flag("output", unless: true)
        skipped = try query.flag("skipped")
        if let text = query.take("cursor") {
            guard let place = HistoryCursor(text) else {
                throw .badQuery("cursor must be next_cursor of an earlier answer")
            }
            cursor = place
        }
    }
}
