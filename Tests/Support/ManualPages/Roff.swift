// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Text as lines of a manual page in mdoc(7).
enum Roff {
    private static let width = 100

    /// Each dash is one that can be copied.
    static func escaped(_ text: some StringProtocol) -> String {
        String(text).replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }

    /// Sentences, each on a line of its own or more, with `timerctl list` as a quotation and
    /// crontab(5) as a reference.
    static func lines(_ text: String) -> [String] {
        var lines: [String] = []
        var rest = text[...]
        while let match = rest.firstMatch(of: #/`([^`]+)`|([a-z][\w.-]*)\((\d)\)/#) {
            append(rest[..<match.range.lowerBound], to: &lines)
            rest = rest[match.range.upperBound...]
            let marks = rest.prefix { ".,;:)".contains($0) }
            rest = rest.dropFirst(marks.count)
            let macro =
                match.1.map { "Ql \(escaped($0))" }
                ?? "Xr \(escaped(match.2 ?? "")) \(match.3 ?? "")"
            lines.append(".\(macro)" + marks.map { " \($0)" }.joined())
        }
        append(rest, to: &lines)
        return lines
    }

    private static func append(_ text: Substring, to lines: inout [String]) {
        var line = ""
        func end() {
            guard !line.isEmpty else { return }
            lines.append(".'".contains(line.prefix(1)) ? "\\&" + line : line)
            line = ""
        }
        var isEnd = false
        for word in text.split(separator: " ").map({ escaped($0) }) {
            let beginsSentence = isEnd && word.first?.isUppercase == true
            if beginsSentence || line.count + word.count >= width { end() }
            line += line.isEmpty ? word : " \(word)"
            isEnd = word.hasSuffix(".")
        }
        end()
    }

    /// Words as arguments of a macro, such as `.Cm a , b or c .`
    static func words(_ macro: String, _ words: [String], last: String, end: String) -> [String] {
        let words = words.map { escaped($0) }
        guard let final = words.last, words.count > 1 else {
            return words.map { ".\(macro) \($0)\(end)" }
        }
        let first = words.dropLast().joined(separator: " , ")
        return [".\(macro) \(first)", last, ".\(macro) \(final)\(end)"]
    }
}
