// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which time counts. Time in which a timer or job is paused never counts.
@frozen
public enum TimeBasis: String, CaseIterable, Hashable, Sendable {
    /// The time in which the program is running and the machine is awake.
    case active
    /// The time in which the machine is awake, whether the program is running or not.
    case uptime
    /// The time in which the machine is switched on, including sleep.
    case boottime
    /// All time. While the machine is off, it is measured by the wall clock. Setting the wall clock
    /// while the machine is on does not change it.
    case wall
}
