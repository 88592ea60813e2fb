// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The query of a request. Without a parameter, its value is that of `init()`.
public protocol RequestQuery: Hashable, Sendable {
    init()

    /// In the order in which they are read, and listed in an error.
    static var parameters: [QueryParameter<Self>] { get }

    /// Takes what the headers say, after everything else was read.
    mutating func read(_ headers: RequestHeaders) throws(ControlRequest.Fault)

    /// What the header `Accept` of the request and `Content-Type` of the answer are; nil for JSON.
    var contentType: String? { get }
}

extension RequestQuery {
    public mutating func read(_: RequestHeaders) throws(ControlRequest.Fault) {}
    public var contentType: String? { nil }
}

/// The headers of HTTP that a request may depend on.
public struct RequestHeaders: Sendable {
    /// The values of `Accept`, for an answer that has several formats.
    public var accepted: [String]
    /// The value of `Last-Event-ID`, for a stream of events; nil without one.
    public var lastEventID: String?

    public init(accepted: [String] = [], lastEventID: String? = nil) {
        self.accepted = accepted
        self.lastEventID = lastEventID
    }
}

/// A request without a query.
public struct NoQuery: RequestQuery {
    public static let parameters: [QueryParameter<NoQuery>] = []

    public init() {}
}

/// A parameter of a query: its name, what it may be, and a sentence about it.
public struct QueryParameter<Query: RequestQuery>: Sendable {
    public let facts: ValueFacts
    let read: @Sendable (String, inout Query) throws(ControlRequest.Fault) -> Void
    /// Nil if the parameter is left out.
    let write: @Sendable (Query) -> String?

    init(
        _ name: String, _ shape: ValueShape, _ sentence: String,
        read: @escaping @Sendable (String, inout Query) throws(ControlRequest.Fault) -> Void,
        write: @escaping @Sendable (Query) -> String?
    ) {
        facts = ValueFacts(name: name, sentence: sentence, shape: shape)
        self.read = read
        self.write = write
    }
}

extension QueryParameter {
    typealias Path<Value> = any WritableKeyPath<Query, Value> & Sendable
    typealias Fault = ControlRequest.Fault

    /// 1 or 0, also true or false.
    static func flag(_ name: String, _ path: Path<Bool>, _ sentence: String) -> Self {
        Self(name, .named("Flag"), sentence) { (text, query) throws(Fault) in
            switch text {
            case "1", "true": query[keyPath: path] = true
            case "0", "false": query[keyPath: path] = false
            default: throw .badQuery("\(name) must be 1 or 0")
            }
        } write: { query in
            let value = query[keyPath: path]
            return value == Query()[keyPath: path] ? nil : value ? "1" : "0"
        }
    }

    /// A whole number of a range.
    static func number(
        _ name: String, _ path: Path<Int>, _ range: ClosedRange<Int>, _ sentence: String
    ) -> Self {
        Self(name, .number(range, unless: Query()[keyPath: path]), sentence) {
            (text, query) throws(Fault) in
            guard let number = Int(digits: text), range.contains(number) else {
                throw .badQuery("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
            }
            query[keyPath: path] = number
        } write: {
            "\($0[keyPath: path])"
        }
    }

    /// A whole number of a range; nil without one.
    static func optionalNumber(
        _ name: String, _ path: Path<Int?>, _ range: ClosedRange<Int>, _ sentence: String
    ) -> Self {
        Self(name, .number(range, unless: nil), sentence) { (text, query) throws(Fault) in
            guard let number = Int(digits: text), range.contains(number) else {
                throw .badQuery("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
            }
            query[keyPath: path] = number
        } write: {
            $0[keyPath: path].map { "\($0)" }
        }
    }

    /// One of some words.
    static func word<Word: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ path: Path<Word?>, _ sentence: String
    ) -> Self {
        let words = Word.allCases.map(\.rawValue)
        return Self(name, .word(words), sentence) { (text, query) throws(Fault) in
            guard let word = Word(rawValue: text) else {
                throw .badQuery("\(name) must be one of \(words.joined(separator: ", "))")
            }
            query[keyPath: path] = word
        } write: {
            $0[keyPath: path]?.rawValue
        }
    }

    /// Patterns for names of jobs.
    static func patterns(
        _ name: String, _ path: Path<[String]>, _ sentence: String
    ) -> Self {
        let length = NamePattern.lengthMax
        let most = NamePattern.countMax
        return Self(
            name, .text(pattern: "^[^,]{1,\(length)}(,[^,]{1,\(length)}){0,\(most - 1)}$"),
            "\(sentence), as in a shell, with commas between them."
        ) { (text, query) throws(Fault) in
            let patterns = text.split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
            guard (1...most).contains(patterns.count),
                patterns.allSatisfy({ (1...length).contains($0.unicodeScalars.count) })
            else {
                throw .badQuery(
                    "\(name) must be 1 to \(most) patterns of at most \(length) characters, "
                        + "with commas between them")
            }
            query[keyPath: path] = patterns
        } write: {
            $0[keyPath: path].isEmpty ? nil : $0[keyPath: path].joined(separator: ",")
        }
    }

    /// The name of a job.
    static func job(_ name: String, _ path: Path<Job.Name?>, _ sentence: String) -> Self {
        Self(name, .named("JobName"), sentence) { (text, query) throws(Fault) in
            guard let job = Job.Name(text) else { throw .badQuery("\"\(text)\" is not a job name") }
            query[keyPath: path] = job
        } write: {
            $0[keyPath: path]?.description
        }
    }

    /// The identity of a run.
    static func run(_ name: String, _ path: Path<Run.ID?>, _ sentence: String) -> Self {
        Self(name, .named("RunID"), sentence) { (text, query) throws(Fault) in
            guard let run = Run.ID(text) else { throw .noSuchRun(text) }
            query[keyPath: path] = run
        } write: {
            $0[keyPath: path]?.description
        }
    }

    /// An instant, as RFC 3339.
    static func instant(_ name: String, _ path: Path<WallInstant?>, _ sentence: String) -> Self {
        Self(name, .named("GivenInstant"), sentence) { (text, query) throws(Fault) in
            guard let instant = WallInstant(rfc3339: text) else {
                throw .badQuery(
                    "\(name) must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
            }
            query[keyPath: path] = instant
        } write: {
            $0[keyPath: path]?.rfc3339Micros
        }
    }

    /// A number from 0 to that of the last event or line there may be.
    static func after(_ path: Path<UInt64?>, _ sentence: String) -> Self {
        Self("after", .wholeNumber, sentence) { (text, query) throws(Fault) in
            query[keyPath: path] = try afterNumber(text)
        } write: {
            $0[keyPath: path].map { "\($0)" }
        }
    }

    static func afterNumber(_ text: String) throws(Fault) -> UInt64 {
        guard let number = UInt64(digits: text), number <= Int64.max else {
            throw .badQuery("after must be a whole number, at most \(Int64.max)")
        }
        return number
    }
}
