// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The decoder of one node of a document.
struct JSONDecoding: Decoder, SingleValueDecodingContainer {
    let document: JSONDocument
    /// Its index in the nodes of the document.
    let node: Int

    // Errors name the place in the text. A path would cost an array for each value.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    private var found: JSONDocument.Node { document.nodes[node] }

    func container<Key: CodingKey>(
        keyedBy _: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard found.kind == .object else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(JSONObject(within: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard found.kind == .array else { throw mismatch([Any].self) }
        return JSONArray(within: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { found.kind == .null }

    func decode<Value: Decodable>(_: Value.Type) throws -> Value { try value(Value.self) }

    /// The value as this type. Common types are read directly, which is faster than asking each for
    /// its decoder.
    func value<Value: Decodable>(_: Value.Type) throws -> Value {
        if Value.self == String.self { return try cast(text()) }
        if Value.self == Bool.self { return try cast(flag()) }
        if Value.self == Int64.self { return try cast(integer(Int64.self)) }
        if Value.self == Int.self { return try cast(integer(Int.self)) }
        if Value.self == Double.self { return try cast(decimal()) }
        if Value.self == Float.self { return try cast(Float(decimal())) }
        if let kind = Value.self as? any FixedWidthInteger.Type { return try cast(integer(kind)) }
        return try Value(from: self)
    }

    /// A cast to a type that it already has, for the compiler.
    private func cast<Value>(_ value: Any) throws -> Value {
        guard let value = value as? Value else { throw mismatch(Value.self) }
        return value
    }

    private func text() throws -> String {
        guard found.kind == .text || found.kind == .escapedText else {
            throw mismatch(String.self)
        }
        guard let text = document.text(found) else { throw corrupted("no UTF-8") }
        return text
    }

    private func flag() throws -> Bool {
        switch found.kind {
        case .yes: return true
        case .no: return false
        case .object, .array, .text, .escapedText, .number, .null: throw mismatch(Bool.self)
        }
    }

    /// A whole number in any notation: 60, 6e1.
    private func integer<Value: FixedWidthInteger>(_: Value.Type) throws -> Value {
        guard found.kind == .number else { throw mismatch(Value.self) }
        let text = document.digits(found)
        // Parsing each type of integer by itself would make each program 16 kB larger.
        let exact: Value? =
            if let number = Int64(text) {
                Value(exactly: number)
            } else if let number = UInt64(text) {
                Value(exactly: number)
            } else {
                Double(text).flatMap { Value(exactly: $0) }
            }
        guard let number = exact else {
            throw corrupted("\(text) is not a valid \(Value.self)")
        }
        return number
    }

    private func decimal() throws -> Double {
        guard found.kind == .number else { throw mismatch(Double.self) }
        guard let number = Double(document.digits(found)), number.isFinite else {
            throw corrupted("not a number of 64 bits")
        }
        return number
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, context("has another type"))
    }

    private func corrupted(_ message: String) -> DecodingError { .dataCorrupted(context(message)) }

    fileprivate func context(_ message: String) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: [], debugDescription: "the value at byte \(found.start): \(message)")
    }

    fileprivate func within(_ node: Int) -> JSONDecoding {
        JSONDecoding(document: document, node: node)
    }
}

/// The members of an object. If two have the same name, the first counts.
private struct JSONObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoding: JSONDecoding

    init(within decoding: JSONDecoding) { self.decoding = decoding }

    var codingPath: [any CodingKey] { [] }

    var allKeys: [Key] {
        names.compactMap { name in
            decoding.document.text(decoding.document.nodes[name]).flatMap { Key(stringValue: $0) }
        }
    }

    /// The nodes that are names of members; the node behind each is its value.
    private var names: some Sequence<Int> {
        let nodes = decoding.document.nodes
        let end = Int(nodes[decoding.node].next)
        return sequence(first: decoding.node + 1) { Int(nodes[$0 + 1].next) }
            .prefix { $0 < end }
    }

    /// The value with this name; nil if there is none.
    private func node(_ key: some CodingKey) -> Int? {
        let document = decoding.document
        let name = key.stringValue
        let end = Int(document.nodes[decoding.node].next)
        var at = decoding.node + 1
        while at < end {
            if document.isName(document.nodes[at], of: name) { return at + 1 }
            at = Int(document.nodes[at + 1].next)
        }
        return nil
    }

    private func member(_ key: some CodingKey) throws -> JSONDecoding {
        guard let node = node(key) else {
            throw DecodingError.keyNotFound(key, decoding.context("has no \(key.stringValue)"))
        }
        return decoding.within(node)
    }

    func contains(_ key: Key) -> Bool { node(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

    func decode<Value: Decodable>(_: Value.Type, forKey key: Key) throws -> Value {
        try member(key).value(Value.self)
    }

    func decodeIfPresent<Value: Decodable>(_: Value.Type, forKey key: Key) throws -> Value? {
        guard let node = node(key), decoding.document.nodes[node].kind != .null else { return nil }
        return try decoding.within(node).value(Value.self)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try member(SuperKey.super) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

    private enum SuperKey: String, CodingKey { case `super` }
}

/// The elements of an array, which are read in order.
private struct JSONArray: UnkeyedDecodingContainer {
    private let decoding: JSONDecoding
    private let end: Int
    private var node: Int
    let count: Int?
    private(set) var currentIndex = 0

    init(within decoding: JSONDecoding) {
        self.decoding = decoding
        node = decoding.node + 1
        let nodes = decoding.document.nodes
        let end = Int(nodes[decoding.node].next)
        var (at, count) = (node, 0)
        while at < end {
            at = Int(nodes[at].next)
            count += 1
        }
        self.end = end
        self.count = count
    }

    var codingPath: [any CodingKey] { [] }

    var isAtEnd: Bool { node >= end }

    private mutating func next<Value>(
        _ type: Value.Type, _ read: (JSONDecoding) throws -> Value
    ) throws -> Value {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(type, decoding.context("ends"))
        }
        let value = try read(decoding.within(node))
        node = Int(decoding.document.nodes[node].next)
        currentIndex += 1
        return value
    }

    mutating func decodeNil() -> Bool {
        guard !isAtEnd, decoding.document.nodes[node].kind == .null else { return false }
        node += 1
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_: Value.Type) throws -> Value {
        try next(Value.self) { try $0.value(Value.self) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next(KeyedDecodingContainer<Nested>.self) { try $0.container(keyedBy: Nested.self) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next((any Decoder).self) { $0 } }
}
