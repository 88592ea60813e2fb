// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
import TimerCore

/// A place in a file; both count from 1, columns in code points.
public struct SourceMark: Hashable, Comparable, Sendable {
    /// From 1.
    public var line: Int
    /// From 1, in code points.
    public var column: Int
    /// Whether it is in `[defaults]` of the main file, while another file is read.
    var isInherited = false

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }

    /// The same place for messages, which name the file.
    var plain: SourceMark { SourceMark(line: line, column: column) }
}

/// An error in a configuration, with its place.
///
/// Its text is `FILE:LINE:COLUMN: job "backup": unknown key "intervall" (did you mean
/// "interval"?)`. Without a place it is `FILE: MESSAGE`. It contains no value that can be a secret,
/// because users who cannot read the file can read it in the log and in answers of the API.
public struct ConfigError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path of the file, with escapes in place of control characters.
    public var file: String
    /// The place in it; nil if the error concerns the whole file.
    public var mark: SourceMark?
    /// What is wrong, and what to do next.
    public var message: String
    /// The line and a caret under the column. The line may contain a secret, such as the address of a webhook: only who
    /// reads the file may see it.
    public var excerpt: String?
    /// The job that is not loaded because of it, as its name is written; nil if it does not concern
    /// one job.
    public var job: String?

    /// The most characters of a message, because it can contain text of the file.
    static let messageMax = 1000

    /// Creates an error. A message that is too long, because it contains a text of the file, ends
    /// with `…`. Characters in the name of the file and in the message that could control a
    /// terminal or break the line are escaped as in TOML: `\n`, `\u001B`.
    public init(
        file: String, mark: SourceMark? = nil, message: String, excerpt: String? = nil,
        job: String? = nil
    ) {
        self.file = file.escapingControls
        self.mark = mark
        self.message = message.shortened(to: Self.messageMax).escapingControls
        self.excerpt = excerpt
        self.job = job
    }

    public var description: String {
        let place = mark.map { ":\($0.line):\($0.column)" } ?? ""
        return "\(file)\(place): \(message)"
    }

    /// The text with the line of the file, for the terminal of a user who reads the file.
    public var quotingLine: String { description + (excerpt.map { "\n\($0)" } ?? "") }
}

/// Something in a configuration that is no error but may be a mistake.
///
/// Its text is that of an error, with `warning:` or `note:` after the place, and the code in
/// brackets at the end.
public struct ConfigWarning: Hashable, Sendable, CustomStringConvertible {
    /// The kind of warning; the raw value is its name for people and programs.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no such user on this machine.
        public static let unknownUser = Code(rawValue: "unknown-user")
        /// There is no such group on this machine.
        public static let unknownGroup = Code(rawValue: "unknown-group")
        public static let unknownPamService = Code(rawValue: "unknown-pam-service")
        /// The program does not exist, or cannot be executed.
        public static let missingProgram = Code(rawValue: "missing-program")
        /// The working directory does not exist.
        public static let missingDirectory = Code(rawValue: "missing-directory")
        /// A file that the runner reads for the job's runs does not exist, or cannot be used.
        public static let missingFile = Code(rawValue: "missing-file")
        /// A time zone that the machine had when the job was loaded, and no longer has.
        public static let missingZone = Code(rawValue: "missing-zone")
        /// The runner may not give the job's processes the priority that is configured.
        public static let missingPrivilege = Code(rawValue: "missing-privilege")
        /// With this resource limit no program can run.
        public static let limitTooLow = Code(rawValue: "limit-too-low")
        /// The runner or the kernel does not allow this resource limit; the runs have a lower one.
        public static let limitLowered = Code(rawValue: "limit-lowered")
        /// A resource limit is unlimited, and the kernel allows no more than a number.
        public static let highestLimit = Code(rawValue: "highest-limit")
        /// The machine did not answer in time, so some checks are missing.
        public static let notChecked = Code(rawValue: "not-checked")
        /// This process has no right to look at a program or directory.
        public static let notExamined = Code(rawValue: "not-examined")
        /// The job names no user, so its runs are executed as root.
        public static let runsAsRoot = Code(rawValue: "runs-as-root")
        /// An empty or relative part of PATH means the working directory, where other users may put
        /// programs.
        public static let relativePath = Code(rawValue: "relative-path")
        /// A crontab line that Debian's cron reads in another way, or does not accept.
        public static let differsFromCron = Code(rawValue: "differs-from-cron")
        /// No job names the slot.
        public static let unusedSlot = Code(rawValue: "unused-slot")

        /// No job names the list of dates.
        public static let unusedDates = Code(rawValue: "unused-dates")
        /// All dates of a list are past.
        public static let pastDates = Code(rawValue: "past-dates")

        /// All codes, those about schedules first.
        public static let all =
            ScheduleFinding.Code.allCases.map { Code(rawValue: $0.rawValue) }
            + [
                unknownUser, unknownGroup, unknownPamService, missingProgram, missingDirectory,
                missingFile, missingZone, missingPrivilege, limitTooLow, limitLowered, runsAsRoot,
                relativePath, notChecked, highestLimit, notExamined, differsFromCron,
                unusedSlot, unusedDates, pastDates,
            ]

        /// Whether it is only information, and not a warning.
        public var isNote: Bool { Self.notes.contains(self) }

