// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Parses the text of a JSON document from its beginning to its end.
struct JSONReader {
    let bytes: [UInt8]
    /// How deep arrays and objects may be nested.
    let depthMax: Int
    var at = 0
    var nodes: [JSONDocument.Node] = []

    init(bytes: [UInt8], depthMax: Int) {
        self.bytes = bytes
        self.depthMax = depthMax
    }

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
        default: throw fault(at < bytes.count ? "this is not a valid value" : "a value is missing")
        }
    }

    private mutating func begin(
        _ kind: JSONDocument.Kind, depth: Int
    ) throws(JSONDocument.Fault) -> Int {
        guard depth < depthMax else {
            throw fault("more than \(depthMax) nested values")
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
            throw fault("this is not a valid value")
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
