// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A parsed JSON text (RFC 8259). Its nodes are in the order of the text: an array or an object
/// comes before its contents, and the name of a member before its value. Strings and numbers stay
/// bytes until they are read.
package final class JSONDocument: Sendable {
    /// How deep arrays and objects may be nested.
    package static let depthMax = 128

    enum Kind: UInt8 {
        case object, array, text, escapedText, number, yes, no, null
    }

    struct Node {
        var kind: Kind
        /// Where its text starts in the bytes, and where it ends, without quotation marks.
        var start: UInt32
        var end: UInt32
        /// The index of the node after this one and all it contains.
        var next: UInt32
    }

    /// Why a text is not JSON, and where: in bytes from the start.
    package struct Fault: Error, CustomStringConvertible {
        var offset: Int
        var message: String

        package var description: String { "at byte \(offset): \(message)" }
    }

    let bytes: [UInt8]
    let nodes: [Node]

    /// Parses a text.
    ///
    /// - Throws: if it is no JSON, or nested deeper than this. Whether its strings are UTF-8 is
    ///   checked when they are read.
    /// - Complexity: O(*n*) in the bytes.
    package init(_ bytes: [UInt8], depthMax: Int = depthMax) throws(Fault) {
        self.bytes = bytes
        guard bytes.count < Int(UInt32.max) else {
            throw Fault(offset: bytes.count, message: "too long")
        }
        var reader = JSONReader(bytes: bytes, depthMax: depthMax)
        try reader.readValue(depth: 0)
        reader.skipSpace()
        guard reader.at == bytes.count else {
            throw reader.fault("unexpected text after the value")
        }
        nodes = reader.nodes
    }

    /// The value of the whole document.
    ///
    /// - Throws: `DecodingError` if it is not such a value.
    package func decode<Value: Decodable>(_: Value.Type) throws -> Value {
        try JSONDecoding(document: self, node: 0).value(Value.self)
    }

    /// The value of a name or a string; nil if it is not UTF-8 or has half of a surrogate pair.
    func text(_ node: Node) -> String? {
        let raw = bytes[Int(node.start)..<Int(node.end)]
        guard node.kind == .escapedText else { return String(validating: raw, as: UTF8.self) }
        return Self.unescaped(raw).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The text of a number.
    func digits(_ node: Node) -> String {
        String(decoding: bytes[Int(node.start)..<Int(node.end)], as: UTF8.self)
    }

    /// The names of the object's members, in the order of the text; nil if the value is no object.
    /// A name that is not valid UTF-8 is an empty one.
    /// - Complexity: O(*n*) in the members.
    package var memberNames: [String]? {
        guard let object = nodes.first, object.kind == .object else { return nil }
        var names: [String] = []
        var at = 1
        while at < Int(object.next) {
            names.append(text(nodes[at]) ?? "")
            at = Int(nodes[at + 1].next)
        }
        return names
    }

    /// The first member of the object whose value is null; nil if there is none.
    /// - Complexity: O(*n*) in the members.
    package var nullMember: String? {
        guard let object = nodes.first, object.kind == .object else { return nil }
        var at = 1
        while at < Int(object.next) {
            if nodes[at + 1].kind == .null { return text(nodes[at]) ?? "" }
            at = Int(nodes[at + 1].next)
        }
        return nil
    }

    /// Whether the name of a member is the API's name of this property.
    func isName(_ node: Node, of property: String) -> Bool {
        guard node.kind == .text else {
            return text(node).map { Self.matches(Array($0.utf8)[...], property) } ?? false
        }
        return Self.matches(bytes[Int(node.start)..<Int(node.end)], property)
    }

    private static func matches(_ name: ArraySlice<UInt8>, _ property: String) -> Bool {
        var at = name.startIndex
        for byte in property.utf8 {
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            if isCapital {
                guard at < name.endIndex, name[at] == UInt8(ascii: "_") else { return false }
                at += 1
            }
            guard at < name.endIndex, name[at] == (isCapital ? byte | 0x20 : byte) else {
                return false
            }
            at += 1
        }
        return at == name.endIndex
    }

    /// The parser has checked already that each backslash starts a valid escape.
    private static func unescaped(_ raw: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let word = rest.popFirst() else {
                result.append(byte)
                continue
            }
            switch word {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0c)
            case UInt8(ascii: "n"): result.append(0x0a)
            case UInt8(ascii: "r"): result.append(0x0d)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = unicodeScalar(&rest) else { return nil }
                result += UTF8.encode(scalar).map { Array($0) } ?? []
            default: result.append(word)
            }
        }
        return result
    }

    private static func unicodeScalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        func unit() -> UInt32? {
            guard let digits = String(validating: rest.prefix(4), as: UTF8.self) else { return nil }
            rest = rest.dropFirst(4)
            return UInt32(digits, radix: 16)
        }
        guard let first = unit() else { return nil }
        guard (0xd800..<0xdc00).contains(first) else { return Unicode.Scalar(first) }
        guard rest.starts(with: "\\u".utf8) else { return nil }
        rest = rest.dropFirst(2)
        guard let second = unit(), (0xdc00..<0xe000).contains(second) else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    }
}
