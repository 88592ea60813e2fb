// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Why the server should end: a scheduler has requested it, or another program should take its
/// place. Each reason is taken once.
struct Departure {
    private var grace: Duration?
    /// Whether another program should take over as soon as no run is active.
    private(set) var mustYield = false

    /// A scheduler requests that every run is terminated, with this grace period.
    mutating func request(grace: Duration) { self.grace = grace }

    /// Whether a scheduler has requested the end.
    var isRequested: Bool { grace != nil }

    mutating func takeRequest() -> Duration? { grace.take() }

    /// The program of this process was replaced.
    mutating func yield() { mustYield = true }

    /// - Returns: whether another program takes over now.
    mutating func takeYield(hasLiveRun: Bool) -> Bool {
        guard mustYield, !hasLiveRun else { return false }
        mustYield = false
        return true
    }
}
