// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Jobs that a fleet of machines shares. The fleet decides when such a job runs, on which machine,
/// whether a run overlaps with others and whether it is tried again. The agenda decides nothing of
/// that a second time: it records and starts the runs that the fleet gives to this machine.
extension Agenda {
    /// Starts a run that the fleet gave to this machine. It is recorded and followed like any other.
    mutating func startClaimed(_ claimed: ClaimedRun, at now: Now) -> [Action] {
        // The next instance of the daemon knows that it was not recorded.
        guard !isShutDown else { return [] }
        guard let slot = slot(of: claimed.id.firing.job), var entry = entries[slot],
            entry.isShared, !entries.isHeld
        else { return [.decline(claimed.id)] }
        guard runs[claimed.id, of: .slot(slot)] == nil else { return [] }
        let firing = Firing(
            id: claimed.id.firing, missed: claimed.missed, active: claimed.active,
            cause: .claimed(claimed.claim))
        let run = entry.run(firing, attempt: claimed.id.attempt)
        var batch = Batch()
        recordAndStart(run, slot, &entry, at: now, into: &batch)
        let late = max(.zero, now.wall - claimed.id.firing.scheduled)
        if claimed.id.attempt == 1, case .schedule = claimed.claim.cause {
            counts.lateness.add(late)
        }
        batch.notices.append(.log(.fired(run, late: late, remaining: nil)))
        entry.lastScheduled = claimed.id.firing.scheduled
        entry.firings += 1
        noteChange(slot, entry)
        entries[slot] = entry
        return batch.actions
    }

    /// Suspends the active runs of these jobs, and resumes those of all others that a fleet shares.
    ///
    /// - Complexity: O(*n*) in the jobs at the first call, and in these jobs at later ones.
    mutating func suspendRuns(ofOnly jobs: Set<Job.Name>) -> [Action] {
        var wanted: Set<Run.ID> = []
        for slot in jobs.compactMap({ slot(of: $0) }) where entries[slot]?.isShared == true {
            wanted.formUnion(startedRuns(slot))
        }
        var shared: [Run.ID] = []
        if !suspension.isKnown {
            for slot in entries.order where entries[slot]?.job.fleet != nil {
                shared += startedRuns(slot)
            }
        }
        let (resumed, suspended) = suspension.change(to: wanted, ofAll: shared)
        let active = resumed.filter { run in
            slot(of: run).map { startedRuns($0).contains(run) } ?? false
        }
        return active.map { .resume($0) } + suspended.map { .suspend($0) }
    }

    /// The definition of a job changed that is or was shared.
    mutating func changeShared(
        _ slot: Int, _ entry: inout JobEntry, at now: Now, into batch: inout Batch
    ) {
        let wasShared = entry.isShared
        entry.isShared = entry.job.fleet != nil
        guard wasShared != entry.isShared else { return }
        if entry.isShared {
            if case .paused(let pause) = entry.phase, pause.withRun {
                batch.ends += startedRuns(slot).map { .resume($0) }
            }
            entry.share(at: now)
        } else {
            batch.ends += suspension.release(startedRuns(slot)).map { .resume($0) }
            entry.beginAnew(at: now)
        }
    }

    /// Why a command for a job of a fleet is refused that only a fleet can execute.
    static func isShared(_ verb: JobCommand.Verb) -> String {
        switch verb {
        case .pause, .resume, .run, .skipNext:
            "it belongs to a fleet, to which this daemon has no connection; see `timerctl fleet`"
        case .start, .stop:
            "it belongs to a fleet; use `timerctl pause` and `timerctl resume`"
        case .retry: "it belongs to a fleet; use `timerctl run`"
        case .kill: "it belongs to a fleet"
        }
    }

    /// Whether a fleet decides about this job.
    /// - Complexity: O(1).
    public func isShared(_ job: Job.Name) -> Bool {
        slot(of: job).map { entries[$0]?.isShared == true } ?? false
    }
}

extension JobEntry {
    /// From now on a fleet decides about the job: what this machine knew of its time and its pause
    /// has no meaning any more.
    mutating func share(at now: Now) {
        phase = .armed
        configuredPaused = false
        skips = 0
        beginAnew(at: now)
    }

    /// Forgets the elapsed time of the job and what was due before.
    mutating func beginAnew(at now: Now) {
        firings = 0
        progress.pass(now.wall)
        progress.expect(nil)
        countedAfterPause = .zero
        dropAccrued(at: now)
    }
}
