// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerFleet
import TimerJSON

/// The members of an object of etcd's JSON. Unlike in the values of the fleet, members that are not
/// known are ignored: later versions of etcd have more of them. A member with the value 0, false, ""
/// or [] is missing in the text, and 64-bit numbers are texts.
struct ReplyFields {
    /// Why an answer cannot be used: what is wrong with one of its members.
    struct Fault: Error {
        var message: String
    }

    private let members: [String: JSONValue]

    /// How deep etcd's JSON is nested: nine levels in the answer to a transaction within a
    /// transaction.
    private static let depthMax = 16

    /// Parses one answer.
    ///
    /// - Throws: `JSONDocument.Fault` if it is no JSON; `Fault` if it is no object.
    /// - Complexity: O(*n*) in the bytes.
    init(parsing bytes: [UInt8]) throws {
        try self.init(try JSONValue(parsing: bytes, depthMax: Self.depthMax))
    }

    private init(_ json: JSONValue) throws(Fault) {
        guard case .object(let members) = json else { throw Fault(message: "no object") }
        // The parser has refused two members with one name.
        self.members = Dictionary(members) { $1 }
    }

    func has(_ name: String) -> Bool { members[name] != nil }

    func text(_ name: String) throws(Fault) -> String {
        switch members[name] {
        case nil: return ""
        case .string(let text)?: return text
        case _?: throw Fault(message: "'\(name)' is not a text")
        }
    }

    /// A number of 64 bits, which etcd writes as a text; 0 if it is missing.
    func number<Number: FixedWidthInteger>(
        _ name: String, as _: Number.Type = Int64.self
    ) throws(Fault) -> Number {
        let number: Number?
        switch members[name] {
        case nil: number = 0
        case .integer(let value)?: number = Number(exactly: value)
        case .string(let text)?: number = Number(text)
        case _?: number = nil
        }
        guard let number else { throw Fault(message: "'\(name)' is not a number of 64 bits") }
        return number
    }

    func flag(_ name: String) throws(Fault) -> Bool {
        switch members[name] {
        case nil: return false
        case .boolean(let flag)?: return flag
        case _?: throw Fault(message: "'\(name)' is neither true nor false")
        }
    }

    /// The bytes of a text in Base64; none if it is missing.
    func bytes(_ name: String) throws(Fault) -> [UInt8] {
        guard let bytes = Base64.decode(try text(name)) else {
            throw Fault(message: "'\(name)' is not Base64")
        }
        return bytes
    }

    /// An object within this one; an empty one if it is missing.
    func object(_ name: String) throws(Fault) -> ReplyFields {
        try ReplyFields(members[name] ?? .object([]))
    }

    /// The objects of an array; none if it is missing.
    func objects(_ name: String) throws(Fault) -> [ReplyFields] {
        var objects: [ReplyFields] = []
        for value in try array(name) { objects.append(try ReplyFields(value)) }
        return objects
    }

    /// The texts of an array; none if it is missing.
    func texts(_ name: String) throws(Fault) -> [String] {
        var texts: [String] = []
        for value in try array(name) {
            guard case .string(let text) = value else {
                throw Fault(message: "'\(name)' has others")
            }
            texts.append(text)
        }
        return texts
    }

    private func array(_ name: String) throws(Fault) -> [JSONValue] {
        switch members[name] {
        case nil: return []
        case .array(let values)?: return values
        case _?: throw Fault(message: "'\(name)' is not an array")
        }
    }
}
