// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import HostFiles

/// What the user database says now of the users who have sessions of the status page.
///
/// A session begins with the rights of the process that asked for its link, and keeps them for days. So each request of
/// a session is checked: the user must still exist, under the same name, and be allowed to connect to the control
/// socket; and of the groups of that process only those count that the user still has.
package final class SessionUsers: Sendable {
    /// A user as the user database knows them.
    struct User: Hashable, Sendable {
        var name: String
        var groups: Set<UInt32>
        /// Whether a new process of this user could connect to the control socket.
        var mayConnect: Bool
    }

    /// What becomes of a request of a session.
    package enum Finding: Hashable, Sendable {
        /// The session is valid, and has the rights of this peer now.
        case current(Peer)
        /// The session must end, for this reason.
        case over(String)
        /// It cannot be found out now whether the session still has its rights, for this reason.
        case unknown(String)
    }

    /// The most groups of a user, which is the kernel's limit (NGROUPS_MAX).
    static let groupsMax = 65_536

    private let socket: String
    private let cache: LookUpCache<UInt32, User>

    /// - Parameters:
    ///   - socket: the path of the control socket.
    ///   - lookUp: finds a user; may block.
    init(
        socket: String, limits: LookUpLimits = LookUpLimits(),
        now: @escaping @Sendable () -> UInt64 = WebSessions.clock,
        lookUp: (@Sendable (UInt32) -> UserDatabase.Answer<User>)? = nil
    ) {
        self.socket = socket
        cache = LookUpCache(label: "timerd.session-users", limits: limits, now: now) { uid in
            lookUp?(uid) ?? Self.lookUp(uid, connectingTo: socket)
        }
    }

    /// Checks the user of a session, or the one who asks for a link. Calls `done` once, at once or on another thread.
    ///
    /// Root and the daemon's own user can always connect, so they are not looked up, and can use the page while a
    /// directory service does not answer. A program with a token is no user.
    ///
    /// - Parameter isNew: whether the peer asks for a link, so that its name is not known yet.
    func check(
        _ peer: Peer, isNew: Bool = false, _ done: @escaping @Sendable (Finding) -> Void
    ) {
        guard !peer.isOwner, peer.origin != .program else { return done(.current(peer)) }
        cache.find(peer.uid) { [socket] answer in
            switch answer {
            case .missing:
                done(.over("no user has the uid \(peer.uid) now"))
            case .failed(let code):
                done(
                    .unknown(
                        "the groups of your user cannot be looked up (\(systemError(code))), so that your rights are "
                            + "not known; try again later"))
            case .found(let user) where !isNew && user.name != peer.name:
                done(.over("the uid \(peer.uid) belongs to another user now"))
            case .found(let user) where !user.mayConnect:
                done(.over("the user \(user.name) may not connect to \(socket)"))
            case .found(let user):
                var peer = peer
                peer.name = user.name
                peer.groups.removeAll { !user.groups.contains($0) }
                done(.current(peer))
            }
        }
    }

    private static func lookUp(
        _ uid: UInt32, connectingTo socket: String
    ) -> UserDatabase.Answer<User> {
        switch UserDatabase.user(uid) {
        case .missing: return .missing
        case .failed(let code): return .failed(code)
        case .found(let entry):
            guard
                let groups = UserDatabase.groups(
                    ofUser: entry.name, primary: entry.gid, upTo: groupsMax)
            else { return .failed(E2BIG) }
            let answer = clinux_may_connect(socket, uid, groups, Int32(groups.count))
            guard answer >= 0 else { return .failed(errno) }
            return .found(User(name: entry.name, groups: Set(groups), mayConnect: answer == 1))
        }
    }
}