        /// The codes that are only information.
        public static let notes = [highestLimit, notExamined, differsFromCron]
    }

    /// The kind of warning, for programs.
    public var code: Code
    /// Whether it is only information, and not a warning.
    public var isNote: Bool { code.isNote }
    /// The path of the file.
    public var file: String
    /// The place of the value that the warning is about.
    public var mark: SourceMark
    /// What will happen, and what to write if that is not intended.
    public var message: String
    /// The line and a caret under the column, which only who reads the file may see.
    public var excerpt: String?

    public init(
        code: Code, file: String, mark: SourceMark, message: String, excerpt: String? = nil
    ) {
        self.code = code
        self.file = file
        self.mark = mark
        self.message = message
        self.excerpt = excerpt
    }

    public var description: String {
        "\(file):\(mark.line):\(mark.column): \(isNote ? "note" : "warning"): \(message) [\(code.rawValue)]"
    }

    /// The text with the line of the file, for the terminal of a user who reads the file.
    public var quotingLine: String { description + (excerpt.map { "\n\($0)" } ?? "") }
}

/// The text of a file, of which errors show a line.
struct SourceText: Sendable {
    /// How many characters of a long line are shown.
    static let shownMax = 100

    private let bytes: [UInt8]
    /// Its lines. A text without an error or warning is not split.
    private lazy var lines = bytes.split(
        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    /// The line of the last excerpt: a file of one long line may have an error at each of its
    /// words.
    private var last: (number: Int, scalars: [Unicode.Scalar])?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The characters of an existing line, counted from 1, without its line end.
    ///
    /// - Complexity: O(*n*) in the length of the line; O(1) for the same line again.
    private mutating func scalars(ofLine number: Int) -> [Unicode.Scalar] {
        if let last, last.number == number { return last.scalars }
        var scalars = Array(String(decoding: lines[number - 1], as: UTF8.self).unicodeScalars)
        if scalars.last == "\r" { scalars.removeLast() }
        last = (number, scalars)
        return scalars
    }

    /// The line at the mark and a caret under its column, each indented by two; nil past the end.
    mutating func excerpt(at mark: SourceMark) -> String? {
        guard mark.line <= lines.count else { return nil }
        let line = scalars(ofLine: mark.line)
        let column = min(mark.column - 1, line.count)
        // Of a long line, the part around the caret is shown.
        let first = max(0, min(column - Self.shownMax / 2, line.count - Self.shownMax))
        let shown = line[first..<min(line.count, first + Self.shownMax)]
        // A tab stays a tab in the line of the caret, so that the caret is in the right column for
        // every width of tabs.
        let text = String(String.UnicodeScalarView(shown.map(Self.plain)))
        let indent = String(
            String.UnicodeScalarView(line[first..<column].map { $0 == "\t" ? "\t" : " " }))
        return "  \(first > 0 ? "…" : "")\(text)\n  \(first > 0 ? " " : "")\(indent)^"
    }

    /// The nearest place that exists. If something is missing, the parser reports a place after the
    /// end of the line or of the text; the result is that end.
    mutating func mark(nearest mark: SourceMark) -> SourceMark {
        let line = max(1, min(mark.line, lines.count))
        return SourceMark(
            line: line, column: max(1, min(mark.column, scalars(ofLine: line).count + 1)))
    }

    /// Whether a place is behind the last character of its line.
    mutating func isEnd(of mark: SourceMark) -> Bool {
        guard mark.line <= lines.count else { return true }
        return mark.column > scalars(ofLine: mark.line).count
    }

    /// The place after the first part of a string's value, if the string at the mark contains this
    /// part unchanged in one line. Otherwise the mark itself, because escapes and line ends have
    /// another length in the text than in the value.
    mutating func mark(behind beginning: String, ofStringAt mark: SourceMark) -> SourceMark {
        guard mark.line <= lines.count else { return mark }
        let line = scalars(ofLine: mark.line).dropFirst(mark.column - 1)
        let isLong = line.starts(with: ["\"", "\"", "\""]) || line.starts(with: ["'", "'", "'"])
        let scalars = beginning.unicodeScalars
        guard !isLong, line.dropFirst().starts(with: scalars), !scalars.contains("\\") else {
            return mark
        }
        return SourceMark(line: mark.line, column: mark.column + 1 + scalars.count)
    }

    /// One character replaces each of these, so that the caret stays in its column.
    private static func plain(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar.isSteering && scalar != "\t" ? "\u{fffd}" : scalar
    }
}

extension Unicode.Scalar {
    /// Whether it controls a terminal or changes how its neighbours are shown. Characters without a
    /// width are among them, because they are not seen and move the caret.
    fileprivate var isSteering: Bool {
        controlsTerminal || properties.generalCategory == .format
    }
}

extension TomlEntry {
    /// The key for a message, shortened: the longest valid key is much shorter.
    var shown: String { key.shortened(to: 100) }
}

extension String {
    /// Its first characters, with `…` if there are more.
    func shortened(to most: Int) -> String {
        guard utf8.count > most,
            let end = unicodeScalars.index(
                startIndex, offsetBy: most, limitedBy: endIndex), end < endIndex
        else { return self }
        return String(self[..<end]) + "…"
    }

    fileprivate var escapingControls: String {
        guard unicodeScalars.contains(where: \.isSteering) else { return self }
        return unicodeScalars.map { scalar in
            switch scalar {
            case "\n": return "\\n"
            case "\t": return "\\t"
            case _ where scalar.isSteering:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                let width = digits.utf8.count > 4 ? 8 : 4
                return (width == 4 ? "\\u" : "\\U")
                    + String(repeating: "0", count: width - digits.utf8.count) + digits
            default: return String(scalar)
            }
        }.joined()
    }
}
