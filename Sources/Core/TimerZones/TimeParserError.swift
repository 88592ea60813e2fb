// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The reason why a text is not a valid time.
public struct TimeParserError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place in the text, in bytes from its start; nil if the whole text is wrong.
    public let offset: Int?
    /// What is wrong, for the user who wrote it.
    public let message: String

    init(offset: Int?, _ message: String) {
        self.offset = offset
        self.message = message
    }

    static let tooLong = TimeParserError(
        offset: nil, "is longer than \(TimeParser.bytesMax) bytes")

    public var description: String { message }

    /// The error message for the value of an option. It contains the value and, if the value can be
    /// printed on one line, a mark below the place of the error.
    public func text(option: String, value: String) -> String {
        let isPlain = value.utf8.count <= 100 && value.utf8.allSatisfy { $0 >= 32 && $0 < 127 }
        guard let offset, isPlain else {
            let shown = value.utf8.count <= 100 ? value : "\(value.prefix(50))…"
            return "\(option) \"\(shown)\": \(message)"
        }
        let indent = String(repeating: " ", count: offset)
        return "\(option) \"\(value)\": \(message)\n  \(value)\n  \(indent)^"
    }
}
