// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A request to the daemon: an endpoint of the table with its values. The endpoints are static
/// members, which a client calls: `.show(job)`, `.history(query)`; `.list` takes nothing and is a
/// request by itself.
public struct ControlRequest: Hashable, Sendable {
    /// Why an HTTP request is not valid, with what the answer says about it.
    public enum Fault: Error, Hashable, Sendable {
        /// The API does not have this path. 404.
        case notFound(String)
        /// The path exists, but not with this method; these methods are allowed.
        case methodNotAllowed([String])
        /// The body cannot be used, as this sentence explains.
        case badBody(String)
        /// The query after the path cannot be used.
        case badQuery(String)
        /// Parts of the request contradict each other, as this sentence explains.
        case conflict(String)
        /// This is not a valid identity of a run.
        case noSuchRun(String)
        /// The body has a key that this request does not have; with the existing keys.
        case unknownKey(String, known: [String])
        /// The query has a parameter that this request does not have; with the existing parameters.
        case unknownParameter(String, known: [String])
    }

    /// The most bytes a request's body may have.
    public static let bodyBytesMax = 65_536
    /// The most bytes of a body that names many jobs: enough for 100 000 of them.
    public static let commandBytesMax = 8 << 20

    private let call: any AnyCall

    init(_ call: some AnyCall) { self.call = call }

    /// The row of the table.
    public var endpoint: any AnyEndpoint { call.row }

    public static func == (one: ControlRequest, other: ControlRequest) -> Bool {
        one.call.isEqual(other.call)
    }

    public func hash(into hasher: inout Hasher) { call.hash(into: &hasher) }

    /// The values of the request if it is for this endpoint; nil if it is for another one.
    public func values<Place, Query, Body>(
        of endpoint: Endpoint<Place, Query, Body>
    ) -> EndpointCall<Place, Query, Body>? {
        guard call.row === endpoint else { return nil }
        return call as? EndpointCall<Place, Query, Body>
    }

    /// Whether it changes anything, so that it is not allowed for users with read access.
    public var isChange: Bool {
        switch endpoint.access {
        case .operators, .operatorsAtSocket: true
        case .ownersAtSocket: call.isOfOthers
        case .readers, .readersAtSocket, .sessions, .beforeLogin: false
        }
    }

    /// Whether it may concern all jobs and be slow.
    var isLong: Bool { endpoint.facts.isLong }

    /// GET or POST.
    public var method: String { endpoint.method.rawValue }

    /// The path and the query, percent-encoded.
    public var path: String { call.path }

    /// The body as JSON; empty if there is none.
    public var body: [UInt8] { (try? call.json) ?? [] }

    /// What the header `Accept` of the request and `Content-Type` of the answer are; nil for JSON.
    public var contentType: String? { call.contentType }
}

/// A call without its types.
protocol AnyCall: Sendable {
    var row: any AnyEndpoint { get }
    var path: String { get }
    var json: [UInt8] { get throws }
    var contentType: String? { get }
    /// Whether it is about what belongs to others.
    var isOfOthers: Bool { get }
    func isEqual(_ other: any AnyCall) -> Bool
    func hash(into hasher: inout Hasher)
}

extension EndpointCall: AnyCall {
    var row: any AnyEndpoint { endpoint }

    var path: String {
        let form = endpoint.place
        let path = endpoint.facts.path
        let filled =
            form.facts.name.isEmpty
            ? path
            : path.split(separator: "/").map {
                "/" + ($0.first == "{" ? form.write(place) : String($0))
            }.joined()
        return filled + QueryText.write(Query.parameters.map { ($0.facts.name, $0.write(query)) })
    }

    var json: [UInt8] { get throws { try endpoint.body.write(body) } }

    var contentType: String? { query.contentType }

    /// A body that does not tell needs the right to change things.
    var isOfOthers: Bool { (body as? any OwnedBody)?.isOfOthers ?? true }

    func isEqual(_ other: any AnyCall) -> Bool {
        guard row === other.row, let other = other as? Self else { return false }
        return place == other.place && query == other.query && body == other.body
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(endpoint))
        hasher.combine(place)
        hasher.combine(query)
        hasher.combine(body)
    }
}
