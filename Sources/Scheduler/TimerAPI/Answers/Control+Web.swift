// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
import HostQueues
import NIOHTTP1
import Synchronization
package import TimerConfig
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerLog

/// Who may do what: the operators, the sessions of the status page, and where that is served.
package final class ControlAccess: Sendable {
    let operators: Operators
    let sessions: WebSessions
    let users: SessionUsers
    private let hosts = Mutex<[String]>([])

    /// - Parameter socket: the path of the control socket.
    package init(
        socket: String, operators: Operators = Operators(), sessions: WebSessions = WebSessions(),
        users: SessionUsers? = nil
    ) {
        self.operators = operators
        self.sessions = sessions
        self.users = users ?? SessionUsers(socket: socket)
    }

    /// Follows the configuration that is in use from now on.
    package func use(_ settings: DaemonSettings) {
        operators.use(settings.operators)
        hosts.withLock { $0 = settings.webHosts }
    }

    /// The hosts under which a reverse proxy serves the status page.
    var webHosts: [String] { hosts.withLock { $0 } }
}

extension Control {
    /// A link gives the rights that the user has by the user database. The process that asks may have others, so that
    /// a link that would be of no use is refused with the reason.
    func makeLoginLink(for peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        access.users.check(peer, isNew: true) { finding in
            switch finding {
            case .current(let peer): makeCheckedLink(for: peer, reply)
            case .unknown(let reason): reply(.error(.serviceUnavailable, reason))
            case .over(let reason):
                reply(
                    .error(
                        .forbidden,
                        "there is no status page for you: \(reason), according to the user database"
                    ))
            }
        }
    }

    private func makeCheckedLink(for peer: Peer, _ reply: ControlAnswer.Reply) {
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

    func logIn(_ token: String, _ reply: @escaping ControlAnswer.Reply) {
        guard let (key, found) = access.sessions.begin(token) else {
            return reply(
                .error(
                    .unauthorized,
                    "this link was used already, or is older than 60 s; `timerctl web` makes another one"
                ))
        }
        checkUser(of: found.peer) { finding in
            switch finding {
            case .over(let reason): reply(.error(.unauthorized, reason))
            case .unknown(let reason):
                _ = access.sessions.end(key)
                reply(.error(.serviceUnavailable, reason))
            case .current(let peer):
                log(.loggedIn(peer.name), of: peer)
                send(.ok, LoginReply(session: key, until: instant(in: found.left)), reply)
            }
        }
    }

    func session(of peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        access.operators.check(peer) { right in
            var until: String?
            if case .session(let key) = peer.origin {
                until = access.sessions.find(key).map { instant(in: $0.left) }
            }
            send(
                .ok,
                SessionReply(user: peer.name, mayChange: right == .granted, until: until), reply)
        }
    }

    /// Checks the user of a session. If they lost the right to use the page, all their sessions end.
    package func checkUser(
        of peer: Peer, _ done: @escaping @Sendable (SessionUsers.Finding) -> Void
    ) {
        access.users.check(peer) { finding in
            if case .over(let reason) = finding {
                // Another user may have the same number now, and sessions too.
                let ended = access.sessions.revoke { $0.uid == peer.uid && $0.name == peer.name }
                if ended.sessions > 0 {
                    let notice = DaemonNotice.sessionsEnded(
                        ended.sessions, of: peer.name, because: reason)
                    loop.later { $0.log(notice) }
                }
            }
            done(finding)
        }
    }

    func logOut(_ peer: Peer, _ reply: ControlAnswer.Reply) {
        var ended = false
        if case .session(let key) = peer.origin { ended = access.sessions.end(key) }
        send(.ok, SessionsReply(sessions: ended ? 1 : 0), reply)
    }

    func revokeSessions(
        of owner: SessionOwner, by peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        switch owner {
        case .client: revoke("\(peer.name)", by: peer, reply) { $0.uid == peer.uid }
        case .all: revoke("all users", by: peer, reply) { _ in true }
        case .user(let name): revokeSessions(ofUser: name, by: peer, reply)
        }
    }

    /// Sessions are found by the name that their user had when they began, also if no user has that name now; and by
    /// its number, if that can be looked up.
    private func revokeSessions(
        ofUser name: String, by peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        let ended = access.sessions.revoke { $0.name == name }
        access.operators.findUser(name) { answer in
            var ended = ended
            if case .found(let uid) = answer {
                let others = access.sessions.revoke { $0.uid == uid }
                ended.sessions += others.sessions
                ended.links += others.links
            }
            switch answer {
            case .missing where ended.sessions + ended.links == 0:
                reply(
                    .error(
                        .notFound, "no user is named \"\(name)\", and no session is of such a user")
                )
            case .failed(let code) where ended.sessions + ended.links == 0:
                reply(
                    .error(
                        .serviceUnavailable,
                        "no session is of a user with this name, whose number cannot be looked up "
                            + "(\(systemError(code))); try again later, or end the sessions of all users"
                    ))
            case .found, .missing, .failed: finish(ended, of: name, by: peer, reply)
            }
        }
    }

    private func revoke(
        _ users: String, by peer: Peer, _ reply: ControlAnswer.Reply,
        _ isMeant: @Sendable (Peer) -> Bool
    ) {
        finish(access.sessions.revoke(isMeant), of: users, by: peer, reply)
    }

    private func finish(
        _ ended: SessionTable.Ended, of users: String, by peer: Peer, _ reply: ControlAnswer.Reply
    ) {
        if ended.sessions > 0 {
            log(
                .sessionsEnded(ended.sessions, of: users, because: "\(peer.name) revoked them"),
                of: peer)
        }
        send(.ok, SessionsReply(sessions: ended.sessions), reply)
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
