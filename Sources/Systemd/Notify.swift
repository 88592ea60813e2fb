// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Notifications to the service manager (sd_notify(3)): state changes as lines of `NAME=VALUE` in one
/// datagram. Sending never waits.
public struct Notify: Sendable {
    /// The most bytes of a status line; what is longer is cut off between two characters.
    public static let statusBytesMax = 1024
    /// The longest extension of a time limit that is asked for; more is taken as this.
    public static let extensionMax = Duration.seconds(24 * 3600)

    /// One thing the manager can be told.
    public enum State: Hashable, Sendable {
        /// The service is up, or done reloading.
        case ready
        /// One line for `systemctl status`.
        case status(String)
        /// The configuration is being read again, since this many microseconds of CLOCK_MONOTONIC. It ends
        /// with the next `ready`. The instant lets the manager tell the `ready` of this reload from an
        /// older one (Type=notify-reload, systemd 253 and later; older ones ignore it).
        case reloading(monotonic: Int64)
        /// The service is going down.
        case stopping
        /// The start or stop going on takes up to this much longer, from now on. In microseconds, rounded
        /// up: a span too short to be said would else ask for none at all.
        case extendTimeout(Duration)
        /// The service is alive.
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
        /// The manager's socket took it.
        case sent
        /// Nobody supervises this process.
        case notSupervised
        /// The errno it failed with; EAGAIN if the manager does not read.
        case failed(Int32)
    }

    private let socket: DatagramSocket?
    private let isAddressed: Bool

    /// - Parameter address: the value of NOTIFY_SOCKET; nil without one.
    public init(address: String?) {
        isAddressed = address != nil
        socket = address.flatMap { DatagramSocket(address: $0) }
    }

    /// What NOTIFY_SOCKET says, which is taken out of the environment: no child speaks to the manager in the name of
    /// this process. To be called once, before other threads exist: unsetenv(3) is not safe beside them.
    public static func take() -> Notify {
        let address = getenv("NOTIFY_SOCKET").map { String(cString: $0) }
            .flatMap { $0.isEmpty ? nil : $0 }
        unsetenv("NOTIFY_SOCKET")
        return Notify(address: address)
    }

    /// Whether anybody supervises this process.
    public var isSupervised: Bool { isAddressed }

    /// Tells all of it at once: the manager sees either every state or none.
    public func send(_ states: [State]) -> Result {
        guard isAddressed else { return .notSupervised }
        guard let socket else { return .failed(EINVAL) }
        guard !states.isEmpty else { return .sent }
        let code = socket.send(Array(states.map(\.lines).joined(separator: "\n").utf8))
        return code == 0 ? .sent : .failed(code)
    }

    /// The service is up, or done reloading, and this is its status.
    public func ready(status: String) -> Result { send([.ready, .status(status)]) }

    /// One line for `systemctl status`.
    public func status(_ text: String) -> Result { send([.status(text)]) }

    /// The configuration is being read again, since this many microseconds of CLOCK_MONOTONIC. Ends with
    /// the next `ready`.
    public func reloading(monotonic microseconds: Int64) -> Result {
        send([.reloading(monotonic: microseconds)])
    }

    /// The service is going down.
    public func stopping() -> Result { send([.stopping]) }

    /// The start or stop going on takes up to this much longer, at most `extensionMax`.
    public func extendTimeout(_ span: Duration) -> Result { send([.extendTimeout(span)]) }

    /// The service is alive.
    public func watchdog() -> Result { send([.watchdog]) }

    /// A newline would begin another assignment, and the manager's clients show the text on terminals as
    /// it stands: whatever moves a cursor or turns the direction of writing becomes a space.
    private static func line(_ text: String) -> String {
        var line = ""
        var bytesLeft = statusBytesMax
        for scalar in text.unicodeScalars {
            let shown = isPlain(scalar) ? scalar : " "
            let bytes = UTF8.width(shown)
            guard bytes <= bytesLeft else { break }
            bytesLeft -= bytes
            line.unicodeScalars.append(shown)
        }
        return line
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return false
        default: break
        }
        // The embeddings, overrides and isolates of bidirectional text.
        return !(0x202a...0x202e).contains(scalar.value)
            && !(0x2066...0x2069).contains(scalar.value)
    }

    private static func microseconds(_ span: Duration) -> Int64 {
        let (seconds, attoseconds) = span.components
        let attosecondsPerMicrosecond: Int64 = 1_000_000_000_000
        return seconds * 1_000_000
            + (attoseconds + attosecondsPerMicrosecond - 1) / attosecondsPerMicrosecond
    }
}
