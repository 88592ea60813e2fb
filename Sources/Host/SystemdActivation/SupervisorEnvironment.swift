// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc
public import Systemd

/// What the service manager passed to this process in its environment. It is read once and removed,
/// so that no child of this process can communicate with the manager in its name.
public struct SupervisorEnvironment: Sendable {
    /// The notification socket of the manager; without one, nothing is sent.
    public let notify: Notify
    /// How often the manager expects a watchdog notification; nil if it does not watch this
    /// process.
    public let watchdogInterval: Duration?
    /// The sockets that the manager passed, in their order.
    public let sockets: [ListenSocket]

    /// Reads the variables of the service manager and removes them. Call it once, before other
    /// threads exist: setenv(3) is not thread-safe.
    public static func take() -> SupervisorEnvironment {
        // sd_watchdog_enabled(3) also checks WATCHDOG_PID, and sd_listen_fds_with_names(3)
        // LISTEN_PID. Both remove their variables if the first argument is 1, and the latter sets
        // FD_CLOEXEC.
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
