// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// The texts of `timerctl fleet`.
extension Text {
    static func fleet(_ reply: FleetReply, on screen: Screen = Screen()) -> String {
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
                .init(one.machine), .init(state(of: one), one.fit ? .good : .waiting),
                .init(skew(of: one)), .init(one.labels.joined(separator: ",")),
                .init(one.driftedJobs.joined(separator: ","), .bad), .init(one.version),
            ] as [TextTable.Cell]
        }
        lines.append("")
        let columns: [TextTable.Column] = [
            .init("MACHINE", .ownLine, least: 16), .init("STATE", .wrap, least: 12),
            .init("CLOCK AHEAD", importance: 30), .init("LABELS", .wrap, least: 12, importance: 20),
            .init("DRIFTED JOBS", .wrap, least: 12, importance: 40),
            .init("VERSION", importance: 10),
        ]
        lines += TextTable(columns, rows).fitted(to: screen.columns).lines(color: screen.hasColor)
        return lines.joined(separator: "\n")
    }

    /// What the fleet says of a job, in one line.
    static func fleet(_ job: FleetJobStatus) -> String {
        var parts: [String] = []
        if job.stale == true { parts.append("not connected, so this may have changed") }
        if let since = job.heldSince {
            parts.append("held since \(instant(since))" + (job.heldBy.map { " by \($0)" } ?? ""))
        }
        if let problem = job.problem {
            parts.append("cannot be read here: \(Printable.text(problem))")
        }
        if job.drifted == true { parts.append("has another definition than this machine") }
        if let machines = job.eligibleMachines {
            parts.append(
                machines.isEmpty
                    ? "no machine may start it"
                    : "starts on \(machines.joined(separator: ", then "))")
        }
        return parts.isEmpty ? "connected" : parts.joined(separator: "; ")
    }

    /// Such as ` on web2`; empty for a run of the machine that was asked.
    static func place(of run: RunStatus) -> String { run.machine.map { " on \($0)" } ?? "" }

    private static func state(of reply: FleetReply) -> String {
        switch reply.state {
        case "connected": "connected"
        case "standby": "connected, and starts no runs now"
        case "unusable": "cannot be used"
        case "away": "not connected"
        default: Printable.text(reply.state)
        }
    }

    private static func state(of machine: FleetReply.Machine) -> String {
        switch machine.unfit {
        case "drained": "drained"
        case "clock": "wrong clock"
        case "joining": "joining"
        default: machine.fit ? "fit" : "not fit"
        }
    }

    private static func skew(of machine: FleetReply.Machine) -> String {
        guard let low = machine.skewMsecMin, let high = machine.skewMsecMax else { return "-" }
        return "\(low)..\(high) ms"
    }
}
