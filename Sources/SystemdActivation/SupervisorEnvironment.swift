// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import Systemd

/// What the service manager handed this process in its environment. It is read once and taken out, so that
/// no child of this process speaks to the manager in its name.
public struct SupervisorEnvironment: Sendable {
    /// Where notifications go.
    public let notify: Notify
    /// How often the manager expects a sign of life; nil if it does not watch.
    public let watchdogInterval: Duration?
    /// The sockets it passed, in their order.
    public let sockets: [ListenSocket]

    /// Reads the environment of this process and removes what it read. To be called once, before other
    /// threads exist: setenv(3) is not safe beside them.
    public static func take() -> SupervisorEnvironment {
        // sd_watchdog_enabled(3) looks at WATCHDOG_PID as well, sd_listen_fds_with_names(3) at LISTEN_PID;
        // both take their variables away when told to, and the latter sets FD_CLOEXEC.
        var microseconds: UInt64 = 0
        let isWatched = sd_watchdog_enabled(1, &microseconds) > 0
        let sockets = takeSockets()
        return SupervisorEnvironment(
            notify: Notify.take(),
            watchdogInterval: isWatched && microseconds > 0 ? .microseconds(microseconds) : nil,
            sockets: sockets)
    }

    private static func takeSockets() -> [ListenSocket] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_listen_fds_with_names(1, &names)
        guard count > 0 else { return [] }
        defer {
            for index in 0..<Int(count) { free(names?[index]) }
            free(names)
        }
        return (0..<count).map { index in
            ListenSocket(
                descriptor: SD_LISTEN_FDS_START + index,
                name: names?[Int(index)].map { String(cString: $0) } ?? "unknown")
        }
    }
}
