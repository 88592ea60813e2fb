// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// What an event adds to the history beside runs. It is written with the records of its job, in the
/// same transaction.
enum HistoryRow {
    /// A firing that was skipped.
    case skip(SkippedFiring)
    /// A pause that ended.
    case pause(PastPause)

    /// Nil for an action of which the history has nothing. A firing that was too late for its
    /// deadline is in the history as a run.
    init?(_ action: Action, at instant: WallInstant) {
        guard case .log(let notice) = action else { return nil }
        switch notice {
        case .skipped(let firing, let reason) where reason != .deadline:
            self = .skip(SkippedFiring(firing: firing, reason: reason, at: instant))
        case .resumed(let job, let pause, let initiator, _, _):
            self = .pause(PastPause(job: job, pause: pause, by: initiator, at: instant))
        case .stopped(let job, let pause?, let initiator, _):
            self = .pause(PastPause(job: job, pause: pause, by: initiator, at: instant))
        default: return nil
        }
    }

    var job: Job.Name {
        switch self {
        case .skip(let skip): skip.firing.id.job
        case .pause(let pause): pause.job
        }
    }

    var change: Store.Change {
        switch self {
        case .skip(let skip): .skip(skip)
        case .pause(let pause): .pause(pause)
        }
    }
}

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
    /// What else belongs into the history.
    var history: [HistoryRow] = []
    /// The notifications about the jobs, and the changes of their incidents.
    var notes: [JobNote] = []

    var isEmpty: Bool {
        runs.isEmpty && start.isEmpty && records.isEmpty && history.isEmpty && notes.isEmpty
    }

    /// The rows of the runs. Those that start are released, also if they were recorded earlier.
    private func rows(at instant: WallInstant) -> [Store.Change] {
        var earlier = Set(start.map(\.id))
        let rows = runs.map { run in
            Store.Change.begin(run, released: earlier.remove(run.id) != nil, at: instant)
        }
        let released = start.map(\.id).filter { earlier.contains($0) }
        return rows + (released.isEmpty ? [] : [.setReleased(released, true)])
    }

    /// Everything that is written.
    func changes(at instant: WallInstant) -> [Store.Change] {
        rows(at: instant) + records.map { .save($0) } + history.map(\.change)
            + notes.map(\.change)
    }

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
        for row in history { portions[places[row.job] ?? last].history.append(row) }
        for note in notes { portions[places[note.job] ?? last].notes.append(note) }
        return portions.filter { !$0.isEmpty }
    }
}

/// A notification or a change of an incident, which is written with what happened to its job.
struct JobNote {
    var job: Job.Name
    var change: Store.Change
}

extension Action {
    /// What it adds to the outbox, and the changes of incidents; empty for other actions.
    var notes: [JobNote] {
        guard case .notify(let notifications, let incidents) = self else { return [] }
        return notifications.compactMap { one in
            one.job.map { JobNote(job: $0, change: .notify(one)) }
        } + incidents.map { JobNote(job: $0.id.job, change: .incident($0)) }
    }

    /// Whether what follows from it for the outbox is written in the same transaction.
    fileprivate var takesNotes: Bool {
        switch self {
        case .begin, .close, .save, .notify: true
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .start, .startReleased, .check,
            .withdraw, .end, .signal, .suspend, .resume, .storeJobSet, .log, .answer,
            .armIncidents, .armHold, .decline:
            false
        }
    }

    /// Removes the actions that directly follow this one and are written with it.
    func takeNotes(from rest: inout ArraySlice<Action>) -> [JobNote] {
        guard takesNotes else { return [] }
        var taken = notes
        while case .notify? = rest.first, let next = rest.popFirst() { taken += next.notes }
        return taken
    }
}
