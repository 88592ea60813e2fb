// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is known of the runs of a job that ended, and of its firings that were skipped. Few jobs
/// have none of it, and all of it stays with the name of a job that is removed.
struct JobOutcomes: Hashable, Sendable {
    var last: RunSummary?
    /// When a run last succeeded, also before this daemon started.
    var lastSuccess: WallInstant?
    /// The runs that ended since the daemon started.
    var counts = RunCounts()
    /// How long they took, for a job that asks for it.
    var durations: Histogram?
    /// The latest firing that was skipped, also before this daemon started.
    var lastSkip: LastSkip?
    /// The firings that were skipped since the daemon started.
    var skipCounts = SkipCounts()

    /// Remembers a skip as the latest one and counts it.
    mutating func add(_ firing: Firing, _ reason: Notice.SkipReason, at now: WallInstant) {
        lastSkip = LastSkip(
            scheduled: firing.id.scheduled, count: firing.missed + 1, reason: reason.kind, at: now)
        skipCounts.add(reason)
    }

    /// Remembers a run that ended as the latest one and counts it. One without a start is not in
    /// the histogram.
    mutating func add(_ run: RunSummary, withDuration: Bool) {
        last = run
        let result = run.result
        counts.add(result)
        if result == .success { lastSuccess = run.ended ?? lastSuccess }
        guard withDuration, run.began != nil else { return }
        var durations = durations ?? Histogram(bounds: Histogram.runBounds)
        durations.add(run.usage.elapsed)
        self.durations = durations
    }
}
