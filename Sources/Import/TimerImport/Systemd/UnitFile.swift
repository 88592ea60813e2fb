// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A unit file of systemd, as systemd.syntax(7) describes it: its lines, each with what it is. Every
/// line of the file is in exactly one of them.
public struct UnitFile: Hashable, Sendable {
    /// What a line is. A line that is continued with a backslash is one line, at the place of its first.
    public enum Content: Hashable, Sendable {
        /// An empty line, or a comment.
        case comment
        /// `[Service]`.
        case section(String)
        /// `KEY=VALUE`, without the blanks around both, in a section.
        case assignment(section: String, key: String, value: String)
        /// What systemd ignores, and why.
        case ignored(String)
        /// What keeps systemd from loading the unit, and why.
        case fatal(String)
    }

    public struct Line: Hashable, Sendable {
        public var place: SourcePlace
        /// As it is written, with a line end before each continuation.
        public var text: String
        public var content: Content
    }

    /// The path, as it is shown to the user.
    public var path: String
    public var lines: [Line] = []

    /// The length from which systemd refuses a line.
    static let lineMax = 1 << 20

    /// Reads a file. It never fails: what cannot be used is `ignored` or `fatal`.
    ///
    /// - Complexity: O(*n*) in the size of the file.
    public init(path: String, bytes: [UInt8]) {
        self.path = path
        var reader = Reader(path: path)
        for line in Self.physicalLines(bytes) { reader.read(line) }
        reader.finish()
        lines = reader.lines
    }

    /// Whether the file has nothing at all, which masks the unit like a link to /dev/null.
    public static func isMask(_ bytes: [UInt8]) -> Bool { bytes.isEmpty }

    /// The lines without their ends, which are a line feed, a carriage return, both, or a NUL; and
    /// without a byte order mark.
    private static func physicalLines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var rest = bytes[...]
        if rest.starts(with: [0xef, 0xbb, 0xbf]) { rest = rest.dropFirst(3) }
        var lines: [ArraySlice<UInt8>] = []
        var start = rest.startIndex
        var index = start
        while index < rest.endIndex {
            let byte = rest[index]
            guard byte == 10 || byte == 13 || byte == 0 else {
                index += 1
                continue
            }
            lines.append(rest[start..<index])
            index += 1
            if byte == 13, index < rest.endIndex, rest[index] == 10 { index += 1 }
            start = index
        }
        if start < rest.endIndex { lines.append(rest[start...]) }
        return lines
    }

    /// Whether systemd takes the scalar for a blank around keys and values.
    static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\t" || scalar == "\n" || scalar == "\r"
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !isBlank($0) }),
            let last = scalars.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(String.UnicodeScalarView(scalars[first...last]))
    }
}

/// Puts continued lines together and finds out what each line is.
private struct Reader {
    let path: String
    var lines: [UnitFile.Line] = []
    private var number = 0
    private var section: String?
    private var open: Open?

    /// A line that ends with a backslash, and so continues in the next one.
    private struct Open {
        /// With a space in the place of each backslash at an end.
        var text = ""
        var raw = ""
        /// The number of its first line.
        var line: Int
        private var isEmpty = true

        init(line: Int) { self.line = line }

        mutating func append(_ part: String) {
            if !isEmpty { raw += "\n" }
            isEmpty = false
            text += part
            raw += part
        }
    }

    init(path: String) { self.path = path }

    mutating func read(_ bytes: ArraySlice<UInt8>) {
        number += 1
        guard let text = String(validating: bytes, as: UTF8.self) else {
            add(String(decoding: bytes, as: UTF8.self), number, .ignored("it is not UTF-8"))
            return
        }
        let first = text.unicodeScalars.first { !UnitFile.isBlank($0) }
        // A comment between the parts of a continued line is not part of it.
        if first == "#" || first == ";" || (first == nil && open == nil) {
            return add(text, number, .comment)
        }
        // It is moved out and in again, so that a line of very many parts is not copied for each of them.
        var line = open ?? Open(line: number)
        open = nil
        line.append(text)
        if line.text.utf8.count > UnitFile.lineMax {
            return add(line.raw, line.line, .fatal("the line is longer than 1 MiB"))
        }
        // An even number of backslashes at the end are backslashes.
        if text.utf8.reversed().prefix(while: { $0 == 0x5c }).count.isMultiple(of: 2) {
            return add(line.raw, line.line, content(of: UnitFile.trimmed(line.text)))
        }
        line.text.unicodeScalars.removeLast()
        line.text += " "
        open = line
    }

    /// The end of the file also ends a continued line.
    mutating func finish() {
        guard let last = open else { return }
        open = nil
        add(last.raw, last.line, content(of: UnitFile.trimmed(last.text)))
    }

    private mutating func add(_ text: String, _ line: Int, _ content: UnitFile.Content) {
        lines.append(
            UnitFile.Line(
                place: SourcePlace(path, line: line), text: text, content: content))
    }

    private mutating func content(of line: String) -> UnitFile.Content {
        let scalars = line.unicodeScalars
        guard let first = scalars.first else { return .comment }
        if first == "[" {
            guard scalars.last == "]", scalars.count > 1 else {
                return .fatal("the section has no ] at its end")
            }
            let name = String(String.UnicodeScalarView(scalars.dropFirst().dropLast()))
            guard name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0 != "\"" && $0 != "\\" })
            else { return .fatal("the name of the section has a character that is not allowed") }
            section = name
            return .section(name)
        }
        guard let equals = scalars.firstIndex(of: "=") else { return .ignored("it has no =") }
        let key = UnitFile.trimmed(line[..<equals])
        guard !key.isEmpty else { return .ignored("there is no key before =") }
        guard let section else { return .ignored("it is before the first section") }
        let value = UnitFile.trimmed(line[scalars.index(after: equals)...])
        return .assignment(section: section, key: key, value: value)
    }
}
