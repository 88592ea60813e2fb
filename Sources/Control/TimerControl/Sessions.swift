// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A link to the status page, with which a browser is logged in.
public struct LoginLinkReply: Codable, Hashable, Sendable {
    /// Its path and query.
    public var path: String
    /// Until when it can be used, RFC 3339.
    public var until: String
    /// Where the status page is served: the first of the configured hosts, with https; absent
    /// without any.
    public var url: String?

    public init(path: String, until: String, url: String?) {
        self.path = path
        self.until = until
        self.url = url
    }
}

/// A session that was begun.
public struct LoginReply: Codable, Hashable, Sendable {
    /// What the web server sends in the header Timerd-Session.
    public var session: String
    /// When it ends without a further request, RFC 3339.
    public var until: String

    public init(session: String, until: String) {
        self.session = session
        self.until = until
    }
}

/// Who asks, as the daemon sees it.
public struct SessionReply: Codable, Hashable, Sendable {
    /// Whether the user may change anything; otherwise only read.
    public var mayChange: Bool
    /// When the session ends without a further request, RFC 3339; absent if it is no session of the
    /// status page.
    public var until: String?
    /// The name of the user; of the control socket, from the credentials of the client.
    public var user: String

    public init(user: String, mayChange: Bool, until: String?) {
        self.user = user
        self.mayChange = mayChange
        self.until = until
    }
}

/// How many sessions were ended.
public struct SessionsReply: Codable, Hashable, Sendable {
    /// Whether there was a session to end.
    public var changed: Bool
    /// How many sessions ended.
    public var sessions: Int

    public init(sessions: Int) {
        changed = sessions > 0
        self.sessions = sessions
    }
}

/// What the web server must know before a user is logged in.
public struct WebReply: Codable, Hashable, Sendable {
    /// `hosts` of `[web]` in the configuration.
    public var hosts: [String]

    public init(hosts: [String]) { self.hosts = hosts }
}

/// The body of the request that begins a session: the token of a link.
public struct LoginBody: Codable, Hashable, Sendable, RequestBody {
    static var example: String { #"{"token": "…"}"# }

    public var token: String

    public init(token: String) { self.token = token }
}

extension BodyForm where Value == LoginBody {
    static let login = BodyForm("LoginBody", isRequired: true) {
        (body: [UInt8]) throws(ControlRequest.Fault) -> LoginBody in
        try LoginBody.read(["token"], from: body)
    } write: {
        try ControlJSON.encode($0)
    }
}

/// Whose sessions of the status page a request means.
public enum SessionOwner: Hashable, Sendable {
    /// The user who asks.
    case client
    /// The user with this name, which may belong to no user any more.
    case user(String)
    /// All users, for which the client must be allowed to make changes.
    case all
}

extension SessionOwner: OwnedBody {
    var isOfOthers: Bool { self != .client }
}

extension BodyForm where Value == SessionOwner {
    static let sessionOwner = BodyForm("RevokeBody", read: RevokeBody.read) {
        try RevokeBody($0).map { try ControlJSON.encode($0) } ?? []
    }
}

/// The body of the request that ends sessions; `all` and `user` exclude each other.
struct RevokeBody: Codable, RequestBody {
    static var example: String { #"{"user": "alice"}"# }
    /// The most bytes of a name; useradd(8) allows 32.
    static let nameBytesMax = 256

    var all: Bool?
    var user: String?

    /// Those of the client if there is no body.
    static func read(_ body: [UInt8]) throws(ControlRequest.Fault) -> SessionOwner {
        guard !body.isEmpty else { return .client }
        let whose = try RevokeBody.read(["all", "user"], from: body)
        guard let user = whose.user else { return whose.all == true ? .all : .client }
        guard whose.all == nil else { throw .badBody("all and user exclude each other") }
        guard (1...nameBytesMax).contains(user.utf8.count),
            user.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
        else { throw .badBody("user is not the name of a user, such as in \(example)") }
        return .user(user)
    }

    /// The body of such a request; nil if it has none.
    init?(_ owner: SessionOwner) {
        switch owner {
        case .client: return nil
        case .user(let name): user = name
        case .all: all = true
        }
    }
}
