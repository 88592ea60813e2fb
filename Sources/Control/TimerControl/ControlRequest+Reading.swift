// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ControlRequest {
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
    public static let orderBytesMax = 8 << 20

    /// What a path names, independently of the method.
    private enum Resource {
        case jobs, job(Job.Name), verb(Order.Verb), why(Job.Name), log(Job.Name), kill(Job.Name)
        case order(Order.Verb, Job.Name)
        case runs, run(Run.ID), upcoming, reload, document, metrics, events, recent, days(Job.Name)
        case pauses
        case oneOffs, oneOff(Job.Name), cancelOneOff(Job.Name)
        case messages, retryMessage(Int64), notifiers, testNotifier(Notifier.Name)
        case loginLinks, login, session, logout, revoke, web, fleet

        /// The methods that a resource allows, for the answers to OPTIONS and to another method.
        var methods: [String] {
            switch self {
            case .jobs, .job, .why, .log, .runs, .run, .upcoming, .document, .oneOffs, .session,
                .web, .metrics, .events, .recent, .days, .messages, .notifiers, .pauses:
                ["GET", "HEAD", "OPTIONS"]
            case .kill, .order, .oneOff, .cancelOneOff, .loginLinks, .login, .logout, .revoke,
                .retryMessage, .testNotifier:
                ["POST", "OPTIONS"]
            case .verb, .reload, .fleet: ["GET", "HEAD", "POST", "OPTIONS"]
            }
        }
    }

    /// Parses a request of HTTP.
    ///
    /// - Parameters:
    ///   - path: percent-encoded and with the query, as received; the part after the host, if it is
    ///     an absolute URL.
    ///   - accepted: the values of the header `Accept`, for an answer that has several formats.
    /// - Complexity: O(*n*) in the bytes.
    public init(
        method: String, path: String, body: [UInt8], accepted: [String] = []
    ) throws(Fault) {
        let target = Target(path)
        let resource = try Self.resource(at: target)
        // HEAD is GET without the body of the answer (RFC 9110, 9.3.2).
        guard resource.methods.contains(method), method != "OPTIONS" else {
            throw .methodNotAllowed(resource.methods)
        }
        var query = try QueryText(target.query)
        let sent = Sent(path: path, isPost: method == "POST", body: body, accepted: accepted)
        self = try Self.read(resource, sent, &query)
        try query.finish()
        // The other requests have checked their body already.
        switch self {
        case .order, .orders, .kill, .login, .revokeSessions, .fleetOrder: break
        default: if !body.isEmpty { _ = try NoBody.read([], from: body) }
        }
    }

    /// What a request has beside the resource and the query.
    private struct Sent {
        var path: String
        var isPost: Bool
        var body: [UInt8]
        var accepted: [String]
    }

    /// The request for a resource. Each resource has its line.
    private static func read(
        _ resource: Resource, _ sent: Sent, _ query: inout QueryText
    ) throws(Fault) -> ControlRequest {
        switch resource {
        case .jobs: return .list
        case .job(let job): return .show(job)
        case .verb(let verb) where sent.isPost:
            let (jobs, order) = try OrderBody.readMany(verb, from: sent.body)
            return .orders(verb, jobs, order)
        case .verb(let verb):
            guard let job = Job.Name(verb.rawValue) else { throw .notFound(sent.path) }
            return .show(job)
        case .why(let job): return .why(job)
        case .log(let job): return .log(job, run: try query.run(), after: try query.after())
        case .kill(let job):
            return .kill(job, run: try query.run(), try KillBody(reading: sent.body))
        case .order(let verb, let job):
            return .order(verb, job, try OrderBody.read(verb, from: sent.body))
        case .runs: return .history(try HistoryQuery(&query))
        case .run(let run): return .run(run)
        case .upcoming: return .upcoming(try UpcomingQuery(&query))
        case .reload where sent.isPost: return try query.flag("strict") ? .strictReload : .reload
        case .reload: return .previewReload
        case .oneOffs: return .oneOffs(base: try query.base())
        case .oneOff(let job): return .takeOneOff(job)
        case .cancelOneOff(let job): return .cancelOneOff(job)
        case .document: return .document
        case .loginLinks: return .loginLink
        case .login: return .login(token: try LoginBody.read(["token"], from: sent.body).token)
        case .session: return .session
        case .logout: return .logout
        case .revoke: return .revokeSessions(try RevokeBody.read(sent.body))
        case .web: return .web
        case .fleet where sent.isPost: return .fleetOrder(try FleetOrder.read(sent.body))
        case .fleet: return .fleet
        case .metrics: return .metrics(MetricsFormat(accepted: sent.accepted))
        case .events: return .events(try EventQuery(&query))
        case .messages: return .messages(try NotificationQuery(&query))
        case .retryMessage(let number): return .retryMessage(number)
        case .notifiers: return .notifiers
        case .testNotifier(let name):
            return .testNotifier(name, dryRun: try query.flag("dry_run"))
        case .recent:
            return .recent(
                count: try query.number(
                    "count", RecentReply.counts, unless: RecentReply.countDefault),
                after: try query.job("after"))
        case .days(let job):
            return .days(
                job,
                count: try query.number("count", DaysReply.counts, unless: DaysReply.countDefault))
        case .pauses: return .pauses(try PauseQuery(&query))
        }
    }

    /// The allowed methods of a path, for the answer to OPTIONS.
    public static func methods(at path: String) throws(Fault) -> [String] {
        try resource(at: Target(path)).methods
    }

    /// The most bytes of the body of such a request.
    ///
    /// - Parameter mayChange: whether the client may change anything; other clients may not send
    ///   long lists.
    public static func bodyBytesMax(
        method: String, path: String, mayChange: Bool
    ) -> Int {
        guard mayChange, method == "POST", case .verb? = try? resource(at: Target(path)) else {
            return bodyBytesMax
        }
        return orderBytesMax
    }

    private static func resource(at target: Target) throws(Fault) -> Resource {
        var parts: [String] = []
        for part in target.path.split(separator: "/", omittingEmptySubsequences: true) {
            guard let text = QueryText.decode(part) else { throw .notFound(String(target.path)) }
            parts.append(text)
        }
        for route in routes {
            if let found = try route.resource(at: parts, of: target.path) { return found }
        }
        throw .notFound(String(target.path))
    }

    /// A path, in which `{job}` stands for the name of a job and `{verb}` for a command, and the
    /// resource that it names.
    private struct Route: Sendable {
        let path: String
        let parts: [Substring]
        let make: @Sendable (Captures) -> Resource?

        init(_ path: String, _ make: @escaping @Sendable (Captures) -> Resource?) {
            self.path = path
            parts = path.split(separator: "/")
            self.make = make
        }

        /// Nil if these parts belong to another path.
        func resource(at parts: [String], of path: Substring) throws(Fault) -> Resource? {
            guard parts.count == self.parts.count else { return nil }
            var found = Captures()
            var job: String?
            for (pattern, part) in zip(self.parts, parts) {
                switch pattern {
                case "{job}": job = part
                case "{run}":
                    guard let run = Run.ID(part) else { throw .noSuchRun(part) }
                    found.run = run
                case "{message}":
                    guard let number = Int(digits: part) else { throw .notFound(String(path)) }
                    found.message = Int64(number)
                case "{notifier}":
                    guard let name = Notifier.Name(part) else { throw .notFound(String(path)) }
                    found.notifier = name
                case "{verb}":
                    guard let verb = Order.Verb(rawValue: part), verb != .kill else { return nil }
                    found.verb = verb
                default: guard part == pattern else { return nil }
                }
            }
            if let job {
                guard let name = Job.Name(job) else { throw .notFound(String(path)) }
                found.job = name
            }
            return make(found)
        }
    }

    /// The values of `{job}`, `{verb}` and the other words in braces in a path.
    private struct Captures {
        var job: Job.Name?
        var verb: Order.Verb?
        var run: Run.ID?
        var message: Int64?
        var notifier: Notifier.Name?
    }

    /// All paths; if two match, the first one counts.
    ///
    /// A new path is added here, and to `Sources/Control/COpenAPI/openapi.json` and `man/timerd-api.7`,
    /// with a description of its methods, parameters, body and answers. Tests fail until all have
    /// it.
    private static let routes: [Route] = [
        Route("/metrics") { _ in .metrics },
        Route("/v1/openapi.json") { _ in .document },
        Route("/v1/jobs") { _ in .jobs },
        Route("/v1/jobs/{verb}") { $0.verb.map { .verb($0) } },
        Route("/v1/jobs/{job}") { $0.job.map { .job($0) } },
        Route("/v1/jobs/{job}/why") { $0.job.map { .why($0) } },
        Route("/v1/jobs/{job}/log") { $0.job.map { .log($0) } },
        Route("/v1/jobs/{job}/days") { $0.job.map { .days($0) } },
        Route("/v1/jobs/{job}/kill") { $0.job.map { .kill($0) } },
        Route("/v1/jobs/{job}/{verb}") { found in
            found.job.flatMap { job in found.verb.map { .order($0, job) } }
        },
        Route("/v1/one-offs") { _ in .oneOffs },
        Route("/v1/one-offs/{job}") { $0.job.map { .oneOff($0) } },
        Route("/v1/one-offs/{job}/cancel") { $0.job.map { .cancelOneOff($0) } },
        Route("/v1/runs") { _ in .runs },
        Route("/v1/runs/{run}") { $0.run.map { .run($0) } },
        Route("/v1/upcoming") { _ in .upcoming },
        Route("/v1/reload") { _ in .reload },
        Route("/v1/login-links") { _ in .loginLinks },
        Route("/v1/login") { _ in .login },
        Route("/v1/session") { _ in .session },
        Route("/v1/session/logout") { _ in .logout },
        Route("/v1/sessions/revoke") { _ in .revoke },
        Route("/v1/web") { _ in .web },
        Route("/v1/events") { _ in .events },
        Route("/v1/recent") { _ in .recent },
        Route("/v1/notifications") { _ in .messages },
        Route("/v1/notifications/{message}/retry") { $0.message.map { .retryMessage($0) } },
        Route("/v1/notifiers") { _ in .notifiers },
        Route("/v1/notifiers/{notifier}/test") { $0.notifier.map { .testNotifier($0) } },
        Route("/v1/pauses") { _ in .pauses },
        Route("/v1/fleet") { _ in .fleet },
    ]

    /// All paths in the notation of OpenAPI, with `{job}` for the name of a job.
    public static var paths: [String] {
        let verbs = Order.Verb.allCases.filter { $0 != .kill }
        return routes.flatMap { route in
            route.path.hasSuffix("{verb}")
                ? verbs.map { route.path.dropLast("{verb}".count) + $0.rawValue } : [route.path]
        }
    }

    /// The target of a request (RFC 9112, 3.2): a path and a query, after the scheme and the host
    /// if it is absolute.
    private struct Target {
        var path: Substring
        var query: Substring

        init(_ text: String) {
            var rest = text[...]
            if let scheme = ["http://", "https://"].first(where: { rest.hasPrefix($0) }) {
                rest = rest.dropFirst(scheme.count).drop { $0 != "/" && $0 != "?" }
            }
            let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            path = halves[0]
            query = halves.count > 1 ? halves[1] : ""
        }
    }

    /// The body of requests without keys: it may be `{}`, or be left out.
    private struct NoBody: Decodable, RequestBody {
        static var example: String { "{}" }
    }
}
