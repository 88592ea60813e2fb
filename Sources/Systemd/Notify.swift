// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Notifications to the service manager (sd_notify(3)): state changes as lines of `NAME=VALUE` in one
/// datagram. Sending never waits.
public struct Notify: Sendable {
    /// The most bytes of a status line; what is longer is cut off.
    public static let statusBytesMax = 1024

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

    /// Whether anybody supervises this process.
    public var isSupervised: Bool { isAddressed }

    /// The service is up, or done reloading.
    public func ready(status: String) -> Result { send(["READY=1", Self.status(status)]) }

    /// One line for `systemctl status`.
    public func status(_ text: String) -> Result { send([Self.status(text)]) }

    /// The configuration is being read again, since this many microseconds of CLOCK_MONOTONIC. Ends with
    /// the next `ready`.
    public func reloading(monotonic microseconds: Int64) -> Result {
        send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"])
    }

    /// The service is going down.
    public func stopping() -> Result { send(["STOPPING=1"]) }

    /// The start or stop going on takes up to this much longer.
    public func extendTimeout(_ span: Duration) -> Result {
        send(["EXTEND_TIMEOUT_USEC=\(span.components.seconds * 1_000_000)"])
    }

    /// The service is alive.
    public func watchdog() -> Result { send(["WATCHDOG=1"]) }

    private func send(_ lines: [String]) -> Result {
        guard isAddressed else { return .notSupervised }
        guard let socket else { return .failed(EINVAL) }
        let code = socket.send(Array(lines.joined(separator: "\n").utf8))
        return code == 0 ? .sent : .failed(code)
    }

    /// A newline in a status would begin another assignment.
    private static func status(_ text: String) -> String {
        let line = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : $0 }))
        return "STATUS=" + String(decoding: line.utf8.prefix(statusBytesMax), as: UTF8.self)
    }
}
