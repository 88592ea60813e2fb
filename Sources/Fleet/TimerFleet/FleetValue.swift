// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
public import TimerJSON

/// A value of the fleet's store. Its text form is strict: a member that is unknown, missing or of
/// another type is an error, because a version that ignores what it does not understand could start
/// what another machine has paused.
public protocol FleetValue: Hashable, Sendable {
    /// Reads the members.
    init(reading fields: inout FleetFields) throws(FleetFault)

    /// The members to write. A member that is nil is not written.
    var members: [String: JSONValue?] { get }
}

extension FleetValue {
    /// Parses the text that `text` produces, with any spaces between its parts.
    ///
    /// - Throws: `FleetFault`.
    /// - Complexity: O(*n*) in the bytes.
    public init(text: String) throws(FleetFault) {
        guard text.utf8.count <= FleetFields.bytesMax else {
            throw FleetFault("the value has more than \(FleetFields.bytesMax) bytes")
        }
        let json: JSONValue
        do throws(JSONDocument.Fault) {
            json = try JSONValue(parsing: Array(text.utf8), depthMax: FleetFields.depthMax)
        } catch { throw FleetFault(error.description) }
        try self.init(json: json)
    }

    init(json: JSONValue) throws(FleetFault) {
        var fields = try FleetFields(json)
        try self.init(reading: &fields)
        try fields.finish()
    }

    var json: JSONValue { .object(sorted: members.compactMapValues { $0 }) }

    /// The text of the value, the same for equal values.
    public var text: String { json.line }

    /// The number of a format. The first one is not written.
    static func json(_ format: Int64) -> JSONValue? {
        format == FleetFormat.first.rawValue ? nil : .integer(format)
    }
}

/// The members of an object that were not yet read.
public struct FleetFields {
    /// The longest text that is read, in bytes. The store accepts at most 1.5 MiB in a request.
    static let bytesMax = 1 << 20
    /// How deep arrays and objects may be nested.
    static let depthMax = 8

    private var members: [String: JSONValue]

    init(_ json: JSONValue) throws(FleetFault) {
        guard case .object(let members) = json else { throw FleetFault("must be an object") }
        // The parser has refused two members with one name.
        self.members = Dictionary(members) { $1 }
    }

    /// - Throws: if a member was not read: it is not known.
    func finish() throws(FleetFault) {
        if let name = members.keys.sorted().first {
            throw FleetFault("unknown member '\(name)'")
        }
    }

    /// Takes the members that were not read: they are of a format that is not known.
    mutating func ignoreRest() { members = [:] }

    /// The number of a format, that of the first one if there is none.
    mutating func format() throws(FleetFault) -> Int64 {
        has("format")
            ? max(FleetFormat.first.rawValue, try count("format")) : FleetFormat.first.rawValue
    }

    /// Takes a member, which must exist.
    mutating func take(_ name: String) throws(FleetFault) -> JSONValue {
        guard let value = members.removeValue(forKey: name) else {
            throw FleetFault("the member '\(name)' is missing")
        }
        return value
    }

    func has(_ name: String) -> Bool { members[name] != nil }

    mutating func text(_ name: String) throws(FleetFault) -> String {
        guard case .string(let text) = try take(name) else {
            throw FleetFault("'\(name)' must be a text")
        }
        return text
    }

    mutating func optionalText(_ name: String) throws(FleetFault) -> String? {
        has(name) ? try text(name) : nil
    }

    mutating func number(
        _ name: String, from least: Int64 = .min
    ) throws(FleetFault) -> Int64 {
        guard case .integer(let number) = try take(name), number >= least else {
            let limit = least == .min ? "" : " of at least \(least)"
            throw FleetFault("'\(name)' must be a whole number\(limit)")
        }
        return number
    }

    mutating func optionalNumber(_ name: String) throws(FleetFault) -> Int64? {
        has(name) ? try number(name) : nil
    }

    mutating func flag(_ name: String) throws(FleetFault) -> Bool {
        guard case .boolean(let flag) = try take(name) else {
            throw FleetFault("'\(name)' must be true or false")
        }
        return flag
    }

    mutating func array(_ name: String) throws(FleetFault) -> [JSONValue] {
        guard case .array(let values) = try take(name) else {
            throw FleetFault("'\(name)' must be an array")
        }
        return values
    }

    mutating func object(_ name: String) throws(FleetFault) -> [(String, JSONValue)] {
        guard case .object(let members) = try take(name) else {
            throw FleetFault("'\(name)' must be an object")
        }
        return members
    }

    /// A text with a form of its own.
    mutating func parsed<Value>(
        _ name: String, _ parse: (String) -> Value?
    ) throws(FleetFault) -> Value {
        let text = try text(name)
        guard let value = parse(text) else {
            throw FleetFault("'\(name)' has the invalid value '\(text)'")
        }
        return value
    }

    mutating func wall(_ name: String) throws(FleetFault) -> WallInstant {
        WallInstant(microsecondsSinceEpoch: try number(name))
    }

    mutating func optionalWall(_ name: String) throws(FleetFault) -> WallInstant? {
        has(name) ? try wall(name) : nil
    }

    /// A number that is counted up: not negative, and so small that it cannot overflow.
    mutating func count(_ name: String) throws(FleetFault) -> Int64 {
        let count = try number(name, from: 0)
        guard count < 1 << 53 else { throw FleetFault("'\(name)' must be less than 2^53") }
        return count
    }

    /// A span in nanoseconds, not negative.
    mutating func span(_ name: String) throws(FleetFault) -> Duration {
        .nanoseconds(try number(name, from: 0))
    }
}

extension WallInstant {
    /// Microseconds since 1970, as the members `*_us`.
    var json: JSONValue { .integer(microsecondsSinceEpoch) }
}

extension Duration {
    /// Nanoseconds, as the members `*_ns`.
    var json: JSONValue { .integer(wholeNanoseconds) }
}
