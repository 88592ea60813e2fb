// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// The shape of a key's value, as far as an editor can check it. Every valid value has this shape.
/// Some values with this shape are still refused, with an error.
indirect enum ValueShape: Sendable {
    case text
    /// A text that contains a match of this regular expression of ECMA-262.
    case pattern(String)
    case words([String])
    case boolean
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    /// Bytes: a number, or a text with a unit.
    case size
    /// At least `min` values of one shape.
    case array(ValueShape, min: Int)
    /// A table of values of one shape. If `names` is set, each name matches this regular
    /// expression.
    case table(ValueShape, names: String?)
    /// A table that has some or all of these keys.
    case record([(name: String, shape: ValueShape)])
    case either(ValueShape, ValueShape)

    /// A time span; the pattern demands only a digit, and the reader checks the rest.
    static let span = ValueShape.pattern("[0-9]")
    static let spanOrNone = ValueShape.pattern("[0-9]|^(none|infinity)$")
    static let path = ValueShape.pattern("^/")
    static let url = ValueShape.pattern("^[Hh][Tt][Tt][Pp][Ss]?://")
    static let account = ValueShape.pattern("^[A-Za-z_][A-Za-z0-9_-]{0,30}$")
    /// The name of a table such as `[notify.NAME]`, or of a machine.
    static let name = "^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$"
    static let variable = "^[A-Za-z_][A-Za-z0-9_]*$"
    /// The same for one that begins with `RunVariables.ownPrefix`.
    static let ownVariable = "^RUN_[A-Za-z0-9_]+$"

    /// One value of a shape, or an array of at least `min` such values.
    static func oneOrMore(_ shape: ValueShape, min: Int = 1) -> ValueShape {
        .either(shape, .array(shape, min: min))
    }

    /// The words of an enumeration, which are its raw values.
    static func words<Word: CaseIterable & RawRepresentable>(of _: Word.Type) -> ValueShape
    where Word.RawValue == String {
        .words(Word.allCases.map(\.rawValue))
    }

    /// A table of resource limits, each with the unit that it has.
    static var limits: ValueShape {
        .record(
            Execution.Limit.allCases.map { limit in
                let shape: ValueShape =
                    switch limit {
                    case .cpu: .either(.integer(0...Int64.max), spanOrInfinity)
                    case .nofile, .nproc:
                        .either(.integer(0...Int64(Int32.max)), .words(["infinity"]))
                    case .as, .core, .data, .fsize, .memlock, .rss, .stack: .size
                    }
                return (limit.rawValue, shape)
            })
    }

    private static let spanOrInfinity = ValueShape.pattern("[0-9]|^infinity$")

    /// Whether `"none"` is a value of its own.
    var hasNone: Bool { if case .words(let words) = self { words.contains("none") } else { false } }

    /// What the manual calls the type.
    var type: String {
        switch self {
        case .text, .pattern: "STRING"
        case .words: "WORD"
        case .boolean: "BOOLEAN"
        case .integer, .number: "NUMBER"
        case .size: "SIZE"
        case .array(let shape, _): "[\(shape.type), ...]"
        case .table, .record: "TABLE"
        case .either(let first, _): "\(first.type) or array"
        }
    }

    /// The limits of a value in the manual; nil if it has none.
    var limits: String? {
        switch self {
        case .integer(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .number(let range): "\(Int(range.lowerBound)) to \(Int(range.upperBound))"
        case .words(let words): words.joined(separator: ", ")
        case .either(let first, _): first.limits
        case .text, .pattern, .boolean, .size, .array, .table, .record: nil
        }
    }

    /// The members of a JSON Schema that accepts this shape.
    var schema: [(String, JSONValue)] {
        switch self {
        case .text: [("type", .string("string"))]
        case .pattern(let pattern):
            [("type", .string("string")), ("pattern", .string(pattern))]
        case .words(let words): [("enum", .array(words.map { .string($0) }))]
        case .boolean: [("type", .string("boolean"))]
        case .integer(let range):
            [("type", .string("integer")), ("minimum", .integer(range.lowerBound))]
                + (range.upperBound == .max ? [] : [("maximum", .integer(range.upperBound))])
        case .number(let range):
            [
                ("type", .string("number")), ("minimum", .number(range.lowerBound)),
                ("maximum", .number(range.upperBound)),
            ]
        case .size:
            Self.either(
                .integer(0...Int64.max), .pattern("^([0-9]+([KMGT](iB)?|B)?|infinity)$")
            ).schema
        case .array(let shape, let min):
            [("type", .string("array")), ("items", .object(shape.schema))]
                + (min > 0 ? [("minItems", .integer(Int64(min)))] : [])
        case .table(let shape, let names):
            [("type", .string("object")), ("additionalProperties", .object(shape.schema))]
                + (names.map { [("propertyNames", .object([("pattern", .string($0))]))] } ?? [])
        case .record(let keys):
            [
                ("type", .string("object")), ("additionalProperties", .boolean(false)),
                ("properties", .object(keys.map { ($0.name, .object($0.shape.schema)) })),
            ]
        case .either(let first, let second):
            [("anyOf", .array([.object(first.schema), .object(second.schema)]))]
        }
    }
}
