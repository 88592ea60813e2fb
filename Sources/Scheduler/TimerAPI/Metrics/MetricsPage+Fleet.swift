// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

/// What the metrics say of the fleet that the machine belongs to.
struct FleetMeasures: Sendable {
    /// The name of the fleet, and of this machine in it.
    var fleet: String
    var machine: MachineName
    var status: FleetStatus
}

extension MetricsPage {
    /// Writes nothing for a machine that belongs to no fleet.
    ///
    /// - Complexity: O(*n*) in the machines.
    func writeFleet(_ text: inout MetricsText) {
        guard let fleet else { return }
        let status = fleet.status
        text.begin("fleet", .info, "The fleet of this machine, and its name in it.")
        text.write(
            .init("fleet", fleet.fleet), .init("machine", fleet.machine.description), .init(true))
        for (name, isTrue, help) in [
            ("connected", status.isConnected, "Whether this machine is connected to the fleet."),
            ("may_start", status.mayStart, "Whether this machine may start runs of the fleet now."),
            ("drained", status.isDrained, "Whether this machine is drained."),
            ("held", status.hold?.isHeld == true, "Whether the whole fleet is held."),
        ] {
            text.begin("fleet_\(name)", .gauge, help)
            text.write(.none, .init(isTrue))
        }
        let fit = status.machines.count { $0.value.isFit }
        text.begin(
            "fleet_machines", .gauge,
            "The machines that are connected, by whether they may start runs.")
        text.write(.init("state", "fit"), .init(fit))
        text.write(.init("state", "unfit"), .init(status.machines.count - fit))
        text.begin(
            "fleet_jobs_drifted", .gauge,
            "The jobs of this machine of which another one has another definition.")
        text.write(.none, .init(Set(status.machines.flatMap(\.drifted)).count))
        guard let own = status.machines.first(where: { $0.name == fleet.machine })?.value.skew
        else {
            return
        }
        text.begin(
            "fleet_clock_skew_seconds", .gauge,
            "How far the clock of this machine is ahead of that of etcd, at least and at most.")
        for (bound, value) in [("min", own.lowerBound), ("max", own.upperBound)] {
            text.write(.init("bound", bound), .init(Duration.milliseconds(value)))
        }
    }
}
