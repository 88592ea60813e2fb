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
    /// The value that a target has, as it is written in the file; nil if it has none, or none that
    /// can be written there.
    let value: @Sendable (Target) -> JSONValue?
    let read: @Sendable (TomlNode, inout Target) throws(Fault) -> Void
    /// Makes the target what it is without the key; nil if one of its values does that.
    private(set) var remove: (@Sendable (inout Target) -> Void)?
    /// Whether its value is added to the one that is there.
    private(set) var isMerged = false
    /// What is shown of its value in place of it, because it may be a secret, or is long; nil if there is no value.
    private(set) var summary: (@Sendable (Target) -> String?)?

    typealias Path<Value> = any WritableKeyPath<Target, Value> & Sendable

    /// All keys of the target's table.
    static var all: [Self] { Target.keys }

    /// The value that the target has without the key; nil if it has none, or none that can be
    /// written in the file.
    func standard() -> JSONValue? { value(Target()) }

    /// A key with a rule of its own.
    init(
        _ name: String, _ schema: ValueShape, type: String? = nil, limits: String? = nil,
        _ help: String, default isDefault: Bool = true,
        value: @escaping @Sendable (Target) -> JSONValue? = { _ in nil },
        _ read: @escaping @Sendable (TomlNode, inout Target) throws(Fault) -> Void
    ) {
        self.name = name
        self.schema = schema
        self.type = type ?? schema.type
        self.limits = limits ?? schema.limits
        self.help = help
        self.isDefault = isDefault
        self.value = value
        self.read = read
    }

    /// A key whose value is stored as it is read.
    init<Value: Sendable>(
        _ path: Path<Value>, _ name: String,
        _ shape: KeyShape<Value>, _ help: String, default isDefault: Bool = true
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help, default: isDefault,
            value: { shape.write($0[keyPath: path]) }
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
            value: { ($0[keyPath: path] ?? none).flatMap(shape.write) }
        ) { [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path] = try read(node)
        }
        if !shape.schema.hasNone { remove = { $0[keyPath: path] = nil } }
    }

    /// A key whose value is stored with its place.
    init<Value: Sendable>(
        _ path: Path<Marked<Value>?>, _ name: String,
        _ shape: KeyShape<Value>, _ help: String, default isDefault: Bool = true
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help, default: isDefault,
            value: { $0[keyPath: path].flatMap { shape.write($0.value) } }
        ) {
            [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path] = Marked(try read(node), node.mark)
        }
        remove = { $0[keyPath: path] = nil }
    }

    /// A key with a table whose entries are added to those that are there.
    init<Name: Sendable, Value: Sendable>(
        merging path: Path<[Name: Value]>, _ name: String,
        _ shape: KeyShape<[Name: Value]>, _ help: String
    ) {
        self.init(
            name, shape.schema, type: shape.type, limits: shape.limits, help,
            value: { $0[keyPath: path].isEmpty ? .object([]) : shape.write($0[keyPath: path]) }
        ) {
            [read = shape.read] (node, target) throws(Fault) in
            target[keyPath: path].merge(try read(node)) { $1 }
        }
        remove = { $0[keyPath: path] = [:] }
        isMerged = true
    }

    /// The same key, of whose value only this is shown.
    func summarized(_ summary: @escaping @Sendable (Target) -> String?) -> Self {
        var key = self
        key.summary = summary
        return key
    }

    /// The same key, whose value `"none"` makes the target what it is without the key.
    ///
    /// - Parameter isMerged: whether another value is added to the one that is there.
    func removed(
        isMerged: Bool = false, by remove: @escaping @Sendable (inout Target) -> Void
    ) -> Self {
        var key = self
        key.remove = remove
        key.isMerged = isMerged
        return key
    }
}

extension Key where Target == Draft {
    /// The word that removes the default of a key.
    static var none: String { "none" }

    /// Whether `"none"` removes a default of the key.
    var isRemoved: Bool { isDefault && remove != nil }

    /// Reads a value, or the word that removes a default.
    var reader: @Sendable (TomlNode, inout Draft) throws(Fault) -> Void {
        guard isDefault else { return read }
        let (read, remove) = (read, remove)
        return { [self] node, draft throws(Fault) in
            if let remove, case .string(Self.none) = node.value { return remove(&draft) }
            do throws(Fault) { try read(node, &draft) } catch {
                guard node.isLikeNone else { throw error }
                var fault = error
                fault.message += removal
                throw fault
            }
        }
    }

    /// How a default of the key is removed, as the end of a message.
    private var removal: String {
        if remove != nil { return "; \"none\" removes a default" }
        guard let standard = standard()?.text() else { return "" }
        return standard == "[]" ? "; [] removes a default" : "; without a default it is \(standard)"
    }
}

extension TomlEntry {
    /// Whether it removes the default of its key, if that can be removed so.
    var removesDefault: Bool {
        if case .string(JobKey.none) = node.value { true } else { false }
    }
}

extension TomlNode {
    /// Whether it was probably meant to remove a default.
    fileprivate var isLikeNone: Bool {
        switch value {
        case .string(let text): text == JobKey.none
        case .array(let nodes): nodes.isEmpty
        case .table, .integer, .boolean, .float, .dateOrTime: false
        }
    }
}

extension Draft {
    /// Notes that a key has a right value, which replaces a wrong one unless it is added to it.
    mutating func settle(_ entry: TomlEntry) {
        if Self.mergedNames.contains(entry.key) {
            guard entry.removesDefault else { return }
        }
        refused.remove(entry.key)
    }

    static let mergedNames = Set(keys.filter(\.isMerged).map(\.name))
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
