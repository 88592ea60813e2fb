// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Synchronization
import TimerConfig
import TimerControl
import TimerCore

/// Who may do what: the operators, the sessions of the status page, and where that is served.
final class ControlAccess: Sendable {
    let operators: Operators
    let sessions: WebSessions
    private let hosts = Mutex<[String]>([])

    init(operators: Operators = Operators(), sessions: WebSessions = WebSessions()) {
        self.operators = operators
        self.sessions = sessions
    }

    /// Follows the configuration that is in use from now on.
    func use(_ settings: DaemonSettings) {
        operators.use(settings.operators)
        hosts.withLock { $0 = settings.webHosts }
    }

    /// The hosts under which a reverse proxy serves the status page.
    var webHosts: [String] { hosts.withLock { $0 } }
}

/// The sessions of the status page.
extension Control {
    func makeLoginLink(for peer: Peer, _ reply: ControlAnswer.Reply) {
        guard let token = access.sessions.makeLink(for: peer) else {
            return reply(
                .error(
                    .serviceUnavailable,
                    "other users have \(SessionTable.linksMax) links that they have not used yet, which is the "
                        + "limit; try again in a minute"))
        }
        log(.loginLinkMade(by: peer.name), of: peer)
        send(
            .ok,
            LoginLinkReply(
                path: "/login?token=\(token)", until: instant(in: SessionTable.linkTime),
                url: access.webHosts.first.map { "https://\($0)" }), reply)
    }

    func logIn(_ token: String, _ reply: ControlAnswer.Reply) {
        guard let (key, found) = access.sessions.begin(token) else {
            return reply(
                .error(
                    .unauthorized,
                    "this link was used already, or is older than 60 s; `timerctl web` makes another one"
                ))
        }
        log(.loggedIn(found.peer.name), of: found.peer)
        send(.ok, LoginReply(session: key, until: instant(in: found.left)), reply)
    }

    func session(of peer: Peer, _ reply: ControlAnswer.Reply) {
        var until: String?
        if case .session(let key) = peer.origin {
            until = access.sessions.find(key).map { instant(in: $0.left) }
        }
        send(
            .ok, SessionReply(user: peer.name, mayChange: mayChange(peer), until: until), reply)
    }

    func logOut(_ peer: Peer, _ reply: ControlAnswer.Reply) {
        var ended = false
        if case .session(let key) = peer.origin { ended = access.sessions.end(key) }
        send(.ok, SessionsReply(sessions: ended ? 1 : 0), reply)
    }

    func revokeSessions(_ uid: UInt32?, _ reply: ControlAnswer.Reply) {
        send(.ok, SessionsReply(sessions: access.sessions.revoke(uid: uid)), reply)
    }

    private func log(_ notice: DaemonNotice, of peer: Peer) {
        guard access.sessions.mayLog(peer.uid) else { return }
        loop.later { $0.log(notice) }
    }

    private func instant(in nanoseconds: UInt64) -> String {
        let left: Duration = .nanoseconds(Int64(nanoseconds))
        return (loop.clocks.wall + left).rfc3339Micros
    }
}
