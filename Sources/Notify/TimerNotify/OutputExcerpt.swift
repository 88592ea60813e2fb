// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The last part of the output of a run, as a reader sees it.
enum OutputExcerpt {
    /// The last bytes, from the beginning of a line if there is one in the last half of them, and
    /// otherwise from the beginning of a character.
    /// - Complexity: O(`bytes`).
    static func tail(of output: [UInt8], bytes: Int) -> [UInt8] {
        guard output.count > bytes else { return output }
        let tail = output.suffix(max(0, bytes))
        let lineEnd = UInt8(ascii: "\n")
        if let end = tail.prefix(tail.count / 2).firstIndex(of: lineEnd) {
            return Array(tail[(end + 1)...])
        }
        // The bytes 10xxxxxx continue a character.
        return Array(tail.drop { $0 & 0xc0 == 0x80 })
    }

    /// The output without what a terminal would interpret: colours and other sequences are removed,
    /// of a line that was written over with CR the last state remains, and other control characters
    /// are written as `\x07`.
    /// - Complexity: O(*n*).
    static func text(_ output: [UInt8]) -> String {
        var lines: [[UInt8]] = []
        for line in output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            lines.append(lastState(of: withoutSequences(line)))
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return Printable.lines(
            String(decoding: Array(lines.joined(separator: [UInt8(ascii: "\n")])), as: UTF8.self))
    }

    /// The last lines that fit.
    ///
    /// - Parameters:
    ///   - lines: how many at most.
    ///   - characters: how many together at most, as UTF-16 counts them.
    /// - Returns: the lines, and whether some before them, or parts of long lines, are left out.
    static func lastLines(
        of text: String, lines count: Int, characters: Int
    ) -> (lines: [String], isCut: Bool) {
        let all = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        var room = characters
        var lines: [String] = []
        var isCut = all.count > count
        for line in all.suffix(count).reversed() where !(lines.isEmpty && line.isEmpty) {
            let shown = shortened(String(line), to: lineMax)
            isCut = isCut || shown.utf16.count < line.count
            room -= shown.utf16.count + 1
            guard room >= 0 else {
                // Of a single line that is too long there is at least its beginning.
                if lines.isEmpty { lines.append(shortened(shown, to: max(1, characters))) }
                isCut = true
                break
            }
            lines.append(shown)
        }
        return (lines.reversed(), isCut)
    }

    /// The most characters of one line in a message.
    static let lineMax = 300

    /// The beginning of the text with an ellipsis, if it has more characters.
    static func shortened(_ text: String, to count: Int) -> String {
        guard text.utf16.count > count else { return text }
        var short = String.UnicodeScalarView()
        var room = count - 1
        for scalar in text.unicodeScalars {
            room -= UTF16.width(scalar)
            guard room >= 0 else { break }
            short.append(scalar)
        }
        return String(short) + "…"
    }

    private static let escape: UInt8 = 0x1b

    /// Removes the sequences of ECMA-48 that begin with ESC: `ESC [ … m`, `ESC ] … BEL`, `ESC c`.
    private static func withoutSequences(_ line: ArraySlice<UInt8>) -> [UInt8] {
        guard line.contains(escape) else { return Array(line) }
        var kept: [UInt8] = []
        var rest = line
        while let byte = rest.popFirst() {
            guard byte == escape else {
                kept.append(byte)
                continue
            }
            switch rest.first {
            case UInt8(ascii: "["):
                let parameters = rest.dropFirst().drop { (0x20...0x3f).contains($0) }
                if let final = parameters.first, (0x40...0x7e).contains(final) {
                    rest = parameters.dropFirst()
                } else {
                    kept.append(byte)
                }
            case UInt8(ascii: "]"):
                let end = rest.firstIndex { $0 == 0x07 || $0 == escape }
                guard let end else {
                    kept.append(byte)
                    continue
                }
                let isLong = rest[end] == escape && end + 1 < rest.endIndex
                rest = rest[(end + (isLong ? 2 : 1))...]
            case .some(0x30...0x7e): rest.removeFirst()
            default: kept.append(byte)
            }
        }
        return kept
    }

    /// What remains on the screen of a line in which CR moved to its beginning.
    private static func lastState(of line: [UInt8]) -> [UInt8] {
        let carriageReturn = UInt8(ascii: "\r")
        var line = line[...]
        while line.last == carriageReturn { line.removeLast() }
        guard let last = line.lastIndex(of: carriageReturn) else { return Array(line) }
        return Array(line[(last + 1)...])
    }
}
