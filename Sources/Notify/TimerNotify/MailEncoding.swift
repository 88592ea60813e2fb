// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles

/// The encodings of a mail: what may be in a header (RFC 5322, RFC 2047), and in a body (RFC 2045).
enum MailEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// The most characters of a line of the header, without its line end.
    private static let headerLineMax = 76
    /// The most characters of an encoded word (RFC 2047, 2).
    private static let encodedWordMax = 75

    /// A line of the header of free text, folded, without its line end. Control characters become
    /// spaces, so that no text can begin a line of its own; other than ASCII is encoded.
    static func header(_ name: String, text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(scalar.controlsTerminal ? " " : scalar) }
        let clean = String(scalars)
        // A reader would decode a word that looks like an encoded one.
        let isPlain =
            clean.utf8.allSatisfy { $0 < 0x7f } && !clean.contains("=?")
            && clean.split(separator: " ").allSatisfy { $0.utf8.count < headerLineMax }
        return isPlain
            ? folded("\(name): ", clean.split(separator: " ").map(String.init), between: " ")
            : folded("\(name): ", encodedWords(clean, first: headerLineMax - name.utf8.count - 2))
    }

    /// A line of the header of words that are never encoded, such as addresses.
    static func header(_ name: String, words: [String], between separator: String) -> String {
        let clean = words.map { word in
            var scalars = String.UnicodeScalarView()
            scalars.append(contentsOf: word.unicodeScalars.filter { !$0.controlsTerminal })
            return String(scalars)
        }
        return folded("\(name): ", clean, between: separator)
    }

    /// The words in lines that each begin with a space, apart from the first.
    private static func folded(
        _ start: String, _ words: [String], between separator: String = " "
    ) -> String {
        var lines = [start]
        for (index, word) in words.enumerated() {
            let isLast = index == words.count - 1
            let piece = isLast ? word : word + separator.filter { $0 != " " }
            let isFirst = index == 0
            let room = headerLineMax - lines[lines.count - 1].utf8.count - (isFirst ? 0 : 1)
            if isFirst || piece.utf8.count <= room {
                lines[lines.count - 1] += (isFirst ? "" : " ") + piece
            } else {
                lines.append(" " + piece)
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The text as encoded words of RFC 2047, in the encoding Q. A character is never divided.
    ///
    /// - Parameter first: the most characters of the first word, which follows the name of the header.
    private static func encodedWords(_ text: String, first: Int) -> [String] {
        let (start, end) = ("=?UTF-8?Q?", "?=")
        var words: [String] = []
        var word = start
        for scalar in text.unicodeScalars {
            let encoded = quoted(scalar)
            let most = min(encodedWordMax, words.isEmpty ? first : headerLineMax - 1)
            if word.utf8.count + encoded.utf8.count + end.utf8.count > most {
                words.append(word + end)
                word = start
            }
            word += encoded
        }
        return words + [word + end]
    }

    private static func quoted(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case " ": return "_"
        case "a"..."z", "A"..."Z", "0"..."9", "-", "/", "!", "*", "+", ".", ",", ":":
            return String(scalar)
        default:
            var bytes: [UInt8] = []
            for byte in String(scalar).utf8 { bytes += escaped(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func escaped(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// A body in the encoding that takes less room, and the name of the encoding. Lines end with LF.
    /// - Complexity: O(*n*).
    static func body(_ bytes: [UInt8]) -> (encoding: String, bytes: [UInt8]) {
        let quoted = quotedPrintable(bytes)
        let inBase64 = (bytes.count + 2) / 3 * 4 + bytes.count / 57 + 1
        return quoted.count <= inBase64 || quoted.count == bytes.count
            ? ("quoted-printable", quoted) : ("base64", base64(bytes))
    }

    /// The most characters of an encoded line, without its line end.
    private static let lineMax = 76

    /// The encoding `quoted-printable` (RFC 2045, 6.7).
    static func quotedPrintable(_ bytes: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count + bytes.count / 16)
        var column = 0
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\n") {
                encoded.append(byte)
                column = 0
                continue
            }
            let isAtEnd = index + 1 == bytes.count || bytes[index + 1] == UInt8(ascii: "\n")
            let piece =
                mustEscape(byte, column, isAtEnd: isAtEnd, bytes[index...]) ? escaped(byte) : [byte]
            // The last character of a line needs no room for the `=` of a soft line break.
            if column + piece.count > lineMax - (isAtEnd ? 0 : 1) {
                encoded += [UInt8(ascii: "="), UInt8(ascii: "\n")]
                column = 0
            }
            encoded += piece
            column += piece.count
        }
        return encoded
    }

    /// Whether a byte cannot be written as it is. Besides what RFC 2045 demands, these are what mail
    /// programs change: a single dot, and "From " at the beginning of a line.
    private static func mustEscape(
        _ byte: UInt8, _ column: Int, isAtEnd: Bool, _ rest: ArraySlice<UInt8>
    ) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"): isAtEnd
        case UInt8(ascii: "="): true
        case UInt8(ascii: "."): column == 0
        case UInt8(ascii: "F"): column == 0 && rest.starts(with: "From ".utf8)
        default: !(0x21...0x7e).contains(byte)
        }
    }

    /// The encoding `base64` (RFC 2045, 6.8), in lines.
    static func base64(_ bytes: [UInt8]) -> [UInt8] {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var encoded: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            if start > 0, start % 57 == 0 { encoded.append(UInt8(ascii: "\n")) }
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                encoded.append(
                    place > group.count
                        ? UInt8(ascii: "=") : letters[Int(bits >> UInt32(18 - 6 * place) & 63)])
            }
        }
        return encoded + [UInt8(ascii: "\n")]
    }
}
