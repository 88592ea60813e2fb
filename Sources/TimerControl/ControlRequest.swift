// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What may be asked of the daemon, and how it is written as HTTP.
public enum ControlRequest: Hashable, Sendable {
    /// The daemon and all jobs: `GET /v1/jobs`.
    case list
    /// One job: `GET /v1/jobs/NAME`.
    case show(Job.Name)
    /// Why a job has not run, and what could keep it from running: `GET /v1/jobs/NAME/why`.
    case why(Job.Name)
    /// An order: `POST /v1/jobs/NAME/VERB`, with what more there is to it as JSON.
    case order(Order.Verb, Job.Name, OrderBody = OrderBody())
    /// The runs that ended, the latest first: `GET /v1/runs`, with `job`, `failed`, `since` and `limit` as a
    /// query.
    case history(HistoryQuery)
    /// What a job wrote: `GET /v1/jobs/NAME/log`, with `run` and `after` as a query.
    case log(Job.Name, run: Run.ID?, after: UInt64?)
    /// End the runs of a job that live, or send them a signal: `POST /v1/jobs/NAME/kill`, with `run` as a
    /// query for one of them and `{"signal": …}` for a signal.
    case kill(Job.Name, run: Run.ID?, KillBody)
    /// Read the configuration again: `POST /v1/reload`.
    case reload
    /// What reading it again would change: `GET /v1/reload`.
    case previewReload

    /// Whether it changes anything, so that only some may ask it.
    public var isChange: Bool {
        switch self {
        case .list, .show, .why, .history, .log, .previewReload: false
        case .order, .kill, .reload: true
        }
    }

    /// The method of HTTP it goes by.
    public var method: String { isChange ? "POST" : "GET" }

    /// The path it goes by.
    public var path: String {
        switch self {
        case .list: "/v1/jobs"
        case .show(let job): "/v1/jobs/\(job)"
        case .why(let job): "/v1/jobs/\(job)/why"
        case .order(let verb, let job, _): "/v1/jobs/\(job)/\(verb.rawValue)"
        case .history(let query): "/v1/runs" + query.text
        case .log(let job, let run, let after):
            "/v1/jobs/\(job)/log"
                + QueryText.write([("run", run?.description), ("after", after.map { "\($0)" })])
        case .kill(let job, let run, _):
            "/v1/jobs/\(job)/kill" + QueryText.write([("run", run?.description)])
        case .reload, .previewReload: "/v1/reload"
        }
    }

    /// The body it carries, as JSON; empty without one.
    public var body: [UInt8] {
        switch self {
        case .order(_, _, let body) where body != OrderBody():
            return (try? ControlJSON.encode(body)) ?? []
        case .kill(_, _, let body) where body != KillBody():
            return (try? ControlJSON.encode(body)) ?? []
        default: return []
        }
    }

    /// Why an HTTP request is none of these.
    public enum Fault: Error, Hashable, Sendable {
        /// There is nothing at this path.
        case notFound(String)
        /// The path is good, the method is not.
        case methodNotAllowed(allowed: String)
        /// The body cannot be used.
        case badBody(String)
        /// The query behind the path cannot be used.
        case badQuery(String)
    }

    /// Reads a request of HTTP.
    public init(method: String, path: String, body: [UInt8]) throws(Fault) {
        let halves = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = halves.count > 1 ? try QueryText.read(String(halves[1])) : [:]
        let parts = halves[0].split(separator: "/", omittingEmptySubsequences: true)
            .map(String.init)
        switch (parts.first, parts.count) {
        case ("v1", 2) where parts[1] == "runs": self = .history(try HistoryQuery(query))
        case ("v1", 4) where parts[1] == "jobs" && parts[3] == "log":
            let after = query["after"].map { UInt64(digits: $0) }
            if case .some(nil) = after { throw .badQuery("after must be a whole number") }
            self = .log(try Self.name(parts[2]), run: try Self.run(query), after: after ?? nil)
        case ("v1", 4) where parts[1] == "jobs" && parts[3] == "kill":
            self = .kill(
                try Self.name(parts[2]), run: try Self.run(query), try KillBody(reading: body))
        case ("v1", 2) where parts[1] == "jobs": self = .list
        case ("v1", 2) where parts[1] == "reload":
            self = method == "GET" ? .previewReload : .reload
        case ("v1", 3) where parts[1] == "jobs":
            self = .show(try Self.name(parts[2]))
        case ("v1", 4) where parts[1] == "jobs" && parts[3] == "why":
            self = .why(try Self.name(parts[2]))
        case ("v1", 4) where parts[1] == "jobs":
            guard let verb = Order.Verb(rawValue: parts[3]) else { throw .notFound(path) }
            self = .order(verb, try Self.name(parts[2]), try Self.order(in: body))
        default: throw .notFound(path)
        }
        guard method == self.method else { throw .methodNotAllowed(allowed: self.method) }
    }

    private static func name(_ text: String) throws(Fault) -> Job.Name {
        guard let name = Job.Name(text) else { throw .notFound(text) }
        return name
    }

    private static func run(_ query: [String: String]) throws(Fault) -> Run.ID? {
        guard let text = query["run"] else { return nil }
        guard let run = Run.ID(text) else { throw .badQuery("\"\(text)\" is no run") }
        return run
    }

    private static func order(in body: [UInt8]) throws(Fault) -> OrderBody {
        guard !body.isEmpty else { return OrderBody() }
        guard var order = try? ControlJSON.decode(OrderBody.self, from: body) else {
            throw .badBody(#"the body must be JSON such as {"note": "disk swap"}"#)
        }
        if order.note?.isEmpty == true { order.note = nil }
        if let note = order.note, let fault = OrderBody.fault(inNote: note) {
            throw .badBody(fault)
        }
        if let until = order.until, WallInstant(rfc3339: until) == nil {
            throw .badBody("until must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
        }
        guard order.until == nil || order.forUsec == nil else {
            throw .badBody("until and for_usec exclude each other")
        }
        if let span = order.forUsec, !(1...OrderBody.forUsecMax).contains(span) {
            throw .badBody("for_usec must be from 1 to \(OrderBody.forUsecMax)")
        }
        if let count = order.count, !(0...OrderBody.countMax).contains(count) {
            throw .badBody("count must be from 0 to \(OrderBody.countMax)")
        }
        return order
    }
}

/// Where the control socket is if nobody says otherwise.
public enum ControlPath {
    /// The socket's name in the runtime directory.
    public static let fileName = "control.sock"

    /// Whose daemon is meant.
    public enum Owner: Hashable, Sendable {
        /// The system's.
        case system
        /// The user's own.
        case user
    }

    /// The control socket of a daemon; without an owner, the system daemon's for root and a user's own
    /// daemon's for everybody else, by the rule both ends share.
    public static func standard(
        of owner: Owner? = nil, uid: UInt32, environment: [String: String]
    ) -> String {
        "\(runtimeDirectory(of: owner, uid: uid, environment: environment))/\(fileName)"
    }

    /// The runtime directory by the same rule. Without XDG_RUNTIME_DIR there is no place of a user's own, and
    /// it is the system's, unless the user's own is asked for: then it is where systemd makes it
    /// (user@.service(5)).
    public static func runtimeDirectory(
        of owner: Owner? = nil, uid: UInt32, environment: [String: String]
    ) -> String {
        let own = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return switch owner ?? (uid == 0 || own == nil ? .system : .user) {
        case .system: "/run/timerd"
        case .user: "\(own ?? "/run/user/\(uid)")/timerd"
        }
    }
}
