// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What texts a value has, for the OpenAPI document.
public enum ValueShape: Hashable, Sendable {
    /// One that the schemas of the document have by this name.
    case named(String)
    /// A whole number; the other value is used without one.
    case number(ClosedRange<Int>, unless: Int?)
    /// A whole number from 0 on, of 64 bits.
    case wholeNumber
    case word([String])
    /// A text that matches this regular expression.
    case text(pattern: String)
}

/// A value in a path or a query.
public struct ValueFacts: Sendable {
    public let name: String
    public let sentence: String
    public let shape: ValueShape
}

/// What a word in braces in a path stands for.
struct PathForm<Value: Hashable & Sendable>: Sendable {
    let facts: ValueFacts
    /// Nil: there is nothing at this path.
    let read: @Sendable (String) throws(ControlRequest.Fault) -> Value?
    let write: @Sendable (Value) -> String

    init(
        _ name: String, _ shape: ValueShape, _ sentence: String,
        read: @escaping @Sendable (String) throws(ControlRequest.Fault) -> Value?,
        write: @escaping @Sendable (Value) -> String
    ) {
        facts = ValueFacts(name: name, sentence: sentence, shape: shape)
        self.read = read
        self.write = write
    }
}

/// A path without a value.
public struct NoPlace: Hashable, Sendable {
    init() {}
}

extension PathForm where Value == NoPlace {
    static let none = PathForm("", .wholeNumber, "") { _ in
        NoPlace()
    } write: { _ in
        ""
    }
}

extension PathForm where Value == Job.Name {
    static let job = PathForm("job", .named("JobName"), "The name of a job.") {
        Job.Name($0)
    } write: {
        $0.description
    }
}

extension PathForm where Value == Run.ID {
    static let run = PathForm("run", .named("RunID"), "The identity of a run.") {
        (text: String) throws(ControlRequest.Fault) -> Run.ID? in
        guard let run = Run.ID(text) else { throw .noSuchRun(text) }
        return run
    } write: {
        $0.description
    }
}

extension PathForm where Value == Int64 {
    static let message = PathForm("message", .wholeNumber, "The number of a message.") {
        Int(digits: $0).map { Int64($0) }
    } write: {
        "\($0)"
    }
}

extension PathForm where Value == Notifier.Name {
    static let notifier = PathForm(
        "notifier", .named("JobName"), "The name of a notifier."
    ) {
        Notifier.Name($0)
    } write: {
        $0.description
    }
}

/// What is known of a body.
public struct BodyFacts: Sendable {
    /// Its schema in the OpenAPI document.
    public let schema: String
    public let isRequired: Bool
    /// The most bytes it may have, from a client that may change things.
    public let bytesMax: Int
}

/// How a body is read and written.
struct BodyForm<Value: Hashable & Sendable>: Sendable {
    let facts: BodyFacts
    let hasKeys: Bool
    let read: @Sendable ([UInt8]) throws(ControlRequest.Fault) -> Value
    /// JSON; nothing without a body.
    let write: @Sendable (Value) throws -> [UInt8]

    init(
        _ schema: String, isRequired: Bool = false, bytesMax: Int = ControlRequest.bodyBytesMax,
        hasKeys: Bool = true,
        read: @escaping @Sendable ([UInt8]) throws(ControlRequest.Fault) -> Value,
        write: @escaping @Sendable (Value) throws -> [UInt8]
    ) {
        facts = BodyFacts(schema: schema, isRequired: isRequired, bytesMax: bytesMax)
        self.hasKeys = hasKeys
        self.read = read
        self.write = write
    }
}

/// The body of requests without keys: it may be `{}`, or be left out.
public struct NoBody: Hashable, Sendable, Decodable, RequestBody {
    static let example = "{}"

    init() {}
}

extension BodyForm where Value == NoBody {
    static let none = BodyForm("EmptyBody", hasKeys: false) {
        (body: [UInt8]) throws(ControlRequest.Fault) -> NoBody in
        body.isEmpty ? NoBody() : try NoBody.read([], from: body)
    } write: { _ in
        []
    }
}

/// What an endpoint answers if all is well.
public struct AnswerForm: Sendable {
    public enum Content: Sendable {
        /// One line of JSON, of this type.
        case json(any (Decodable & Sendable).Type)
        /// A JSON object that is described elsewhere.
        case document
        /// A text of one of these types.
        case text([String])
        /// Server-sent events with JSON, by their names.
        case events([(name: String, type: any (Decodable & Sendable).Type)])
    }

    public let content: Content
    public let sentence: String

    static func json(_ type: any (Decodable & Sendable).Type, _ sentence: String) -> AnswerForm {
        AnswerForm(content: .json(type), sentence: sentence)
    }
}
