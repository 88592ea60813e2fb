// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

/// The values that a key can have: how one is read, what an editor can check of it, and how its
/// type and its limits are called in the manual.
struct KeyShape<Value: Sendable>: Sendable {
    /// What an editor can check of a value.
    let schema: ValueShape
    /// What the manual calls the type, such as `SPAN`.
    let type: String
    /// What the manual says of the limits, such as `at least 1s`; nil: there are none, or `schema`
    /// has them.
    private(set) var limits: String?
    private(set) var read: @Sendable (TomlNode) throws(Fault) -> Value
    /// A value as in the file; nil if it cannot be written there.
    let write: @Sendable (Value) -> JSONValue?

    /// - Parameters:
    ///   - type: by default the one of the schema.
    ///   - write: by default no value can be written, and so there is no default value.
    init(
        _ schema: ValueShape, type: String? = nil, limits: String? = nil,
        write: @escaping @Sendable (Value) -> JSONValue? = { _ in nil },
        read: @escaping @Sendable (TomlNode) throws(Fault) -> Value
    ) {
        self.schema = schema
        self.type = type ?? schema.type
        self.limits = limits
        self.read = read
        self.write = write
    }

    /// The same with a further rule for its values.
    ///
    /// - Parameters:
    ///   - limits: the rule in the manual; nil: the manual says it elsewhere.
    ///   - fault: what is wrong with a value; nil if nothing is.
    func checked(
        limits: String? = nil, _ fault: @escaping @Sendable (Value) -> String?
    ) -> Self {
        var shape = self
        shape.limits = limits ?? self.limits
        shape.read = { [read] (node) throws(Fault) in
            let value = try read(node)
            if let fault = fault(value) { throw Fault(node.mark, fault) }
            return value
        }
        return shape
    }
}

extension KeyShape where Value == Bool {
    static var boolean: Self {
        Self(.boolean, write: { .boolean($0) }) { (node) throws(Fault) in try node.boolean() }
    }
}

extension KeyShape where Value: BinaryInteger {
    static func integer(_ range: ClosedRange<Int64>) -> Self {
        Self(.integer(range), write: { .integer(Int64($0)) }) { (node) throws(Fault) in
            Value(try node.integer(in: range))
        }
    }

    /// A number of bytes.
    ///
    /// - Parameter tooSmall: what is said of a smaller one than the range has.
    static func size(_ range: ClosedRange<UInt64>, tooSmall: String = "") -> Self {
        let least = range.lowerBound == 0 ? nil : "at least \(SizeText.text(range.lowerBound))"
        // No file system reaches a limit of petabytes.
        let most = range.upperBound >= 1 << 50 ? nil : "at most \(SizeText.text(range.upperBound))"
        return Self(
            .size, limits: least ?? most, write: { .string(SizeText.text(UInt64($0))) }
        ) { (node) throws(Fault) in
            let size = try node.size(upTo: range.upperBound)
            guard size >= range.lowerBound else { throw Fault(node.mark, tooSmall) }
            return Value(size)
        }
    }
}

extension KeyShape where Value == Double {
    static func number(_ range: ClosedRange<Double>) -> Self {
        Self(.number(range), write: { .number($0) }) { (node) throws(Fault) in
            try node.number(in: range)
        }
    }
}

extension KeyShape
where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    /// The words of an enumeration, which are its raw values.
    static var words: Self {
        let choices = Value.allCases.map { ($0.rawValue, $0) }
        return Self(
            .words(of: Value.self), write: { .string($0.rawValue) }
        ) { (node) throws(Fault) in try node.choice(of: choices) }
    }
}

extension KeyShape where Value == Duration {
    static var span: Self {
        Self(.span, type: "SPAN", write: { .string(TimeSpan.oneUnit($0)) }) {
            (node) throws(Fault) in try node.span()
        }
    }

    static func span(in range: ClosedRange<Duration>) -> Self {
        Self(
            .span, type: "SPAN",
            limits:
                "\(TimeSpan.oneUnit(range.lowerBound)) to \(TimeSpan.oneUnit(range.upperBound))",
            write: span.write
        ) { (node) throws(Fault) in try node.span(in: range) }
    }

    /// - Parameter instead: what to write instead of one that is too short.
    static func interval(_ instead: String) -> Self {
        Self(
            .span, type: "SPAN", limits: "at least \(TimeSpan.oneUnit(TomlNode.intervalMin))"
        ) { (node) throws(Fault) in try node.interval(instead) }
    }

