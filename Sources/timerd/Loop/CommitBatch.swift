// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Of what one event begins, the part that is written together.
struct CommitBatch {
    /// Of how many jobs the starts are written at a time.
    static let jobsMax = 64

    /// To be put on record.
    var runs: [Run] = []
    /// To be started once they are on record; some may be there from before, and so not among `runs`.
    var start: [Run] = []
    /// The jobs' accounts.
    var records: [JobRecord] = []

    /// Of many, those that start come first, some at a time: they wait neither for those that cannot start yet nor
    /// for each other. What there is of one job stays together.
    /// - Complexity: O(*n*) in the number of runs and accounts.
    func split() -> [CommitBatch] {
        guard runs.count > Self.jobsMax else { return [self] }
        var places: [Job.Name: Int] = [:]
        for run in start where places[run.id.firing.job] == nil {
            places[run.id.firing.job] = places.count / Self.jobsMax
        }
        // Behind all that start.
        let last = (places.count + Self.jobsMax - 1) / Self.jobsMax
        var portions = [CommitBatch](repeating: CommitBatch(), count: last + 1)
        for run in runs { portions[places[run.id.firing.job] ?? last].runs.append(run) }
        for run in start { portions[places[run.id.firing.job] ?? last].start.append(run) }
        for record in records { portions[places[record.job] ?? last].records.append(record) }
        return portions.filter { !$0.runs.isEmpty || !$0.start.isEmpty || !$0.records.isEmpty }
    }
}
