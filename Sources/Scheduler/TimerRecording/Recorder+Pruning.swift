// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Logging
import TimerCore
import TimerStore

/// The jobs that may have more runs than they keep.
struct JobsToPrune {
    /// More are found again when more of their runs end.
    private static let waitingMax = 10_000

    /// The pruning in progress; nil between two jobs.
    var current: JobPruning?
    private var waiting: [Job.Name] = []
    private var isWaiting: Set<Job.Name> = []
    /// Whether all jobs are looked at, as after a start, and the last one that was.
    private var looksAtAll = false
    private var last: Job.Name?

    var isEmpty: Bool { current == nil && waiting.isEmpty && !looksAtAll }

    mutating func append(_ job: Job.Name) {
        guard isWaiting.count < Self.waitingMax, isWaiting.insert(job).inserted else { return }
        waiting.append(job)
    }

    mutating func lookAtAll() {
        looksAtAll = true
        last = nil
    }

    /// The next job whose turn it is, first of those in the queue.
    mutating func next(in store: Store) throws(StoreError) -> Job.Name? {
        if waiting.isEmpty, looksAtAll {
            let owners = try store.owners(after: last, max: 64)
            last = owners.last
            looksAtAll = last != nil
            for owner in owners { append(owner) }
        }
        guard !waiting.isEmpty else { return nil }
        let job = waiting.removeFirst()
        isWaiting.remove(job)
        return job
    }
}

/// The history is pruned some rows at a time: what is older than `history`, what a job has more than `history-runs`,
/// and the oldest of all if the database is larger than `history-max`.
extension Recorder {
    /// The share of its limit that the database has once the oldest runs are deleted.
    private static let shareKept = 0.95
    /// How many rows are counted in one step.
    private static let countedPerStep: Int64 = 5000
    /// A job with many runs is looked at when about this part of what it keeps is new.
    private static let partPerLook = 1000
    /// The size is looked at when this many runs have ended.
    private static let closesPerSize = 64

    /// Deletes old runs from the history, some at a time, after all waiting writes.
    package nonisolated func prune() {
        later { recorder in
            recorder.jobsToPrune.lookAtAll()
            recorder.beginPruning()
        }
    }

    /// Notes what was written. Each step of the pruning deletes more than a commit adds, so that the history does not
    /// grow while it is pruned.
    func noteHistory(_ changes: [Store.Change]) {
        let before = closes
        for change in changes where change.isHistory {
            closes += 1
            guard let job = change.prunedJob else { continue }
            // The number of its runs is not known without counting them.
            let interval = max(1, history.runs(of: job) / Self.partPerLook)
            if interval == 1 || Int.random(in: 0..<interval) == 0 { jobsToPrune.append(job) }
        }
        guard closes > before else { return }
        if closes >= Self.closesPerPrune {
            closes = 0
            beginPruning()
        } else if pruning == nil, before / Self.closesPerSize != closes / Self.closesPerSize {
            beginSizePruning()
        }
        planPruning()
    }

    private func beginPruning() {
        if pruning == nil { pruning = Pruning(endedBefore: wall() - history.span) }
        planPruning()
    }

    /// Begins to delete the oldest runs of all jobs if the database is too large.
    private func beginSizePruning() {
        guard pruning == nil, storeError == nil, let store else { return }
        let most = history.bytesMax(at: store.path)
        guard let used = try? store.usedBytes(), used > most else { return }
        let share = 1 - Double(most) * Self.shareKept / Double(used)
        guard let instant = try? store.instant(atShare: share),
            prunedBefore.map({ instant > $0 }) ?? true
        else { return }
        prunedBefore = instant
        pruning = Pruning(endedBefore: instant)
        guard history.noteDeletion(before: instant) else { return }
        log.warning(
            """
            The saved state has \(used >> 20) MiB, and its limit is \(most >> 20) MiB (history-max, or a tenth of its \
            file system): from now on the oldest finished runs are deleted, although they are not as old as history says
            """)
    }

    /// Each step is a moment after the one before, so that other writes get their turn, and not beside a checkpoint:
    /// the write-ahead log would grow until a write had to wait for the disk.
    private func planPruning() {
        guard !isPrunePlanned, pruning != nil || !jobsToPrune.isEmpty else { return }
        isPrunePlanned = true
        later(after: prunePace.pause) { recorder in
            guard recorder.checkpoints.isUnderWay else { return recorder.pruneStep() }
            recorder.checkpoints.wait { $0.pruneStep() }
        }
    }

    private func pruneStep() {
        isPrunePlanned = false
        let began = DispatchTime.now().uptimeNanoseconds
        prunePortion()
        prunePace.note(.nanoseconds(Int64(DispatchTime.now().uptimeNanoseconds - began)))
        checkpointLog(isCalm: false)
        planPruning()
    }

    private func prunePortion() {
        guard let store, storeError == nil else { return stopPruning() }
        do throws(StoreError) {
            // In turn, because a pass over all may take hours.
            arePrunedInTurn.toggle()
            if var next = pruning, arePrunedInTurn || jobsToPrune.isEmpty {
                try next.advance(in: store, rows: prunePace.rows)
                pruning = next.isDone ? nil : next
                if next.isDone { beginSizePruning() }
            } else {
                try pruneJobs(in: store)
            }
        } catch {
            // Pruning starts again when more runs have ended.
            stopPruning()
            log.warning("\(error); the history is pruned later")
        }
    }

    private func stopPruning() {
        pruning = nil
        jobsToPrune = JobsToPrune()
    }

    /// Looks at some jobs with few runs, or one with many.
    private func pruneJobs(in store: Store) throws(StoreError) {
        var rows: Int64 = 0
        while rows < Self.countedPerStep {
            if jobsToPrune.current == nil {
                guard let job = try jobsToPrune.next(in: store) else { return }
                jobsToPrune.current = JobPruning(of: job, keeping: history.runs(of: job))
            }
            guard var next = jobsToPrune.current else { return }
            // A job whose runs need no pruning counts as well, because it was read.
            rows += max(100, try next.advance(in: store, rows: prunePace.rows))
            jobsToPrune.current = next.isDone ? nil : next
            if let instant = next.deletedBefore { noteDeletion(of: next.job, before: instant) }
            // Not more than one portion is deleted.
            if !next.isDone, next.hasCounted, rows > 100 { return }
        }
    }

    private func noteDeletion(of job: Job.Name, before instant: WallInstant) {
        guard history.noteDeletion(of: job, before: instant) else { return }
        log.notice(
            """
            Job "\(job)": more than \(history.runs(of: job)) of its runs succeeded (history-runs): from now on the oldest \
            of them are deleted, although they are not as old as history says
            """)
    }
}

extension Store.Change {
    /// Whether it adds to the outbox.
    var isNotification: Bool { if case .notify = self { true } else { false } }

    /// The job of whose history it adds a row that may be one too many.
    fileprivate var prunedJob: Job.Name? {
        switch self {
        case .close(let run, _, _, _, _, _, _): run.firing.job
        case .skip(let skip): skip.firing.id.job
        default: nil
        }
    }

    /// Whether it adds to the history.
    var isHistory: Bool {
        switch self {
        case .close, .skip, .pause: true
        case .beginInstance, .begin, .setReleased, .renew, .save, .rename, .erase, .stage,
            .applyStaged, .mergeStaged, .endInstance, .notify, .incident, .createMessage,
            .messageResult, .retryMessage, .fleet, .hold:
            false
        }
    }
}
