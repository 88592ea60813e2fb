// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How the characters of a text are written that JSON does not allow in a string, and which others
/// are written in the same way.
package enum JSONEscaping {
    /// `\n` if a control character has such a form, `\u001b` if not.
    case short
    /// `\u000a` for each control character.
    case numeric
    /// `\n` and `\t`; `\u009b` for each other character that some terminals and readers interpret as
    /// a command or as the end of the line.
    case printable

    /// Whether this byte of a text in UTF-8 is certainly not a part of a character to escape.
    func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            && (self != .printable || byte < 0x7f)
    }

    /// The letter after the backslash, of a character that has such a form.
    fileprivate func letter(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch (scalar, self) {
        case ("\"", _), ("\\", _): scalar
        case ("\n", .short), ("\n", .printable): "n"
        case ("\t", .short), ("\t", .printable): "t"
        case ("\r", .short): "r"
        case ("\u{8}", .short): "b"
        case ("\u{c}", .short): "f"
        default: nil
        }
    }

    /// Whether a character is written as its number. All of them have at most four digits.
    fileprivate func isNumeric(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{0}"..."\u{1f}": true
        case "\u{7f}"..."\u{9f}", "\u{2028}"..."\u{202e}", "\u{2066}"..."\u{2069}":
            self == .printable
        default: false
        }
    }
}

extension [UInt8] {
    /// Appends a text as a JSON string, with its quotation marks.
    /// - Complexity: O(*n*).
    mutating func append(json text: String, _ escaping: JSONEscaping) {
        append(UInt8(ascii: "\""))
        if text.utf8.allSatisfy({ escaping.isPlain($0) }) {
            self += text.utf8
        } else if escaping == .printable {
            for scalar in text.unicodeScalars { append(json: scalar, escaping) }
        } else {
            // All characters to escape have one byte.
            for byte in text.utf8 {
                if escaping.isPlain(byte) {
                    append(byte)
                } else {
                    append(json: Unicode.Scalar(byte), escaping)
                }
            }
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends a character of a JSON string.
    mutating func append(json scalar: Unicode.Scalar, _ escaping: JSONEscaping) {
        if let letter = escaping.letter(scalar) {
            self += [UInt8(ascii: "\\"), UInt8(ascii: letter)]
        } else if escaping.isNumeric(scalar) {
            let digits = String(scalar.value, radix: 16)
            self += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
        } else if let bytes = UTF8.encode(scalar) {
            append(contentsOf: bytes)
        }
    }
}
