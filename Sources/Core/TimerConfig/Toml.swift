// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CTomlPlusPlus

/// A value of a TOML document with its place.
struct TomlNode: Sendable {
    var mark: SourceMark
    var value: TomlValue
}

enum TomlValue: Sendable {
    case table([TomlEntry])
    case array([TomlNode])
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    case float(Double)
    case dateOrTime

    /// The kind of value, as it follows "not" in messages.
    var kind: String {
        switch self {
        case .table: "a table"
        case .array: "an array"
        case .string: "a string"
        case .integer: "an integer"
        case .boolean: "a boolean"
        case .float: "a decimal number"
        case .dateOrTime: "a date or time"
        }
    }
}

/// One entry of a table, with the place of its key.
struct TomlEntry: Sendable {
    var key: String
    var mark: SourceMark
    var node: TomlNode
}

/// Parses TOML into values. The entries of a table are in the order of the text.
enum Toml {
    /// A message of the parser without the number or the word that it could not use, which may be a secret.
    static func withoutValue(_ message: String) -> String {
        let quote = Unicode.Scalar("'")
        let scalars = Array(message.unicodeScalars)
        func text(_ part: some Sequence<Unicode.Scalar>) -> String {
            String(String.UnicodeScalarView(part))
        }
        for end in ["' could not be interpreted as a value", "' is not representable in 64 bits"]
        where message.hasSuffix(end) {
            guard let first = scalars.firstIndex(of: quote) else { continue }
            return text(scalars[..<first]) + "this number" + end.dropFirst()
        }
        guard scalars.last == quote, let saw = message.firstRange(of: "', saw '") else {
            return message
        }
        let seen = message[saw.upperBound...].dropLast()
        // One character, or an escaped one, says what is wrong.
        guard seen.unicodeScalars.count > 1, !seen.hasPrefix("\\") else { return message }
        return message[..<saw.lowerBound] + "'"
    }

    static func parse(_ bytes: [UInt8], file: String) throws(TomlFault) -> [TomlEntry] {
        var error = ctoml_error()
        let document = bytes.withUnsafeBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                // An empty array has no address, but the parser needs one.
                text.baseAddress.map { ctoml_parse($0, text.count, &error) }
                    ?? ctoml_parse("", 0, &error)
            }
        }
        guard let document else {
            let message = withUnsafeBytes(of: error.message) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            throw TomlFault(mark: SourceMark(error.mark), message: Self.withoutValue(message))
        }
        defer { ctoml_free(document) }
        return entries(of: ctoml_root(document))
    }

    private static func entries(of table: OpaquePointer) -> [TomlEntry] {
        var entries: [TomlEntry] = []
        withUnsafeMutablePointer(to: &entries) { pointer in
            ctoml_each_entry(table, pointer) { context, key, length, mark, node in
                let name = UnsafeRawBufferPointer(start: key, count: length)
                context?.assumingMemoryBound(to: [TomlEntry].self).pointee.append(
                    TomlEntry(
                        key: String(decoding: name, as: UTF8.self), mark: SourceMark(mark),
                        node: Toml.node(node)))
            }
        }
        return entries.sorted { $0.mark < $1.mark }
    }

    private static func elements(of array: OpaquePointer) -> [TomlNode] {
        var nodes: [TomlNode] = []
        withUnsafeMutablePointer(to: &nodes) { pointer in
            ctoml_each_element(array, pointer) { context, node in
                context?.assumingMemoryBound(to: [TomlNode].self).pointee.append(Toml.node(node))
            }
        }
        return nodes
    }

    private static func node(_ node: OpaquePointer) -> TomlNode {
        let value: TomlValue =
            switch ctoml_kind_of(node) {
            case CTOML_TABLE: .table(entries(of: node))
            case CTOML_ARRAY: .array(elements(of: node))
            case CTOML_STRING: .string(string(node))
            case CTOML_INTEGER: .integer(ctoml_integer(node))
            case CTOML_BOOLEAN: .boolean(ctoml_boolean(node))
            case CTOML_FLOAT: .float(ctoml_float(node))
            default: .dateOrTime
            }
        return TomlNode(mark: SourceMark(ctoml_mark_of(node)), value: value)
    }

    private static func string(_ node: OpaquePointer) -> String {
        var length = 0
        guard let start = ctoml_string(node, &length) else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }
}

/// Why a text is not valid TOML, and where.
struct TomlFault: Error {
    var mark: SourceMark
    var message: String
}

extension SourceMark {
    fileprivate init(_ mark: ctoml_mark) {
        self.init(line: Int(max(1, mark.line)), column: Int(max(1, mark.column)))
    }
}
