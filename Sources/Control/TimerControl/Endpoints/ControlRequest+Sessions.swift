// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The endpoints for the sessions of the status page.
extension ControlRequest {
    static let sessionEndpoints: [any AnyEndpoint] = [
        loginLink.endpoint, login, session.endpoint, logout.endpoint, revokeSessions, web.endpoint,
    ]

    public static let loginLink = post(
        "loginLink", "/v1/login-links",
        "Make a link that begins a session of the status page, once, within 60 s, with the rights of the client.",
        for: .readersAtSocket, answer: .json(LoginLinkReply.self, "The link.")
    ).request

    public static let login = post(
        "login", "/v1/login", "Use such a link, as the web server does.", for: .beforeLogin,
        body: .login, answer: .json(LoginReply.self, "The session."))

    public static let session = get(
        "session", "/v1/session", "Who asks, and whether they may change things.", for: .readers,
        answer: .json(SessionReply.self, "The user, and the end of the session.")
    ).request

    public static let logout = post(
        "logout", "/v1/session/logout", "End the session by which this is requested.",
        for: .sessions, answer: .json(SessionsReply.self, "What ended.")
    ).request

    public static let revokeSessions = post(
        "revokeSessions", "/v1/sessions/revoke",
        "End the sessions of the client, and its links; or those of another user, or of all users.",
        for: .ownersAtSocket, body: .sessionOwner,
        answer: .json(SessionsReply.self, "What ended."))

    public static let web = get(
        "web", "/v1/web", "What the web server must know before a user is logged in.",
        for: .beforeLogin, answer: .json(WebReply.self, "The hosts that it serves.")
    ).request
}
