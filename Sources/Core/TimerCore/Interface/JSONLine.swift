// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A log entry as one JSON object on a line, for programs that collect logs line by line, such as
/// those of container platforms.
public struct JSONLine {
    private(set) var text = ""

    /// An object without members.
    public init() {}

    /// The complete object, with its newline.
    public var line: String { (text.isEmpty ? "{" : text) + "}\n" }

    /// Adds a member. It is not checked whether the name was already added.
    public mutating func add(_ name: String, _ value: String) {
        begin(name)
        write(value)
    }

    /// Adds a member whose value is a number. It is not checked whether the name was already added.
    public mutating func add(_ name: String, _ value: Int64) {
        begin(name)
        text += "\(value)"
    }

    private mutating func begin(_ name: String) {
        text += text.isEmpty ? "{" : ","
        write(name)
        text += ":"
    }

    private mutating func write(_ value: String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}"..."\u{202e}",
                "\u{2066}"..."\u{2069}":
                // Some terminals and readers interpret these characters as commands or as the end
                // of the line. All of them have at most four hexadecimal digits.
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
