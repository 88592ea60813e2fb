// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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

    /// Must be called after all known parameters were read.
    func finish() throws(ControlRequest.Fault) {
        guard let other = values.keys.min() else { return }
        throw .unknownParameter(other, known: taken)
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
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
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
