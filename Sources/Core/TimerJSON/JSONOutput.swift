// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// JSON that is being written. Used by one thread.
final class JSONOutput {
    private var text = JSONText()

    /// What was written so far; incomplete while anything is open.
    var bytes: [UInt8] { text.bytes }

    /// Starts an object and returns its depth, which its members must be given.
    func openObject() -> Int { text.open("{", "}") }

    /// Starts an array and returns its depth, which its elements must be given.
    func openArray() -> Int { text.open("[", "]") }

    /// Starts an element of the array at this depth.
    func beginElement(at depth: Int) { text.beginElement(at: depth) }

    /// Starts a member of the object at this depth; its value must follow.
    func beginMember(_ name: String, at depth: Int) { text.beginMember(name, at: depth) }

    /// Writes any value. A value that encodes nothing becomes an empty object.
    func write<Value: Encodable>(_ value: Value) throws {
        // Tests by the type cost nothing where the compiler knows it.
        if Value.self == String.self, let string = value as? String { return text.write(string) }
        if Value.self == Int64.self, let number = value as? Int64 { return text.write(number) }
        if Value.self == Int.self, let number = value as? Int { return text.write(number) }
        if Value.self == Bool.self, let flag = value as? Bool {
            return text.write(word: flag ? "true" : "false")
        }
        if Value.self == Double.self, let number = value as? Double { return try write(number) }
        if Value.self == Float.self, let number = value as? Float {
            return try write(Double(number))
        }
        if Value.self is any FixedWidthInteger.Type, let number = value as? any FixedWidthInteger {
            return text.write(number)
        }
        let (depth, before) = (text.depth, text.bytes.count)
        try value.encode(to: JSONEncoding(output: self))
        if text.bytes.count == before { _ = openObject() }
        text.close(to: depth)
    }

    func writeNull() { text.write(word: "null") }

    private func write(_ number: Double) throws {
        guard number.isFinite else {
            throw EncodingError.invalidValue(
                number,
                EncodingError.Context(
                    codingPath: [], debugDescription: "JSON cannot represent \(number)"))
        }
        let digits = number.description
        text.write(word: digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits)
    }
}

/// The encoder of one value, which is written where the output is now.
struct JSONEncoding: Encoder, SingleValueEncodingContainer {
    let output: JSONOutput

    // No error here names a place, so there is nothing to collect.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(JSONMembers(output: output, depth: output.openObject()))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONElements(output: output, depth: output.openArray())
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { output.writeNull() }

    func encode<Value: Encodable>(_ value: Value) throws { try output.write(value) }
}

/// The members of an open object.
private struct JSONMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let output: JSONOutput
    let depth: Int

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) {
        output.beginMember(key.stringValue, at: depth)
        output.writeNull()
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        output.beginMember(key.stringValue, at: depth)
        try output.write(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        nested(key.stringValue).container(keyedBy: Nested.self)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nested(key.stringValue).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { nested("super") }

    func superEncoder(forKey key: Key) -> any Encoder { nested(key.stringValue) }

    private func nested(_ name: String) -> JSONEncoding {
        output.beginMember(name, at: depth)
        return JSONEncoding(output: output)
    }
}

/// The elements of an open array.
private struct JSONElements: UnkeyedEncodingContainer {
    let output: JSONOutput
    let depth: Int
    private(set) var count = 0

    init(output: JSONOutput, depth: Int) {
        self.output = output
        self.depth = depth
    }

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() { next().encodeNil() }

    mutating func encode<Value: Encodable>(_ value: Value) throws { try next().encode(value) }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        next().container(keyedBy: Nested.self)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        next().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { next() }

    private mutating func next() -> JSONEncoding {
        output.beginElement(at: depth)
        count += 1
        return JSONEncoding(output: output)
    }
}
