// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// The members that the `init(from:)` of a type decodes.
struct Members {
    private(set) var kinds: [String: String] = [:]
    private(set) var required: Set<String> = []
    /// The types of the members, without the lists that they are in.
    private(set) var types: [String: any Decodable.Type] = [:]

    /// - Parameter name: the name of a type that is an object.
    init(of type: any Decodable.Type, name: @escaping (any Decodable.Type) -> String?) throws {
        let asked = Asked(name)
        _ = try type.init(from: asked)
        (kinds, required, types) = (asked.kinds, asked.required, asked.types)
    }

    /// The name of a property in the API.
    static func name(_ property: String) -> String {
        property.reduce(into: "") { text, character in
            text += character.isUppercase ? "_\(character.lowercased())" : "\(character)"
        }
    }

    private final class Asked: Decoder {
        var kinds: [String: String] = [:]
        var required: Set<String> = []
        var types: [String: any Decodable.Type] = [:]
        let name: (any Decodable.Type) -> String?

        init(_ name: @escaping (any Decodable.Type) -> String?) { self.name = name }

        var codingPath: [any CodingKey] { [] }
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedDecodingContainer<Key> {
            KeyedDecodingContainer(Container(asked: self))
        }
        func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Refusal() }
        func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Refusal() }

        func kind(of type: any Decodable.Type) -> String {
            switch type {
            case is String.Type: "string"
            case is any FixedWidthInteger.Type: "integer"
            case is Bool.Type: "boolean"
            case is [String: String].Type: "object"
            case let list as any ListType.Type: "[\(kind(of: list.element))]"
            default: name(type) ?? "\(type)"
            }
        }

        func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let simple: Any? =
                switch type {
                case is String.Type: ""
                case let number as any FixedWidthInteger.Type: number.init(0)
                case is Bool.Type: false
                case let list as any ListType.Type: list.empty
                default: nil
                }
            return try simple as? Value ?? Value(from: Asked(name))
        }
    }

    private struct Refusal: Error {}

    private struct Container<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let asked: Asked
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        /// Returns the name in the API.
        private func note(_ key: Key, _ type: any Decodable.Type) -> String {
            let name = Members.name(key.stringValue)
            asked.kinds[name] = asked.kind(of: type)
            asked.types[name] = (type as? any ListType.Type)?.element ?? type
            return name
        }

        func contains(_: Key) -> Bool { true }
        func decodeNil(forKey _: Key) throws -> Bool { true }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            asked.required.insert(note(key, type))
            return try asked.value(type)
        }
        func decodeIfPresent<Value: Decodable>(
            _ type: Value.Type, forKey key: Key
        ) throws -> Value? {
            _ = note(key, type)
            return nil
        }
        // Without these methods, an optional member of a simple type would be decoded as a required
        // one.
        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { skip(type, key) }
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { skip(type, key) }
        func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
            skip(type, key)
        }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
            skip(type, key)
        }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
            skip(type, key)
        }
        private func skip<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
            _ = note(key, type)
            return nil
        }
        func nestedContainer<Nested: CodingKey>(
            keyedBy _: Nested.Type, forKey _: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw Refusal() }
        func nestedUnkeyedContainer(forKey _: Key) throws -> any UnkeyedDecodingContainer {
            throw Refusal()
        }
        func superDecoder() throws -> any Decoder { throw Refusal() }
        func superDecoder(forKey _: Key) throws -> any Decoder { throw Refusal() }
    }
}

/// An array with elements of any type.
protocol ListType {
    static var element: any Decodable.Type { get }
    static var empty: Any { get }
}

extension Array: ListType where Element: Decodable {
    static var element: any Decodable.Type { Element.self }
    static var empty: Any { [Element]() }
}
