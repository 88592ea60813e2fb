// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Parses one JSON text from its beginning to its end.
struct FleetJSONParser {
    private let bytes: [UInt8]
    private let depthMax: Int
    private var at = 0

    init(bytes: [UInt8], depthMax: Int) {
        self.bytes = bytes
        self.depthMax = depthMax
    }

    mutating func parse() throws(FleetFault) -> FleetJSON {
        let value = try value(depth: 0)
        skipSpace()
        guard at == bytes.count else { throw fault("something follows the value") }
        return value
    }

    private func fault(_ message: String) -> FleetFault { FleetFault("at byte \(at): \(message)") }

    /// The next byte; after the end zero, which no JSON contains.
    private var next: UInt8 { at < bytes.count ? bytes[at] : 0 }

    private mutating func skipSpace() {
        while [0x20, 0x09, 0x0a, 0x0d].contains(next) { at += 1 }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: scalar) else { return false }
        at += 1
        return true
    }

    private mutating func take(word: String) -> Bool {
        guard bytes[at...].starts(with: word.utf8) else { return false }
        at += word.utf8.count
        return true
    }

    private mutating func value(depth: Int) throws(FleetFault) -> FleetJSON {
        guard depth < depthMax else {
            throw fault("more than \(depthMax) values within each other")
        }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .text(try text())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default:
            if take(word: "true") { return .flag(true) }
            if take(word: "false") { return .flag(false) }
            throw fault("expected an object, an array, a text, a whole number, true or false")
        }
    }

    private mutating func object(depth: Int) throws(FleetFault) -> [String: FleetJSON] {
        at += 1
        var members: [String: FleetJSON] = [:]
        if take("}") { return members }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw fault("expected the name of a member") }
            let name = try text()
            guard take(":") else { throw fault("expected a colon") }
            guard members.updateValue(try value(depth: depth + 1), forKey: name) == nil else {
                throw fault("the member '\(name)' appears twice")
            }
        } while take(",")
        guard take("}") else { throw fault("expected a comma or }") }
        return members
    }

    private mutating func array(depth: Int) throws(FleetFault) -> [FleetJSON] {
        at += 1
        var values: [FleetJSON] = []
        if take("]") { return values }
        repeat { values.append(try value(depth: depth + 1)) } while take(",")
        guard take("]") else { throw fault("expected a comma or ]") }
        return values
    }

    /// One text form for each number, as for each run identity: no fraction, no exponent, no zero in
    /// front.
    private mutating func number() throws(FleetFault) -> Int64 {
        let start = at
        if next == UInt8(ascii: "-") { at += 1 }
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { at += 1 }
        let digits = String(decoding: bytes[start..<at], as: UTF8.self)
        guard let number = Int64(digits), String(number) == digits,
            !".eE".utf8.contains(next)
        else { throw fault("'\(digits)' must be a whole number of at most 64 bits") }
        return number
    }

    private mutating func text() throws(FleetFault) -> String {
        at += 1
        var raw: [UInt8] = []
        while next != UInt8(ascii: "\"") {
            guard next >= 0x20 else { throw fault("a text has no end, or a control character") }
            if next == UInt8(ascii: "\\") {
                try escape(into: &raw)
            } else {
                raw.append(next)
                at += 1
            }
        }
        at += 1
        guard let text = String(validating: raw, as: UTF8.self) else {
            throw fault("a text is not UTF-8")
        }
        return text
    }

    private mutating func escape(into raw: inout [UInt8]) throws(FleetFault) {
        at += 1
        let letter = next
        at += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): raw.append(letter)
        case UInt8(ascii: "n"): raw.append(0x0a)
        case UInt8(ascii: "t"): raw.append(0x09)
        case UInt8(ascii: "r"): raw.append(0x0d)
        case UInt8(ascii: "b"): raw.append(0x08)
        case UInt8(ascii: "f"): raw.append(0x0c)
        case UInt8(ascii: "u"): raw += try scalar()
        default: throw fault("this escape does not exist")
        }
    }

    /// Only escapes of one unit: this program writes none above U+001F.
    private mutating func scalar() throws(FleetFault) -> [UInt8] {
        let digits = bytes[at...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Self.isHexadecimal($0) }),
            let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(code)
        else { throw fault("\\u must be followed by the four digits of a character") }
        at += 4
        return Array(String(Character(scalar)).utf8)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
