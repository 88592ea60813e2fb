// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// What the keys of a table are read into. A new value has the defaults of all keys.
protocol KeyTarget: Sendable {
    static var keys: [Key<Self>] { get }
    init()
}

typealias JobKey = Key<Draft>
typealias DaemonKey = Key<DaemonSettings>
typealias NotifierKey = Key<NotifierDraft>

/// One key of a table, declared once: from the declarations come the reader, the JSON Schema, the
/// tables of the manual and the list in config/timerd.toml.
struct Key<Target: KeyTarget>: Sendable {
    let name: String
    let schema: ValueShape
    /// The type of the values, and their limits, in the manual.
    let type: String
    let limits: String?
    /// What the key means, in a sentence.
    let help: String
    /// Whether `[defaults]` may have it, if it is one of jobs.
    let isDefault: Bool
    /// The value that the target has without the key; nil if it has none, or none that can be
    /// written in the file.
    let standard: @Sendable () -> JSONValue?
    let read: @Sendable (TomlNode, inout Target) throws(Fault) -> Void

    typealias Path<Value> = any WritableKeyPath<Target, Value> & Sendable

    /// All keys of the target's table.
    static var all: [Self] { Target.keys }

    /// A key with a rule of its own.
    init(
        _ name: String, _ schema: ValueShape, type: String? = nil, limits: String? = nil,
        _ help: String, default isDefault: Bool = true,
        standard: @escaping @Sendable () -> JSONValue? = { nil },
        _ read: @escaping @Sendable (TomlNode, inout Target) throws(Fault) -> Void
    ) {
        self.name = name
        self.schema = schema
        self.type = type ?? schema.type
        self.limits = limits ?? schema.limits
        self.help = help
        self.isDefault = isDefault
        self.standard = standard
        self.read = read
    }

    /// A key whose value is stored as it is read.
    init<Value: Sendable>(
        _ path: Path<Value>, _ name: String,
        _ shape: KeyShape<Value>, _ help: String, default isDefault: Bool = true
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help, default: isDefault,
            standard: { shape.write(Target()[keyPath: path]) }
        ) { [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path] = try read(node)
        }
    }

    /// A key for which a value is optional.
    ///
    /// - Parameter none: what its absence means, if that is a value.
    init<Value: Sendable>(
        _ path: Path<Value?>, _ name: String,
        _ shape: KeyShape<Value>, _ help: String, none: Value? = nil, default isDefault: Bool = true
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help, default: isDefault,
            standard: { (Target()[keyPath: path] ?? none).flatMap(shape.write) }
        ) { [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path] = try read(node)
        }
    }

    /// A key whose value is stored with its place.
    init<Value: Sendable>(
        _ path: Path<Marked<Value>?>, _ name: String,
        _ shape: KeyShape<Value>, _ help: String, default isDefault: Bool = true
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help, default: isDefault
        ) {
            [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path] = Marked(try read(node), node.mark)
        }
    }

    /// A key with a table whose entries are added to those that are there.
    init<Name: Sendable, Value: Sendable>(
        merging path: Path<[Name: Value]>, _ name: String,
        _ shape: KeyShape<[Name: Value]>, _ help: String
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help,
            standard: { .object([]) }
        ) {
            [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path].merge(try read(node)) { $1 }
        }
    }
}

/// A value and the place where it is written.
struct Marked<Value: Sendable>: Sendable {
    var value: Value
    var mark: SourceMark

    init(_ value: Value, _ mark: SourceMark) {
        self.value = value
        self.mark = mark
    }
}
