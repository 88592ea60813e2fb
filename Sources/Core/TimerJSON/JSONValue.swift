// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A JSON value; the members of objects are in order.
public indirect enum JSONValue: Sendable {
    case object([(String, JSONValue)])
    case array([JSONValue])
    case string(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    case null

    /// An object with its members in the order of their names: equal members have equal texts.
    /// - Complexity: O(*n* log *n*).
    package static func object(sorted members: [String: JSONValue]) -> JSONValue {
        .object(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    // MARK: - Writing

    /// The value as JSON text, with one member per line.
    /// - Complexity: O(*n*), times the depth.
    package func text() -> String { text(indent: "") }

    /// The value as JSON text without spaces and line ends.
    /// - Complexity: O(*n*).
    package var line: String { text(indent: nil) }

    private func text(indent: String?) -> String {
        var bytes: [UInt8] = []
        write(to: &bytes, indent: indent)
        return String(decoding: bytes, as: UTF8.self)
    }

    private var isPlain: Bool {
        switch self {
        case .object, .array: false
        case .string, .integer, .number, .boolean, .null: true
        }
    }

    /// - Parameter indent: the spaces at the beginning of its last line; nil: all is on one line.
    private func write(to bytes: inout [UInt8], indent: String?) {
        let inner = indent.map { $0 + "  " }
        switch self {
        case .object(let members):
            let breaks = members.isEmpty ? nil : indent
            Self.write(members, in: "{}", separator: ",", breaks: breaks, to: &bytes) {
                $1.append(json: $0.0, .numeric)
                $1 += (indent == nil ? ":" : ": ").utf8
                $0.1.write(to: &$1, indent: inner)
            }
        case .array(let values):
            let breaks = values.allSatisfy(\.isPlain) ? nil : indent
            let separator = breaks == nil && indent != nil ? ", " : ","
            Self.write(values, in: "[]", separator: separator, breaks: breaks, to: &bytes) {
                $0.write(to: &$1, indent: inner)
            }
        case .string(let text): bytes.append(json: text, .numeric)
        case .integer(let number): bytes += "\(number)".utf8
        case .number(let number): bytes += "\(number)".utf8
        case .boolean(let flag): bytes += "\(flag)".utf8
        case .null: bytes += "null".utf8
        }
    }

    /// - Parameter breaks: the spaces before the closing bracket, if each element has a line; nil:
    ///   all are on one line.
    private static func write<Element>(
        _ elements: [Element], in brackets: String, separator: String, breaks: String?,
        to bytes: inout [UInt8], each: (Element, inout [UInt8]) -> Void
    ) {
        bytes += brackets.utf8.prefix(1)
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes += separator.utf8 }
            if let breaks { bytes += "\n\(breaks)  ".utf8 }
            each(element, &bytes)
        }
        if let breaks { bytes += "\n\(breaks)".utf8 }
        bytes += brackets.utf8.suffix(1)
    }

    // MARK: - Reading

    /// Parses a text in UTF-8. A number without a fraction and an exponent is an integer, if 64 bits
    /// suffice.
    ///
    /// - Parameter depthMax: how deep arrays and objects may be nested.
    /// - Throws: if it is no JSON, or an object has two members with one name.
    /// - Complexity: O(*n*) in the bytes.
    package init(
        parsing bytes: [UInt8], depthMax: Int = JSONDocument.depthMax
    ) throws(JSONDocument.Fault) {
        self = try JSONDocument(bytes, depthMax: depthMax).value(at: 0)
    }
}

extension JSONDocument {
    /// The value of a node and all that it contains.
    fileprivate func value(at index: Int) throws(Fault) -> JSONValue {
        let node = nodes[index]
        switch node.kind {
        case .object: return .object(try members(of: node, at: index))
        case .array:
            var values: [JSONValue] = []
            var at = index + 1
            while at < Int(node.next) {
                values.append(try value(at: at))
                at = Int(nodes[at].next)
            }
            return .array(values)
        case .text, .escapedText: return .string(try string(node))
        case .number: return try number(node)
        case .yes: return .boolean(true)
        case .no: return .boolean(false)
        case .null: return .null
        }
    }

    private func members(of object: Node, at index: Int) throws(Fault) -> [(String, JSONValue)] {
        var members: [(String, JSONValue)] = []
        var names: Set<String> = []
        var at = index + 1
        while at < Int(object.next) {
            let name = try string(nodes[at])
            guard names.insert(name).inserted else {
                throw fault(nodes[at], "the member '\(name)' appears twice")
            }
            members.append((name, try value(at: at + 1)))
            at = Int(nodes[at + 1].next)
        }
        return members
    }

    private func string(_ node: Node) throws(Fault) -> String {
        guard let text = text(node) else { throw fault(node, "a text is not UTF-8") }
        return text
    }

    private func number(_ node: Node) throws(Fault) -> JSONValue {
        let digits = digits(node)
        if let number = Int64(digits) { return .integer(number) }
        guard let number = Double(digits), number.isFinite else {
            throw fault(node, "not a number of 64 bits")
        }
        return .number(number)
    }

    private func fault(_ node: Node, _ message: String) -> Fault {
        Fault(offset: Int(node.start), message: message)
    }
}
