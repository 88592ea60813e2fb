// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// All endpoints of the API. The routes, the methods, the rights, the limits, the requests of a
/// client, the OpenAPI document and the list in timerd-api(7) come from its rows.
public enum EndpointTable {
    public static let all: [any AnyEndpoint] =
        ControlRequest.jobEndpoints + ControlRequest.recordEndpoints
        + ControlRequest.daemonEndpoints + ControlRequest.sessionEndpoints

    /// All paths, each once.
    public static let paths: [String] = {
        var seen: Set<String> = []
        return all.map(\.facts.path).filter { seen.insert($0).inserted }
    }()

    private static let byPath = Dictionary(grouping: all, by: \.facts.path)

    /// The endpoints of a path that is spelled as in the table, without values and without a query.
    public static func endpoints(spelled path: String) -> [any AnyEndpoint] { byPath[path] ?? [] }

    private static let prefixes = Set(
        paths.map { path in
            path.dropFirst().firstIndex(of: "/").map { path[...$0] } ?? path[...]
        })

    /// Whether a path may be one of the API: it begins like one of the table.
    public static func mayHave(_ path: Substring) -> Bool {
        prefixes.contains { $0.last == "/" ? path.hasPrefix($0) : path == $0 }
    }

    private static let routes: Route = {
        var root = Route()
        for endpoint in all { root.add(endpoint, at: endpoint.facts.parts[...]) }
        return root
    }()

    /// The endpoints at a path, whatever the method is.
    ///
    /// - Complexity: O(*n*) in the parts of the path.
    static func endpoints(at parts: [String]) -> [any AnyEndpoint] {
        var found: [any AnyEndpoint] = []
        routes.find(parts[...], in: &found)
        return found
    }

    /// What follows after the parts of a path that were read.
    private struct Route: Sendable {
        private var endpoints: [any AnyEndpoint] = []
        private var words: [Substring: Route] = [:]
        /// What follows after a value; at most one.
        private var value: [Route] = []

        mutating func add(_ endpoint: any AnyEndpoint, at parts: ArraySlice<Substring>) {
            guard let part = parts.first else { return endpoints.append(endpoint) }
            if part.first == "{" {
                if value.isEmpty { value.append(Route()) }
                value[0].add(endpoint, at: parts.dropFirst())
            } else {
                words[part, default: Route()].add(endpoint, at: parts.dropFirst())
            }
        }

        /// A word goes before a value: `/v1/jobs/pause` with POST is no job. With GET it is.
        func find(_ parts: ArraySlice<String>, in found: inout [any AnyEndpoint]) {
            guard let part = parts.first else { return found += endpoints }
            words[part[...]]?.find(parts.dropFirst(), in: &found)
            value.first?.find(parts.dropFirst(), in: &found)
        }
    }
}

/// What came over HTTP, when its method and its path are known.
public struct SentRequest: Sendable {
    var parts: [String]
    var path: Substring
    var query: Substring
    var body: [UInt8]
    var headers: RequestHeaders
}

/// The target of a request (RFC 9112, 3.2): a path and a query, after the scheme and the host
/// if it is absolute.
private struct Target {
    var path: Substring
    var query: Substring

    init(_ text: String) {
        var rest = text[...]
        if rest.utf8.first != UInt8(ascii: "/"),
            let scheme = ["http://", "https://"].first(where: { rest.hasPrefix($0) })
        {
            rest = rest.dropFirst(scheme.count).drop { $0 != "/" && $0 != "?" }
        }
        let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = halves[0]
        query = halves.count > 1 ? halves[1] : ""
    }

    /// The parts of the path, decoded, and the endpoints there, at least one.
    func found() throws(ControlRequest.Fault) -> (parts: [String], endpoints: [any AnyEndpoint]) {
        var parts: [String] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let text = QueryText.decode(Substring(part)) else {
                throw .notFound(String(path))
            }
            parts.append(text)
        }
        let endpoints = EndpointTable.endpoints(at: parts)
        guard !endpoints.isEmpty else { throw .notFound(String(path)) }
        return (parts, endpoints)
    }

    /// The methods that the path allows, for the answers to OPTIONS and to another method.
    func methods() throws(ControlRequest.Fault) -> [String] {
        let (parts, endpoints) = try found()
        for endpoint in endpoints { try endpoint.check(parts, of: path) }
        let methods = endpoints.map(\.method)
        return (methods.contains(.get) ? ["GET", "HEAD"] : [])
            + (methods.contains(.post) ? ["POST"] : []) + ["OPTIONS"]
    }
}

extension EndpointFacts.Method {
    /// HEAD is GET without the body of the answer (RFC 9110, 9.3.2).
    fileprivate init?(of method: String) { self.init(rawValue: method == "HEAD" ? "GET" : method) }
}

extension ControlRequest {
    /// Parses a request of HTTP.
    ///
    /// - Parameter path: percent-encoded and with the query, as received; the part after the host,
    ///   if it is an absolute URL.
    /// - Complexity: O(*n*) in the bytes.
    public init(
        method: String, path: String, body: [UInt8], headers: RequestHeaders = RequestHeaders()
    ) throws(Fault) {
        let target = Target(path)
        let (parts, endpoints) = try target.found()
        let asked = EndpointFacts.Method(of: method)
        guard let endpoint = endpoints.first(where: { $0.method == asked }) else {
            throw .methodNotAllowed(try target.methods())
        }
        self = try endpoint.read(
            SentRequest(
                parts: parts, path: target.path, query: target.query, body: body, headers: headers))
    }

    /// The allowed methods of a path, for the answer to OPTIONS.
    public static func methods(at path: String) throws(Fault) -> [String] {
        try Target(path).methods()
    }

    /// The most bytes of the body of such a request.
    ///
    /// - Parameter mayChange: whether the client may change anything; other clients may not send
    ///   long lists.
    public static func bodyBytesMax(method: String, path: String, mayChange: Bool) -> Int {
        guard mayChange else { return bodyBytesMax }
        return endpoint(method: method, path: path)?.facts.body?.bytesMax ?? bodyBytesMax
    }

    /// Who may send such a request, whatever its query and its body are; nil if no endpoint has it.
    public static func access(method: String, path: String) -> Access? {
        endpoint(method: method, path: path)?.access
    }

    private static func endpoint(method: String, path: String) -> (any AnyEndpoint)? {
        guard let asked = EndpointFacts.Method(of: method), let found = try? Target(path).found()
        else { return nil }
        return found.endpoints.first { $0.method == asked }
    }
}
