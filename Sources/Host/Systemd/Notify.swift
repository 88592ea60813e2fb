// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles

/// Notifications to the service manager (sd_notify(3)): state changes as lines of `NAME=VALUE` in one
/// datagram. Sending never waits.
public struct Notify: Sendable {
    /// The most bytes of a status line; a longer one is cut between two characters.
    public static let statusBytesMax = 1024
    /// The longest extension of a time limit that is requested; a longer one is cut to it.
    public static let extensionMax = Duration.seconds(24 * 3600)

    /// A state that can be reported to the manager.
    public enum State: Hashable, Sendable {
        /// The service has started, or has finished reloading.
        case ready
        /// One line for `systemctl status`.
        case status(String)
        /// The configuration is being reloaded, since this many microseconds of CLOCK_MONOTONIC,
        /// until the next `ready`. With this instant the manager can distinguish the `ready` of
        /// this reload from an older one (Type=notify-reload, systemd 253 and later; older ones
        /// ignore it).
        case reloading(monotonic: Int64)
        /// The service is stopping (STOPPING=1).
        case stopping
        /// The start or stop in progress may take this much longer, from now on. Sent in
        /// microseconds, rounded up, because a shorter time would be sent as none at all.
        case extendTimeout(Duration)
        /// The service is alive (WATCHDOG=1), which the manager wants to know regularly.
        case watchdog

        fileprivate var lines: String {
            switch self {
            case .ready: "READY=1"
            case .status(let text): "STATUS=" + Notify.line(text)
            case .reloading(let microseconds): "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
            case .stopping: "STOPPING=1"
            case .extendTimeout(let span):
                "EXTEND_TIMEOUT_USEC=\(Notify.microseconds(min(max(span, .zero), extensionMax)))"
            case .watchdog: "WATCHDOG=1"
            }
        }
    }

    /// What became of a notification.
    public enum Result: Hashable, Sendable {
        /// The manager's socket accepted it.
        case sent
        /// No service manager waits for notifications; nothing was sent.
        case notSupervised
        /// It failed with this errno; EAGAIN if the manager does not read.
        case failed(Int32)
    }

    private let socket: DatagramSocket?
    private let isAddressed: Bool

    /// - Parameter address: the value of NOTIFY_SOCKET; nil if it is not set.
    public init(address: String?) {
        isAddressed = address != nil
        socket = address.flatMap { DatagramSocket(address: $0) }
    }

    /// Reads NOTIFY_SOCKET and removes it from the environment, so that no child can notify the
    /// manager in the name of this process. Call it once, before other threads exist: unsetenv(3)
    /// is not thread-safe.
    public static func take() -> Notify {
        let address = getenv("NOTIFY_SOCKET").map { String(cString: $0) }
            .flatMap { $0.isEmpty ? nil : $0 }
        unsetenv("NOTIFY_SOCKET")
        return Notify(address: address)
    }

    /// Whether NOTIFY_SOCKET was set, so that a service manager waits for notifications.
    public var isSupervised: Bool { isAddressed }

    /// Sends all states in one datagram: the manager gets either all of them or none.
    public func send(_ states: [State]) -> Result {
        guard isAddressed else { return .notSupervised }
        guard let socket else { return .failed(EINVAL) }
        guard !states.isEmpty else { return .sent }
        let code = socket.send(Array(states.map(\.lines).joined(separator: "\n").utf8))
        return code == 0 ? .sent : .failed(code)
    }

    /// The service has started, or has finished reloading, with this status.
    public func ready(status: String) -> Result { send([.ready, .status(status)]) }

    /// Sends one line for `systemctl status`, which replaces the one before.
    public func status(_ text: String) -> Result { send([.status(text)]) }

    /// The configuration is being reloaded, since this many microseconds of CLOCK_MONOTONIC, until
    /// the next `ready`.
    public func reloading(monotonic microseconds: Int64) -> Result {
        send([.reloading(monotonic: microseconds)])
    }

    /// The service is stopping (STOPPING=1).
    public func stopping() -> Result { send([.stopping]) }

    /// The start or stop in progress may take this much longer, at most `extensionMax`.
    public func extendTimeout(_ span: Duration) -> Result { send([.extendTimeout(span)]) }

    /// The service is alive (WATCHDOG=1), which the manager wants to know regularly.
    public func watchdog() -> Result { send([.watchdog]) }

    /// A newline would start another assignment, and the manager's clients show the text on
    /// terminals without changes. So every character that moves the cursor or changes the writing
    /// direction becomes a space.
    private static func line(_ text: String) -> String {
        var line = ""
        var bytesLeft = statusBytesMax
        for scalar in text.unicodeScalars {
            let shown = scalar.controlsTerminal ? " " : scalar
            let bytes = UTF8.width(shown)
            guard bytes <= bytesLeft else { break }
            bytesLeft -= bytes
            line.unicodeScalars.append(shown)
        }
        return line
    }

    private static func microseconds(_ span: Duration) -> Int64 {
        let (seconds, attoseconds) = span.components
        let attosecondsPerMicrosecond: Int64 = 1_000_000_000_000
        return seconds * 1_000_000
            + (attoseconds + attosecondsPerMicrosecond - 1) / attosecondsPerMicrosecond
    }
}
