// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a fleet has to do with it.
extension Explanation {
    mutating func explainFleet(of job: JobStatus) {
        guard let fleet = job.fleet else { return }
        if fleet.stale == true {
            add(
                .fleetAway,
                "This machine has no connection to the fleet: it does not start the job, other machines may, and what "
                    + "follows may have changed; `timerctl fleet` says why.")
        }
        if let problem = fleet.problem {
            add(
                .fleetUnreadable,
                "What the fleet has of it in etcd cannot be read here, so this machine does not start it, and no "
                    + "command for it works here: \(Printable.text(problem)).")
        }
        if let until = fleet.accountedUntil {
            add(
                .fleetClockAhead,
                "The clock of a machine was ahead when it last started: all that is due until \(show(until)) counts as "
                    + "started already, so that nothing starts twice.", at: until)
        }
        if let since = fleet.heldSince {
            let by = fleet.heldBy.map { " by \(Printable.text($0))" } ?? ""
            add(
                .fleetHeld,
                "The whole fleet has been held since \(show(since))\(by); `timerctl fleet release` ends that.",
                at: since)
        }
        if fleet.drifted == true {
            add(
                .fleetDrifted,
                "The fleet uses another definition of it than this machine has, so this machine does not start it; "
                    + "`timerctl fleet define \(job.job)` makes that of this machine the definition of the fleet."
            )
        }
        guard let machines = fleet.eligibleMachines else { return }
        guard let first = machines.first else {
            return add(
                .fleetMachines,
                "No machine that is connected may start it: each is drained, has a wrong clock, another definition, or "
                    + "not all labels in `on`; `timerctl fleet` shows them.")
        }
        let others = machines.dropFirst().map { Printable.text($0) }.joined(separator: ", ")
        add(
            .fleetMachines,
            "Its next run starts on \(Printable.text(first))"
                + (others.isEmpty
                    ? "; no other machine may start it now."
                    : "; if that fails, the next in this order takes over: \(others)."))
    }
}