    /// - Parameter reason: what a shorter one would cause.
    func atLeast(_ least: Duration, _ reason: String) -> Self {
        checked(limits: "at least \(TimeSpan.oneUnit(least))") { span in
            span < least ? "is shorter than \(TimeSpan.text(least)), \(reason)" : nil
        }
    }

    func atMost(_ most: Duration) -> Self {
        checked(limits: "at most \(TimeSpan.oneUnit(most))") { span in
            let text = TimeSpan.text(most)
            return span > most ? "is longer than \(text); at most \(text)" : nil
        }
    }
}

extension KeyShape where Value == Duration? {
    static var spanOrNone: Self {
        Self(
            .spanOrNone, type: "SPAN",
            write: { .string($0.map(TimeSpan.oneUnit) ?? "none") }
        ) { (node) throws(Fault) in try node.spanOrNone() }
    }

    /// - Parameters:
    ///   - reason: what a shorter one would cause.
    ///   - zeroIsNone: whether zero means `none`, as in some keys of systemd.
    func atLeast(_ least: Duration, _ reason: String? = nil, zeroIsNone: Bool = false) -> Self {
        var shape = checked(limits: "at least \(TimeSpan.oneUnit(least))") { span in
            guard let span, span < least, !zeroIsNone || span > .zero else { return nil }
            let text = TimeSpan.text(least)
            return
                "is shorter than \(text)\(reason.map { ", \($0)" } ?? ""); at least \(text), or \"none\""
        }
        guard zeroIsNone else { return shape }
        shape.read = { [read = shape.read] (node) throws(Fault) in
            let span = try read(node)
            return span == .zero ? nil : span
        }
        return shape
    }
}

extension KeyShape where Value == String {
    static var text: Self {
        Self(.text, write: { .string($0) }) { (node) throws(Fault) in try node.string() }
    }

    /// The name of a user or group.
    static var account: Self {
        Self(.account, type: "NAME", write: { .string($0) }) { (node) throws(Fault) in
            try node.account()
        }
    }

    static var path: Self {
        Self(.path, type: "PATH") { (node) throws(Fault) in try node.programPath() }
    }

    static var url: Self {
        Self(.url, type: "URL") { (node) throws(Fault) in try node.url() }
    }
}

extension KeyShape where Value == Job.Name {
    static var jobName: Self {
        Self(.text, type: "NAME", write: { .string($0.description) }) { (node) throws(Fault) in
            try node.jobName()
        }
    }
}

extension KeyShape {
    /// An array of values, or something else that is read in a way of its own.
    static func list<Element>(
        of schema: ValueShape, min: Int = 0, limits: String? = nil,
        write: (@Sendable (Element) -> JSONValue)? = nil,
        _ read: @escaping @Sendable (TomlNode) throws(Fault) -> Value
    ) -> Self where Value: Collection<Element> {
        Self(
            .array(schema, min: min), limits: limits,
            write: { values in
                if values.isEmpty { return min == 0 ? .array([]) : nil }
                return write.map { .array(values.map($0)) }
            }, read: read)
    }
}

extension KeyShape where Value: Collection<String> & Sendable {
    /// An array of names or words, whose order means nothing if they are a set.
    static func texts(
        of schema: ValueShape, min: Int = 0,
        _ read: @escaping @Sendable (TomlNode) throws(Fault) -> Value
    ) -> Self {
        Self(
            .array(schema, min: min),
            write: { texts in
                if texts.isEmpty, min > 0 { return nil }
                return .array(
                    (texts is Set<String> ? texts.sorted() : Array(texts)).map { .string($0) })
            }, read: read)
    }
}

extension JSONValue {
    /// An array of names.
    static func names(_ names: [some CustomStringConvertible]?) -> JSONValue {
        .array((names ?? []).map { .string($0.description) })
    }
}

extension TimeSpan {
    /// A span in the largest unit of which it is a whole number: `600s` is `10min`.
    static func oneUnit(_ span: Duration) -> String {
        let units: [(String, Duration)] = [
            ("d", .seconds(86_400)), ("h", .seconds(3600)), ("min", .seconds(60)),
            ("s", .seconds(1)), ("ms", .milliseconds(1)),
        ]
        guard span > .zero else { return "0s" }
        for (unit, length) in units {
            let count = Int64(span / length)
            if length * count == span { return "\(count)\(unit)" }
        }
        return compactText(span)
    }
}

/// Numbers of bytes as they are written in the file.
enum SizeText {
    /// A size in the largest unit of which it is a whole number.
    static func text(_ size: UInt64) -> String {
        for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)]
            as [(String, UInt64)]
        where size > 0 && size % (1 << shift) == 0 { return "\(size >> shift)\(unit)" }
        return "\(size)"
    }
}
