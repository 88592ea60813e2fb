// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What may be asked of the daemon, and how it is written as HTTP.
public enum ControlRequest: Hashable, Sendable {
    /// The daemon and all jobs: `GET /v1/jobs`.
    case list
    /// One job: `GET /v1/jobs/NAME`.
    case show(Job.Name)
    /// An order: `POST /v1/jobs/NAME/VERB`, with `{"note": …}` if there is one.
    case order(Order.Verb, Job.Name, note: String?)
    /// Read the configuration again: `POST /v1/reload`.
    case reload

    /// Whether it changes anything, so that only some may ask it.
    public var isChange: Bool {
        switch self {
        case .list, .show: false
        case .order, .reload: true
        }
    }

    /// The method of HTTP it goes by.
    public var method: String { isChange ? "POST" : "GET" }

    /// The path it goes by.
    public var path: String {
        switch self {
        case .list: "/v1/jobs"
        case .show(let job): "/v1/jobs/\(job)"
        case .order(let verb, let job, _): "/v1/jobs/\(job)/\(verb.rawValue)"
        case .reload: "/v1/reload"
        }
    }

    /// The body it carries, as JSON; empty without one.
    public var body: [UInt8] {
        guard case .order(_, _, let note?) = self else { return [] }
        return (try? ControlJSON.encode(OrderBody(note: note))) ?? []
    }

    /// Why an HTTP request is none of these.
    public enum Fault: Error, Hashable, Sendable {
        /// There is nothing at this path.
        case notFound(String)
        /// The path is good, the method is not.
        case methodNotAllowed(allowed: String)
        /// The body cannot be used.
        case badBody(String)
    }

    /// Reads a request of HTTP.
    public init(method: String, path: String, body: [UInt8]) throws(Fault) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        switch (parts.first, parts.count) {
        case ("v1", 2) where parts[1] == "jobs": self = .list
        case ("v1", 2) where parts[1] == "reload": self = .reload
        case ("v1", 3) where parts[1] == "jobs":
            self = .show(try Self.name(parts[2]))
        case ("v1", 4) where parts[1] == "jobs":
            guard let verb = Order.Verb(rawValue: parts[3]) else { throw .notFound(path) }
            self = .order(verb, try Self.name(parts[2]), note: try Self.note(in: body))
        default: throw .notFound(path)
        }
        guard method == self.method else { throw .methodNotAllowed(allowed: self.method) }
    }

    private static func name(_ text: String) throws(Fault) -> Job.Name {
        guard let name = Job.Name(text) else { throw .notFound(text) }
        return name
    }

    private static func note(in body: [UInt8]) throws(Fault) -> String? {
        guard !body.isEmpty else { return nil }
        guard let order = try? ControlJSON.decode(OrderBody.self, from: body) else {
            throw .badBody(#"the body must be JSON such as {"note": "disk swap"}"#)
        }
        guard let note = order.note, !note.isEmpty else { return nil }
        guard note.utf8.count <= OrderBody.noteBytesMax else {
            throw .badBody("a note has at most \(OrderBody.noteBytesMax) bytes")
        }
        return note
    }
}

/// Where the control socket is if nobody says otherwise.
public enum ControlPath {
    /// The socket's name in the runtime directory.
    public static let fileName = "control.sock"

    /// The system daemon's socket for root, a user's own daemon's for everybody else, by the rule both
    /// ends share. Without XDG_RUNTIME_DIR there is no place of a user's own, and it is the system's.
    public static func standard(uid: UInt32, environment: [String: String]) -> String {
        "\(runtimeDirectory(uid: uid, environment: environment))/\(fileName)"
    }

    /// The runtime directory by the same rule.
    public static func runtimeDirectory(uid: UInt32, environment: [String: String]) -> String {
        if uid != 0, let own = environment["XDG_RUNTIME_DIR"], own.hasPrefix("/") {
            return "\(own)/timerd"
        }
        return "/run/timerd"
    }
}
