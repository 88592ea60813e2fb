// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A parsed JSON text (RFC 8259). Its nodes are in the order of the text: an array or an object
/// comes before its contents, and the name of a member before its value. Strings and numbers stay
/// bytes until they are read.
final class JSONDocument: Sendable {
    /// How deep arrays and objects may be nested.
    static let depthMax = 128

    enum Kind: UInt8 {
        case object, array, text, escapedText, number, yes, no, null
    }

    struct Node {
        var kind: Kind
        /// Its text, without quotation marks.
        var start: UInt32
        var end: UInt32
        /// The index of the node after this one and all it contains.
        var next: UInt32
    }

    /// Why a text is not JSON.
    struct Fault: Error, CustomStringConvertible {
        var offset: Int
        var message: String

        var description: String { "at byte \(offset): \(message)" }
    }

    let bytes: [UInt8]
    let nodes: [Node]

    /// - Complexity: O(*n*) in the bytes.
    init(_ bytes: [UInt8]) throws(Fault) {
        self.bytes = bytes
        guard bytes.count < Int(UInt32.max) else {
            throw Fault(offset: bytes.count, message: "too long")
        }
        var reader = Reader(bytes: bytes)
        try reader.readValue(depth: 0)
        reader.skipSpace()
        guard reader.at == bytes.count else { throw reader.fault("something follows the value") }
        nodes = reader.nodes
    }

    /// The value of a name or a string; nil if it is not UTF-8 or has half of a surrogate pair.
    func text(_ node: Node) -> String? {
        let raw = bytes[Int(node.start)..<Int(node.end)]
        guard node.kind == .escapedText else { return String(validating: raw, as: UTF8.self) }
        return Self.unescaped(raw).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The names of the object's members, in the order of the text; nil if the value is no object.
    /// A name that is not valid UTF-8 is an empty one.
    /// - Complexity: O(*n*) in the members.
    var memberNames: [String]? {
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
    var nullMember: String? {
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

/// Parses a text from its beginning to its end.
private struct Reader {
    let bytes: [UInt8]
    var at = 0
    var nodes: [JSONDocument.Node] = []

    init(bytes: [UInt8]) { self.bytes = bytes }

    func fault(_ message: String) -> JSONDocument.Fault {
        JSONDocument.Fault(offset: at, message: message)
    }

    /// The next byte; after the end zero, which JSON cannot contain.
    private var byte: UInt8 { at < bytes.count ? bytes[at] : 0 }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: scalar) else { return false }
        at += 1
        return true
    }

    mutating func skipSpace() {
        while byte == 0x20 || (0x09...0x0d).contains(byte), byte != 0x0b, byte != 0x0c { at += 1 }
    }

    mutating func readValue(depth: Int) throws(JSONDocument.Fault) {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): try readObject(depth: depth)
        case UInt8(ascii: "["): try readArray(depth: depth)
        case UInt8(ascii: "\""): try readText()
        case UInt8(ascii: "t"): try readWord("true", .yes)
        case UInt8(ascii: "f"): try readWord("false", .no)
        case UInt8(ascii: "n"): try readWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber()
        default: throw fault(at < bytes.count ? "no value begins like this" : "a value is missing")
        }
    }

    private mutating func begin(
        _ kind: JSONDocument.Kind, depth: Int
    ) throws(JSONDocument.Fault) -> Int {
        guard depth < JSONDocument.depthMax else {
            throw fault("more than \(JSONDocument.depthMax) values within each other")
        }
        nodes.append(JSONDocument.Node(kind: kind, start: UInt32(at), end: 0, next: 0))
        at += 1
        skipSpace()
        return nodes.count - 1
    }

    private mutating func end(_ node: Int) {
        nodes[node].end = UInt32(at)
        nodes[node].next = UInt32(nodes.count)
    }

    private mutating func readObject(depth: Int) throws(JSONDocument.Fault) {
        let node = try begin(.object, depth: depth)
        if !take("}") {
            repeat {
                skipSpace()
                guard byte == UInt8(ascii: "\"") else { throw fault("a name is missing") }
                try readText()
                skipSpace()
                guard take(":") else { throw fault("a colon is missing") }
                try readValue(depth: depth + 1)
                skipSpace()
            } while take(",")
            guard take("}") else { throw fault("a comma or } is missing") }
        }
        end(node)
    }

    private mutating func readArray(depth: Int) throws(JSONDocument.Fault) {
        let node = try begin(.array, depth: depth)
        if !take("]") {
            repeat {
                try readValue(depth: depth + 1)
                skipSpace()
            } while take(",")
            guard take("]") else { throw fault("a comma or ] is missing") }
        }
        end(node)
    }

    private mutating func add(_ kind: JSONDocument.Kind, from start: Int, to end: Int) {
        nodes.append(
            JSONDocument.Node(
                kind: kind, start: UInt32(start), end: UInt32(end), next: UInt32(nodes.count + 1)))
    }

    private mutating func readText() throws(JSONDocument.Fault) {
        at += 1
        let start = at
        var kind = JSONDocument.Kind.text
        while byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else {
                throw fault(at < bytes.count ? "a control character in a text" : "a text ends")
            }
            if byte == UInt8(ascii: "\\") {
                kind = .escapedText
                try readEscape()
            } else {
                at += 1
            }
        }
        add(kind, from: start, to: at)
        at += 1
    }

    private mutating func readEscape() throws(JSONDocument.Fault) {
        at += 1
        guard byte != UInt8(ascii: "u") else {
            at += 1
            for _ in 0..<4 {
                guard Self.isHexadecimal(byte) else { throw fault("a digit of \\u is missing") }
                at += 1
            }
            return
        }
        guard #""\/bfnrt"#.utf8.contains(byte) else { throw fault("no such escape") }
        at += 1
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private mutating func readWord(
        _ word: String, _ kind: JSONDocument.Kind
    ) throws(JSONDocument.Fault) {
        guard bytes[at...].starts(with: word.utf8) else {
            throw fault("no value begins like this")
        }
        add(kind, from: at, to: at + word.utf8.count)
        at += word.utf8.count
    }

    private mutating func readNumber() throws(JSONDocument.Fault) {
        let start = at
        _ = take("-")
        if !take("0") { try readDigits() }
        if take(".") { try readDigits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try readDigits()
        }
        add(.number, from: start, to: at)
    }

    private mutating func readDigits() throws(JSONDocument.Fault) {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
            throw fault("a digit is missing")
        }
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { at += 1 }
    }
}
