// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The user at the other end of a connection, as the kernel saw it when the connection was made
/// (unix(7), SO_PEERCRED).
struct Peer: Sendable, Hashable {
    var pid: Int32
    var uid: UInt32
    /// The user's name, or `uid N` until `UserNames` has found it.
    var name: String

    init(pid: Int32, uid: UInt32) {
        self.pid = pid
        self.uid = uid
        name = UserNames.number(uid)
    }

    /// Root and the daemon's own user may change things. Other users who can connect have read
    /// access.
    var mayChange: Bool { uid == 0 || uid == geteuid() }
}
