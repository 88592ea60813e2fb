// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The records that are written together: a part of the changes that one event causes.
struct CommitBatch {
    /// The starts of how many jobs are written at a time.
    static let jobsMax = 64

    /// The runs to record.
    var runs: [Run] = []
    /// The runs to start once they are recorded. Some were recorded earlier, so they are not among
    /// `runs`.
    var start: [Run] = []
    /// The time records of jobs.
    var records: [JobRecord] = []
    /// The firings that were skipped.
    var skips: [SkippedFiring] = []

    var isEmpty: Bool { runs.isEmpty && start.isEmpty && records.isEmpty && skips.isEmpty }

    /// Splits a large batch. Runs that start come first, in several parts, so that they do not wait
    /// for each other or for runs that cannot start yet. All records of one job stay together.
    /// - Complexity: O(*n*) in the number of runs and records.
    func split() -> [CommitBatch] {
        guard runs.count > Self.jobsMax else { return [self] }
        var places: [Job.Name: Int] = [:]
        for run in start where places[run.id.firing.job] == nil {
            places[run.id.firing.job] = places.count / Self.jobsMax
        }
        // After all runs that start.
        let last = (places.count + Self.jobsMax - 1) / Self.jobsMax
        var portions = [CommitBatch](repeating: CommitBatch(), count: last + 1)
        for run in runs { portions[places[run.id.firing.job] ?? last].runs.append(run) }
        for run in start { portions[places[run.id.firing.job] ?? last].start.append(run) }
        for record in records { portions[places[record.job] ?? last].records.append(record) }
        for skip in skips { portions[places[skip.firing.id.job] ?? last].skips.append(skip) }
        return portions.filter { !$0.isEmpty }
    }
}
