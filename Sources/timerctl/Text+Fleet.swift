// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// Texts about the fleet.
extension Text {
    /// The lines of `timerctl fleet`.
    static func fleet(_ reply: FleetReply) -> String {
        var lines = ["fleet \(reply.fleetName), machine \(reply.machine): \(state(of: reply))"]
        if let problem = reply.problem { lines.append("    \(Printable.text(problem))") }
        if let endpoint = reply.endpoint {
            let version = reply.etcdVersion.map { ", etcd \(Printable.text($0))" } ?? ""
            lines.append("    connected to \(Printable.text(endpoint))\(version)")
        }
        if let since = reply.heldSince {
            let by = reply.heldBy.map { " by \(Printable.text($0))" } ?? ""
            lines.append("    held since \(instant(since))\(by); `timerctl fleet release` ends it")
        }
        if reply.drained { lines.append("    drained; `timerctl fleet undrain` ends it") }
        guard !reply.machines.isEmpty else { return lines.joined(separator: "\n") }
        let rows = reply.machines.map { one in
            [
                .init(one.machine), .init(one.fit ? "fit" : "not fit", one.fit ? .good : .waiting),
                .init(skew(of: one)), .init(one.labels.joined(separator: ",")),
                .init(one.driftedJobs.joined(separator: ","), .bad), .init(one.version),
            ] as [TextTable.Cell]
        }
        lines.append("")
        lines += TextTable(
            ["MACHINE", "STATE", "CLOCK AHEAD", "LABELS", "DRIFTED JOBS", "VERSION"], rows
        ).lines(color: Screen.standardOutput(color: .auto).hasColor)
        return lines.joined(separator: "\n")
    }

    private static func state(of reply: FleetReply) -> String {
        switch reply.state {
        case "connected": "connected"
        case "standby": "connected, and starts no runs now"
        case "unusable": "cannot be used"
        case "away": "not connected"
        default: Printable.text(reply.state)
        }
    }

    private static func skew(of machine: FleetReply.Machine) -> String {
        guard let low = machine.skewMsecMin, let high = machine.skewMsecMax else { return "-" }
        return "\(low)..\(high) ms"
    }
}
