// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Splits the value of a key into words, with the quotes and escapes of systemd.syntax(7), "Quoting".
struct UnitWords {
    /// Why a value cannot be split into words.
    struct Failure: Error, Hashable {
        var message: String
        /// Whether systemd does not load the unit because of it; otherwise it ignores the line.
        var isFatal = false
    }

    private let scalars: [Unicode.Scalar]
    private(set) var place = 0
    /// The escapes that systemd does not know: it keeps them as they are, with a warning.
    private(set) var unknownEscapes: [String] = []

    /// Whether an escape that systemd does not know is an error, as in variables.
    private let isStrict: Bool

    init(_ text: String, isStrict: Bool = false) {
        scalars = Array(text.unicodeScalars)
        self.isStrict = isStrict
    }

    /// All words of a text.
    /// - Complexity: O(*n*).
    static func all(_ text: String) throws(Failure) -> [String] {
        var reader = UnitWords(text)
        var words: [String] = []
        while let word = try reader.next() { words.append(word) }
        return words
    }

    /// A text in which only escapes are replaced: blanks and quotes are part of it.
    /// - Complexity: O(*n*).
    static func unescaped(_ text: String) throws(Failure) -> String {
        var reader = UnitWords(text)
        var result = String.UnicodeScalarView()
        while let scalar = reader.current {
            if scalar == "\\" {
                try reader.unescape(into: &result)
            } else {
                result.append(scalar)
                reader.place += 1
            }
        }
        return String(result)
    }

    private var current: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }

    private func isEnd(_ index: Int) -> Bool {
        index >= scalars.count || UnitFile.isBlank(scalars[index])
    }

    mutating func skipBlanks() {
        while let scalar = current, UnitFile.isBlank(scalar) { place += 1 }
    }

    /// Skips a `;` that stands alone and separates commands, or the `\;` that stands for the word `;`.
    mutating func skipSemicolon(escaped: Bool) -> Bool {
        skipBlanks()
        let word: [Unicode.Scalar] = escaped ? ["\\", ";"] : [";"]
        guard scalars[place...].starts(with: word), isEnd(place + word.count) else { return false }
        place += word.count
        return true
    }

    /// The next word; nil at the end.
    mutating func next() throws(Failure) -> String? {
        skipBlanks()
        guard current != nil else { return nil }
        var word = String.UnicodeScalarView()
        var quote: Unicode.Scalar?
        while let scalar = current {
            if scalar == "\\" {
                try unescape(into: &word)
                continue
            }
            if quote == nil, UnitFile.isBlank(scalar) { break }
            place += 1
            if scalar == quote {
                quote = nil
            } else if quote == nil, scalar == "\"" || scalar == "'" {
                quote = scalar
            } else {
                word.append(scalar)
            }
        }
        guard quote == nil else { throw Failure(message: "a quote is not closed") }
        return String(word)
    }

    private static let simple: [Unicode.Scalar: Unicode.Scalar] = [
        "a": "\u{7}", "b": "\u{8}", "f": "\u{c}", "n": "\n", "r": "\r", "t": "\t", "v": "\u{b}",
        "\\": "\\", "\"": "\"", "'": "'", "s": " ",
    ]

    private mutating func unescape(into word: inout String.UnicodeScalarView) throws(Failure) {
        let start = place
        place += 1
        guard let scalar = current else {
            if isStrict { throw Failure(message: "it ends with a backslash") }
            // A backslash at the end stands for itself.
            unknownEscapes.append("\\")
            return word.append("\\")
        }
        if let value = Self.simple[scalar] {
            place += 1
            word.append(value)
            return
        }
        if let bytes = numbered(scalar) {
            word.append(contentsOf: String(decoding: bytes, as: UTF8.self).unicodeScalars)
            return
        }
        if isStrict { throw Failure(message: "unknown escape \\\(scalar)") }
        // The character is part of the word even if it is a blank.
        place = start + 2
        unknownEscapes.append("\\\(scalar)")
        word.append("\\")
        word.append(scalar)
    }

    /// `\xxx`, `\nnn`, `\unnnn` or `\Unnnnnnnn`, as UTF-8, and several `\xxx` in a row as the bytes of
    /// characters; nil if it is none of them or stands for NUL.
    private mutating func numbered(_ scalar: Unicode.Scalar) -> [UInt8]? {
        if scalar == "u" || scalar == "U" {
            place += 1
            guard let value = number(digits: scalar == "u" ? 4 : 8, radix: 16), value > 0,
                let unicode = Unicode.Scalar(value)
            else { return nil }
            return Array(String(Character(unicode)).utf8)
        }
        var bytes: [UInt8] = []
        var end = place - 1
        while true {
            let isHex = current == "x"
            if isHex { place += 1 }
            guard let value = number(digits: isHex ? 2 : 3, radix: isHex ? 16 : 8), value > 0,
                let byte = UInt8(exactly: value)
            else { break }
            bytes.append(byte)
            end = place
            // Only characters beyond ASCII have more than one byte.
            guard byte >= 0x80, current == "\\" else { break }
            place += 1
        }
        place = end
        guard !bytes.isEmpty else { return nil }
        return bytes
    }

    private mutating func number(digits: Int, radix: Int) -> UInt32? {
        guard place + digits <= scalars.count else { return nil }
        var value: UInt32 = 0
        for scalar in scalars[place..<(place + digits)] {
            guard scalar.isASCII, let digit = Character(scalar).hexDigitValue, digit < radix else {
                return nil
            }
            let (product, overflow) = value.multipliedReportingOverflow(by: UInt32(radix))
            guard !overflow else { return nil }
            value = product | UInt32(digit)
        }
        place += digits
        return value
    }
}
