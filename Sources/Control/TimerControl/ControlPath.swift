// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
