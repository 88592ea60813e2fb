// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The requests to the daemon, and their form in HTTP.
public enum ControlRequest: Hashable, Sendable {
    /// The daemon and all jobs: `GET /v1/jobs`.
    case list
    /// One job: `GET /v1/jobs/NAME`.
    case show(Job.Name)
    /// Why a job has not run, and what could keep it from running: `GET /v1/jobs/NAME/why`.
    case why(Job.Name)
    /// A command for a job: `POST /v1/jobs/NAME/VERB`, with its values as JSON.
    case order(Order.Verb, Job.Name, OrderBody = OrderBody())
    /// The same command for many jobs, in one transaction: `POST /v1/jobs/VERB`, with `jobs` or
    /// `all` as JSON beside the values of the command; for `resume` also with `pauses`.
    case orders(Order.Verb, JobSelection, OrderBody = OrderBody())
    /// The ended runs, the latest first: `GET /v1/runs`, with `job`, `failed`, `since` and `limit`
    /// as a query.
    case history(HistoryQuery)
    /// One run, whether it has ended or not: `GET /v1/runs/RUN`.
    case run(Run.ID)
    /// The next runs of all jobs: `GET /v1/upcoming`, with `job`, `match`, `until`, `limit` and
    /// `grouped` as a query.
    case upcoming(UpcomingQuery)
    /// The output of a job: `GET /v1/jobs/NAME/log`, with `run` and `after` as a query.
    case log(Job.Name, run: Run.ID?, after: UInt64?)
    /// End the active runs of a job, or send them a signal: `POST /v1/jobs/NAME/kill`, with `run`
    /// as a query for one of them and `{"signal": …}` for a signal.
    case kill(Job.Name, run: Run.ID?, KillBody)
    /// Read the configuration again: `POST /v1/reload`.
    case reload
    /// The same, but any error refuses the whole configuration: `POST /v1/reload?strict=1`.
    case strictReload
    /// What a reload would change: `GET /v1/reload`.
    case previewReload
    /// What happens, as server-sent events: `GET /v1/events`, with `after`, `last`, `job` and `follow` as a query.
    case events(EventQuery)
    /// The last runs of each job, in few bytes: `GET /v1/recent`, with `count` and `after` as a query.
    case recent(count: Int, after: Job.Name?)
    /// The runs of a job by the day: `GET /v1/jobs/NAME/days`, with `count` as a query.
    case days(Job.Name, count: Int)
    /// The pauses that ended: `GET /v1/pauses`, with `job`, `since`, `until` and `limit` as a query.
    case pauses(PauseQuery)
    /// The OpenAPI document of the API: `GET /v1/openapi.json`.
    case document
    /// Metrics for Prometheus: `GET /metrics`, with the format as the header `Accept`.
    case metrics(MetricsFormat = .text)

    /// The messages about jobs, the latest first: `GET /v1/notifications`, with `state`, `limit` and
    /// `cursor` as a query.
    case messages(NotificationQuery)
    /// Send a message again that could not be sent: `POST /v1/notifications/NUMBER/retry`.
    case retryMessage(Int64)
    /// Who is notified about jobs, and how that works: `GET /v1/notifiers`.
    case notifiers
    /// Send a test message: `POST /v1/notifiers/NAME/test`, or show it only, with `dry_run` as a
    /// query.
    case testNotifier(Notifier.Name, dryRun: Bool)

    /// The data for the definition of a one-off job: its place, and an unused name if a base is
    /// given: `GET /v1/one-offs`, with `base` as a query.
    case oneOffs(base: String?)
    /// Load the one-off job whose definition was written: `POST /v1/one-offs/NAME`.
    case takeOneOff(Job.Name)
    /// Remove a one-off job whose definition was deleted: `POST /v1/one-offs/NAME/cancel`.
    case cancelOneOff(Job.Name)

    /// The fleet that this machine belongs to: `GET /v1/fleet`.
    case fleet
    /// A command for the fleet: `POST /v1/fleet`, with `{"verb": …}`, for some of them with `job`.
    case fleetOrder(FleetOrder)

    /// Make a link that begins a session of the status page, once, with the client's own rights:
    /// `POST /v1/login-links`.
    case loginLink
    /// Use such a link, as the web server does: `POST /v1/login`, with `{"token": …}`.
    case login(token: String)
    /// Who asks, and whether they may change things: `GET /v1/session`.
    case session
    /// End the session by which this is asked: `POST /v1/session/logout`.
    case logout
    /// End all sessions of the client, with `{"user": …}` those of another user, or with `{"all": true}` those of all
    /// users: `POST /v1/sessions/revoke`.
    case revokeSessions(SessionOwner)
    /// What the web server must know before a user is logged in: `GET /v1/web`.
    case web

    /// Whether it changes anything, so that it is not allowed for users with read access.
    public var isChange: Bool {
        switch self {
        case .list, .show, .why, .history, .run, .upcoming, .log, .previewReload, .document,
            .oneOffs, .loginLink, .login, .session, .logout, .web, .metrics,
            .events, .recent, .days, .messages, .notifiers, .pauses, .fleet:
            false
        case .revokeSessions(let owner): owner != .client
        case .order, .orders, .kill, .reload, .strictReload, .takeOneOff, .cancelOneOff,
            .retryMessage, .testNotifier, .fleetOrder:
            true
        }
    }

    /// Whether it may come from a browser by way of the web server. A session cannot make another one, and the files of
    /// one-off jobs are written by timerctl.
    public var isForBrowsers: Bool {
        switch self {
        case .list, .show, .why, .history, .run, .upcoming, .log, .previewReload, .document,
            .order, .orders, .kill, .reload, .strictReload, .cancelOneOff, .login, .session,
            .logout, .web, .metrics, .events, .recent, .days, .messages, .retryMessage,
            .notifiers, .testNotifier, .pauses, .fleet:
            true
        case .oneOffs, .takeOneOff, .loginLink, .revokeSessions, .fleetOrder: false
        }
    }

