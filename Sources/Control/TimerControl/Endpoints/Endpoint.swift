// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What the table says of an endpoint, without its types.
public protocol AnyEndpoint: AnyObject, Sendable {
    var facts: EndpointFacts { get }
    /// What each request is asked about, without a copy of the other facts.
    var method: EndpointFacts.Method { get }
    var access: Access { get }

    /// Throws if this part of a path is not a value that the path of the endpoint stands for.
    func check(_ parts: [String], of path: Substring) throws(ControlRequest.Fault)

    /// Reads a request of which the method and the path fit.
    func read(_ sent: SentRequest) throws(ControlRequest.Fault) -> ControlRequest
}

/// What is known of an endpoint: everything but how its values are read.
public struct EndpointFacts: Sendable {
    /// GET for what changes nothing and begins or ends no session; HEAD is the same.
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    /// What may be wrong beside the errors that each endpoint has.
    public enum KnownError: Int, Sendable {
        case notFound = 404
        case conflict = 409
        case invalidConfiguration = 422
    }

    /// Its name in the OpenAPI document, which no other endpoint has.
    public let id: String
    public let method: Method
    /// The path; `{job}` or another word in braces stands for a value.
    public let path: String
    /// What it does, for the OpenAPI document and timerd-api(7).
    public let sentence: String
    public let access: Access
    /// Whether it may concern all jobs and be slow.
    public let isLong: Bool
    public let answer: AnswerForm
    public let errors: [KnownError]
    /// What stands in the path for the word in braces; nil if there is none.
    public let place: ValueFacts?
    public let parameters: [ValueFacts]
    /// Nil for GET.
    public let body: BodyFacts?

    /// The parts of the path, between its slashes.
    var parts: [Substring] { path.split(separator: "/") }
}

/// An endpoint of the API: what the path stands for, the query and the body have types.
public final class Endpoint<Place: Hashable & Sendable, Query: RequestQuery, Body>: AnyEndpoint
where Body: Hashable & Sendable {
    public let facts: EndpointFacts
    public var method: EndpointFacts.Method { facts.method }
    public var access: Access { facts.access }
    let place: PathForm<Place>
    let body: BodyForm<Body>
    /// Which part of the path is its value.
    private let placeIndex: Int?

    init(_ facts: EndpointFacts, place: PathForm<Place>, body: BodyForm<Body>) {
        self.facts = facts
        self.place = place
        self.body = body
        placeIndex = facts.parts.firstIndex { $0.first == "{" }
        precondition(
            placeIndex.map { facts.parts[$0] == "{\(place.facts.name)}" }
                ?? place.facts.name.isEmpty,
            "\(facts.path): the path stands for another value")
    }

    public func check(_ parts: [String], of path: Substring) throws(ControlRequest.Fault) {
        _ = try value(in: parts, of: path)
    }

    private func value(
        in parts: [String], of path: Substring
    ) throws(ControlRequest.Fault) -> Place {
        guard let value = try place.read(placeIndex.map { parts[$0] } ?? "") else {
            throw .notFound(String(path))
        }
        return value
    }

    public func read(_ sent: SentRequest) throws(ControlRequest.Fault) -> ControlRequest {
        let place = try value(in: sent.parts, of: sent.path)
        var text = try QueryText(sent.query)
        var query = Query()
        for parameter in Query.parameters {
            guard let value = text.take(parameter.facts.name) else { continue }
            try parameter.read(value, &query)
        }
        // A body without keys is checked last.
        let values: Body
        if body.hasKeys {
            values = try body.read(sent.body)
            try text.finish()
        } else {
            try text.finish()
            values = try body.read(sent.body)
        }
        try query.read(sent.headers)
        return ControlRequest(EndpointCall(self, place, query, values))
    }
}

/// A call of an endpoint with its values.
public struct EndpointCall<Place: Hashable & Sendable, Query: RequestQuery, Body>: Sendable
where Body: Hashable & Sendable {
    let endpoint: Endpoint<Place, Query, Body>
    public let place: Place
    public let query: Query
    public let body: Body

    init(
        _ endpoint: Endpoint<Place, Query, Body>, _ place: Place, _ query: Query, _ body: Body
    ) {
        self.endpoint = endpoint
        self.place = place
        self.query = query
        self.body = body
    }
}

// What a client calls: `.show(job)`, `.history(query)`, `.kill(job, query, body)`.

extension Endpoint {
    /// The request with these values.
    public func callAsFunction(
        _ place: Place, _ query: Query = Query(), _ body: Body
    ) -> ControlRequest {
        ControlRequest(EndpointCall(self, place, query, body))
    }
}

extension Endpoint where Body == NoBody {
    /// The request with these values.
    public func callAsFunction(_ place: Place, _ query: Query = Query()) -> ControlRequest {
        self(place, query, NoBody())
    }
}

extension Endpoint where Place == NoPlace {
    /// The request with this body.
    public func callAsFunction(_ body: Body) -> ControlRequest { self(NoPlace(), Query(), body) }
}

extension Endpoint where Place == NoPlace, Body == NoBody {
    /// The request with this query.
    public func callAsFunction(_ query: Query = Query()) -> ControlRequest {
        self(NoPlace(), query, NoBody())
    }
}

extension Endpoint where Place == NoPlace, Query == NoQuery, Body == NoBody {
    /// The only request of an endpoint that takes nothing.
    var request: ControlRequest { self() }
}
