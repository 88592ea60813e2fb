// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The user who sends a request: the one at the other end of a connection to the control socket, as
/// the kernel saw it when the connection was made (unix(7), SO_PEERCRED), or the one whose session of
/// the status page it is.
package struct Peer: Sendable, Hashable {
    /// How many supplementary groups of a process are looked at; Linux has 65536 at most.
    static let groupsMax = 1024

    var pid: Int32
    var uid: UInt32
    /// The groups of the process, the primary one first.
    var groups: [UInt32] = []
    /// The user's name, or `uid N` until `UserNames` has found it.
    var name: String
    /// Who asks by way of the web server, if that is at the other end; it has no rights of its own.
    var origin = Origin.connection

    enum Origin: Sendable, Hashable {
        /// The process at the other end itself.
        case connection
        /// A session of the status page, with this key.
        case session(String)
        /// A program with a token, which may only read.
        case program
    }

    init(pid: Int32, uid: UInt32) {
        self.pid = pid
        self.uid = uid
        name = UserNames.number(uid)
    }

    /// The peer of an accepted connection, with the groups that its process had when it connected.
    init(_ credentials: clinux_peer, of connection: Int32) {
        self.init(pid: credentials.pid, uid: credentials.uid)
        var others = [UInt32](repeating: 0, count: Self.groupsMax)
        let count = clinux_peer_groups(connection, &others, Int32(others.count))
        groups = [credentials.gid] + others.prefix(Int(max(0, count)))
    }

    /// Root and the daemon's own user may do everything.
    var isOwner: Bool { origin != .program && (uid == 0 || uid == geteuid()) }
}