    /// Whether the web server may ask it before a user is logged in.
    public var isBeforeLogin: Bool {
        switch self {
        case .login, .web: true
        default: false
        }
    }

    /// Whether it may concern all jobs and be slow.
    var isLong: Bool {
        switch self {
        case .list, .upcoming, .orders, .reload, .strictReload, .previewReload, .metrics,
            .testNotifier, .fleetOrder:
            true
        case .show, .why, .order, .history, .run, .log, .kill, .document, .oneOffs, .takeOneOff,
            .cancelOneOff, .loginLink, .login, .session, .logout, .revokeSessions, .web,
            .events, .recent, .days, .messages, .retryMessage, .notifiers, .pauses, .fleet:
            false
        }
    }

    /// POST for what changes something, and for what begins or ends sessions; otherwise GET.
    public var method: String {
        switch self {
        case .loginLink, .login, .logout, .revokeSessions: "POST"
        default: isChange ? "POST" : "GET"
        }
    }

    /// The path and the query, percent-encoded.
    public var path: String {
        switch self {
        case .list: "/v1/jobs"
        case .show(let job): "/v1/jobs/\(job)"
        case .why(let job): "/v1/jobs/\(job)/why"
        case .order(let verb, let job, _): "/v1/jobs/\(job)/\(verb.rawValue)"
        case .orders(let verb, _, _): "/v1/jobs/\(verb.rawValue)"
        case .history(let query): "/v1/runs" + query.text
        case .run(let run): "/v1/runs/\(run)"
        case .upcoming(let query): "/v1/upcoming" + query.text
        case .log(let job, let run, let after):
            "/v1/jobs/\(job)/log"
                + QueryText.write([("run", run?.description), ("after", after.map { "\($0)" })])
        case .kill(let job, let run, _):
            "/v1/jobs/\(job)/kill" + QueryText.write([("run", run?.description)])
        case .reload, .previewReload: "/v1/reload"
        case .strictReload: "/v1/reload?strict=1"
        case .oneOffs(let base): "/v1/one-offs" + QueryText.write([("base", base)])
        case .takeOneOff(let job): "/v1/one-offs/\(job)"
        case .cancelOneOff(let job): "/v1/one-offs/\(job)/cancel"
        case .events(let query): "/v1/events" + query.text
        case .recent(let count, let after):
            "/v1/recent" + QueryText.write([("count", "\(count)"), ("after", after?.description)])
        case .days(let job, let count): "/v1/jobs/\(job)/days?count=\(count)"
        case .messages(let query): "/v1/notifications" + query.text
        case .retryMessage(let number): "/v1/notifications/\(number)/retry"
        case .notifiers: "/v1/notifiers"
        case .testNotifier(let name, let dryRun):
            "/v1/notifiers/\(name)/test" + QueryText.write([("dry_run", dryRun ? "1" : nil)])
        case .pauses(let query): "/v1/pauses" + query.text
        case .fleet, .fleetOrder: "/v1/fleet"
        case .document: "/v1/openapi.json"
        case .loginLink: "/v1/login-links"
        case .login: "/v1/login"
        case .session: "/v1/session"
        case .logout: "/v1/session/logout"
        case .revokeSessions: "/v1/sessions/revoke"
        case .web: "/v1/web"
        case .metrics: "/metrics"
        }
    }

    /// The body as JSON; empty if there is none.
    public var body: [UInt8] {
        switch self {
        case .order(_, _, let body) where body != OrderBody():
            return (try? ControlJSON.encode(body)) ?? []
        case .orders(_, let jobs, let body):
            return (try? ControlJSON.encode(OrdersBody(jobs, body))) ?? []
        case .kill(_, _, let body) where body != KillBody():
            return (try? ControlJSON.encode(body)) ?? []
        case .fleetOrder(let order): return (try? ControlJSON.encode(order)) ?? []
        case .login(let token):
            return (try? ControlJSON.encode(LoginBody(token: token))) ?? []
        case .revokeSessions(let owner):
            return RevokeBody(owner).flatMap { try? ControlJSON.encode($0) } ?? []
        default: return []
        }
    }
}

/// Where a client looks for the control socket, and a daemon creates it, if no option says
/// otherwise.
public enum ControlPath {
    /// The control socket in the runtime directory.
    public static let fileName = "control.sock"
    /// The name of a datagram socket in the runtime directory of a daemon, to which clients can connect as long as it
    /// is running. Nothing is sent there.
    public static let aliveName = "alive.sock"
    /// The name of the socket for the web server in the runtime directory of a daemon: nothing is answered there but
    /// for a session of the status page, or a token.
    public static let webName = "web.sock"

    /// Whose daemon it is.
    public enum Owner: Hashable, Sendable {
        /// The system's daemon, which root starts.
        case system
        /// The daemon of one user.
        case user
    }

    /// The control socket of a daemon. Without an owner, this is the system's daemon for root and
    /// the user's own daemon for other users. Both sides use this rule.
    public static func standard(
        of owner: Owner? = nil, uid: UInt32, environment: [String: String]
    ) -> String {
        "\(runtimeDirectory(of: owner, uid: uid, environment: environment))/\(fileName)"
    }

    /// The runtime directory by the same rule. Without XDG_RUNTIME_DIR a user has no such
    /// directory, and the result is the system's. If the user's daemon was requested, it is the
    /// directory that systemd creates (user@.service(5)).
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
