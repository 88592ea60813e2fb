// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One parsed file, with its text for the excerpts of errors.
struct Document: Sendable {
    let file: String
    var text: SourceText
    let entries: [TomlEntry]

    init(bytes: [UInt8], file: String) throws(ConfigError) {
        // Editors of other systems write a byte order mark. It does not belong to the text and has
        // no column.
        let bytes = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
        var text = SourceText(bytes)
        self.file = file
        try Self.checkText(bytes, &text, file: file)
        do throws(TomlFault) {
            entries = try Toml.parse(bytes, file: file)
        } catch {
            let mark = text.mark(nearest: error.mark)
            throw ConfigError(
                file: file, mark: mark, message: Self.message(error.message, at: mark, in: &text),
                excerpt: text.excerpt(at: mark))
        }
        self.text = text
    }

    /// The message of the parser in plainer words where it speaks of a consequence of the error.
    private static func message(
        _ message: String, at mark: SourceMark, in text: inout SourceText
    ) -> String {
        let isString = message.contains("parsing string")
        guard isString || message.contains("parsing literal string") else { return message }
        let quote = isString ? "\"" : "'"
        if message.contains("control characters"), text.isEnd(of: mark) {
            return
                "the string is not closed: a \(quote) is missing in this line (a text of several lines is in \(quote)\(quote)\(quote))"
        }
        if message.contains("end-of-file") {
            return "the string is not closed; look for its first quote above"
        }
        if message.contains("unknown escape sequence") {
            return message
                + "; write \\\\ for a backslash, or put the text between single quotes"
        }
        return message
    }

    /// Null bytes and invalid UTF-8 are refused with their place, before the parser sees them.
    private static func checkText(
        _ bytes: [UInt8], _ text: inout SourceText, file: String
    ) throws(ConfigError) {
        func fail(at offset: Int, _ message: String) -> ConfigError {
            let line = bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
            let start =
                bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let column = String(decoding: bytes[start..<offset], as: UTF8.self)
                .unicodeScalars.count
            let mark = SourceMark(line: line, column: column + 1)
            return ConfigError(
                file: file, mark: mark, message: message, excerpt: text.excerpt(at: mark))
        }
        if let zero = bytes.firstIndex(of: 0) {
            throw fail(at: zero, "holds a NUL byte; a configuration is plain text in UTF-8")
        }
        guard String(validating: bytes, as: UTF8.self) == nil else { return }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var good = 0
        while case .valid(let scalar) = parser.parseScalar(from: &iterator) { good += scalar.count }
        throw fail(at: good, "is not UTF-8 here; save it as UTF-8")
    }
}
