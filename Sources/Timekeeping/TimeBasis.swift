// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What counts as time for a job's ledger. Time in which the job is paused never does.
@frozen
public enum TimeBasis: String, CaseIterable, Hashable, Sendable {
    /// Time in which the daemon runs and the machine is awake.
    case active
    /// Time in which the machine is awake, whether the daemon runs or not.
    case uptime
    /// Time in which the machine is switched on, asleep or not.
    case boottime
    /// All time. Across a time the machine was off it is what the calendar clock says passed; setting that
    /// clock while the machine is on neither adds to it nor takes from it.
    case wall
}
