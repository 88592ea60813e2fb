// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Since when this machine has missed others that have live runs, and runs that are lost.
struct Absences {
    private var machines: [MachineName: BootInstant] = [:]
    private var lost: [Job.Name: (run: Run.ID, since: BootInstant)] = [:]

    /// Since when a machine is missing; nil: it is not.
    func since(_ machine: MachineName) -> BootInstant? { machines[machine] }

    /// A machine is not connected. What was noticed before stays.
    mutating func isMissing(_ machine: MachineName, since now: BootInstant) {
        machines[machine] = machines[machine] ?? now
    }

    mutating func isBack(_ machine: MachineName) { machines[machine] = nil }

    /// The others are connected again.
    mutating func keepMachines(where isMissing: (MachineName) -> Bool) {
        machines = machines.filter { isMissing($0.key) }
    }

    /// Since when the last attempt of a job is known to be lost; nil: another run was, or none.
    func lostSince(_ run: Run.ID) -> BootInstant? {
        lost[run.firing.job].flatMap { $0.run == run ? $0.since : nil }
    }

    /// The last attempt of a job is lost.
    mutating func isLost(_ run: Run.ID, since now: BootInstant) {
        lost[run.firing.job] = (run, now)
    }

    /// The job is gone.
    mutating func forget(_ job: Job.Name) { lost[job] = nil }
}
