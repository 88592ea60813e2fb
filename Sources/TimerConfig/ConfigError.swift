// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A place in a file; both count from 1, columns in code points.
public struct SourceMark: Hashable, Comparable, Sendable {
    /// The line.
    public var line: Int
    /// The column.
    public var column: Int

    /// The place at this line and column.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// What is wrong with a configuration, and where.
///
/// Its text is `FILE:LINE:COLUMN: job "backup": unknown key "intervall" (did you mean "interval"?)`, then
/// the line and a caret under the column; without a place, `FILE: what is wrong`.
public struct ConfigError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file.
    public var file: String
    /// The place in it; nil if the file as a whole is meant.
    public var mark: SourceMark?
    /// What is wrong, and what to do next.
    public var message: String
    /// The line and the caret.
    public var excerpt: String?

    /// An error as described.
    public init(file: String, mark: SourceMark? = nil, message: String, excerpt: String? = nil) {
        self.file = file
        self.mark = mark
        self.message = message
        self.excerpt = excerpt
    }

    public var description: String {
        let place = mark.map { ":\($0.line):\($0.column)" } ?? ""
        return "\(file)\(place): \(message)" + (excerpt.map { "\n\($0)" } ?? "")
    }
}

/// The text of a file, for showing a line of it.
struct SourceText {
    /// How many characters of a long line are shown.
    static let shownMax = 100

    private let lines: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) {
        lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    /// The line at the mark and a caret under its column, each indented by two; nil past the end.
    func excerpt(at mark: SourceMark) -> String? {
        guard mark.line <= lines.count else { return nil }
        var line = Array(String(decoding: lines[mark.line - 1], as: UTF8.self).unicodeScalars)
        if line.last == "\r" { line.removeLast() }
        let column = min(mark.column - 1, line.count)
        // A long line is shown around the caret.
        let first = max(0, min(column - Self.shownMax / 2, line.count - Self.shownMax))
        let shown = line[first..<min(line.count, first + Self.shownMax)]
        // A tab above a tab keeps the caret in its column, whatever a tab's width is.
        let text = String(String.UnicodeScalarView(shown.map(Self.plain)))
        let indent = String(
            String.UnicodeScalarView(line[first..<column].map { $0 == "\t" ? "\t" : " " }))
        return "  \(first > 0 ? "…" : "")\(text)\n  \(first > 0 ? " " : "")\(indent)^"
    }

    /// Control characters could do anything to the terminal they are shown on.
    private static func plain(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        (scalar.value < 0x20 && scalar != "\t") || (0x7f...0x9f).contains(scalar.value)
            ? "\u{fffd}" : scalar
    }
}
