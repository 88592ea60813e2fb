// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore
import TimerFleet
import TimerRunnerProtocol

/// Decides when to connect again: soon at first, and after each failure later.
struct LinkSearch {
    private static let pauseMin: Int64 = 50_000_000
    private static let pauseMax: Int64 = 2_000_000_000

    /// When the next attempt to connect is due, by CLOCK_MONOTONIC in nanoseconds.
    private(set) var retryAt: Int64 = 0
    private var pause = pauseMin
    private var connectedAt: Int64 = 0

    func isDue(at now: Int64) -> Bool { now >= retryAt }

    mutating func connected(at now: Int64) { connectedAt = now }

    /// There is no connection. One that lasted for a while is opened again soon.
    mutating func fail(at now: Int64) {
        if connectedAt > 0, now - connectedAt > Self.pauseMax { pause = Self.pauseMin }
        connectedAt = 0
        retryAt = now + pause
        pause = min(pause * 2, Self.pauseMax)
    }
}

extension LinkLoop {
    /// Connects without waiting: the answer to `hello` is a frame like any other.
    mutating func connect(_ now: Int64) {
        guard let descriptor = UnixSocket.connect(to: configuration.path) else {
            let code = errno
            search.fail(at: now)
            return report(FleetLinkStatus(isRunning: false, problem: problem(code)))
        }
        let user = FrameSocket.peer(of: descriptor)
        guard let user, user == 0 || user == geteuid() || configuration.users.contains(user) else {
            close(descriptor)
            search.fail(at: now)
            return report(
                FleetLinkStatus(
                    isRunning: false,
                    problem: "\(configuration.path): the process that listens there belongs to uid "
                        + "\(user.map(String.init) ?? "?"), which is not that of timerd-fleet; end "
                        + "it, and run: systemctl restart timerd-fleet"))
        }
        socket = FrameSocket(descriptor, frameBytesMax: FleetWire.reportBytesMax)
        heard = now
        socket?.send(
            FleetRequest.hello(version: FleetWire.version, fleet: configuration.fleet).bytes)
    }

    private func problem(_ code: Int32) -> String {
        let cause = String(cString: strerror(code))
        switch code {
        case ENOENT, ECONNREFUSED:
            return "timerd-fleet is not running (\(configuration.path): \(cause)); install the "
                + "package timerd-fleet, and run: systemctl enable --now timerd-fleet"
        case EACCES, EPERM:
            return "\(configuration.path): \(cause); timerd must run as root or as the user that "
                + "--scheduler-user of timerd-fleet names"
        default:
            return "\(configuration.path): cannot connect to timerd-fleet: \(cause)"
        }
    }

    /// `timerd-fleet` accepted this scheduler: what was requested meanwhile is sent.
    mutating func welcome(_ version: UInt64) {
        guard version == FleetWire.version else {
            return disconnect(
                "timerd-fleet speaks version \(version) of their protocol and timerd "
                    + "\(FleetWire.version); restart both: systemctl restart timerd-fleet timerd")
        }
        isGreeted = true
        search.connected(at: RunnerClock.awake())
        report(FleetLinkStatus(isRunning: true))
        for lease in leaseRequests { sendLeaseRequest(lease) }
        if case .loading = watch { sendLoad() }
    }

    /// Ends the connection. Nothing that was sent on it will be answered.
    mutating func disconnect(_ why: String?) {
        let wasGreeted = isGreeted
        socket = nil
        isGreeted = false
        snapshot = SnapshotParts()
        lostWhileRenewed = nil
        search.fail(at: RunnerClock.awake())
        if let why {
            report(FleetLinkStatus(isRunning: false, problem: why))
        } else {
            report(
                FleetLinkStatus(
                    isRunning: false,
                    problem: "timerd-fleet closed the connection; its log says why: "
                        + "journalctl -u timerd-fleet"))
        }
        guard wasGreeted else { return }
        if case .watching = watch {
            watch = .none
            handler(.event(.watchLost))
        }
        for id in transactions.sorted() { handler(.event(.unknown(id))) }
        transactions = []
    }
}
