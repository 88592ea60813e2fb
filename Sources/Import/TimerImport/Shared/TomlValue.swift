// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
import TimerCore

/// A value of a configuration key, which `description` writes as TOML in one fixed way.
public indirect enum TomlValue: Hashable, Sendable, CustomStringConvertible {
    case string(String)
    case integer(Int64)
    /// A number with a fraction, finite.
    case number(Double)
    case boolean(Bool)
    case array([TomlValue])
    /// The entries in the order in which they are written.
    case table([TomlEntry])

    /// An array of strings.
    public static func strings(_ texts: [String]) -> TomlValue {
        .array(texts.map(TomlValue.string))
    }

    /// A time span, in the notation of the configuration.
    public static func span(_ span: Duration) -> TomlValue {
        .string(span == .zero ? "0s" : TimeSpan.compactText(span))
    }

    /// The value as TOML 1.0. The text has line ends only if a string has them.
    /// - Complexity: O(*n*).
    public var description: String {
        switch self {
        case .string(let text): Toml.quoted(text)
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .boolean(let value): value ? "true" : "false"
        case .array(let values): "[" + values.map(\.inline).joined(separator: ", ") + "]"
        case .table(let entries):
            entries.isEmpty
                ? "{}"
                : "{ "
                    + entries.map { "\(Toml.key($0.key)) = \($0.value.inline)" }
                    .joined(separator: ", ") + " }"
        }
    }

    /// The value without a line break, as in an array or an inline table.
    var inline: String {
        if case .string(let text) = self { return Toml.quotedInline(text) }
        return description
    }
}

/// A key with its value, as one line of the output.
public struct TomlEntry: Hashable, Sendable {
    public var key: String
    public var value: TomlValue

    public init(_ key: String, _ value: TomlValue) { (self.key, self.value) = (key, value) }
}

/// The parts of TOML that the importers write.
public enum Toml {
    /// The largest configuration that timerd reads, in bytes.
    public static let bytesMax = 8 << 20

    /// A key, in quotes if it needs them.
    public static func key(_ name: String) -> String {
        let isBare = name.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == 45 || byte == 95
        }
        return isBare && !name.isEmpty ? name : escaped(name)
    }

    /// A string in the notation that is easiest to read: with line ends over several lines if it has
    /// any, and without escapes if possible.
    /// - Complexity: O(*n*).
    public static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.contains("\n"), !scalars.contains("'"),
            scalars.allSatisfy({ $0 == "\n" || !needsEscape($0) })
        else { return quotedInline(text) }
        // The first line end after the quotes is not part of the string.
        return "'''\n\(text)'''"
    }

    /// A string in one line.
    /// - Complexity: O(*n*).
    public static func quotedInline(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let isPlain = scalars.allSatisfy { !needsEscape($0) && $0 != "\"" && $0 != "\\" }
        if isPlain { return "\"\(text)\"" }
        let isLiteral = scalars.allSatisfy { !needsEscape($0) && $0 != "'" }
        return isLiteral ? "'\(text)'" : escaped(text)
    }

    /// A text as a comment: each of its lines begins with `# `, and characters that steer a terminal
    /// or are not allowed in TOML are written as `\u{1b}`.
    /// - Complexity: O(*n*).
    public static func comment(_ text: String) -> String {
        var line = String.UnicodeScalarView("# ".unicodeScalars)
        for scalar in text.unicodeScalars {
            if scalar == "\n" {
                line.append(contentsOf: "\n# ".unicodeScalars)
            } else if scalar != "\t", needsEscape(scalar) {
                line.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                line.append(scalar)
            }
        }
        return String(line)
    }

    private static func escaped(_ text: String) -> String {
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted.append(contentsOf: "\\\"".unicodeScalars)
            case "\\": quoted.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": quoted.append(contentsOf: "\\n".unicodeScalars)
            case "\t": quoted.append(contentsOf: "\\t".unicodeScalars)
            case _ where needsEscape(scalar):
                let digits = String(scalar.value, radix: 16)
                let zeros = String(repeating: "0", count: max(0, 4 - digits.utf8.count))
                quoted.append(contentsOf: "\\u\(zeros)\(digits)".unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        quoted.append("\"")
        return String(quoted)
    }

    /// Control characters, and those that change the direction of a text or break its line; none is
    /// above U+FFFF. A tab is allowed, but it cannot be seen.
    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar.controlsTerminal || scalar.value == 0xfeff
    }
}
