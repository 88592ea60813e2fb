// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a configuration changes: jobs that are added, renamed, changed and removed.
extension Checker {
    /// Restores the saved state of the name of the job, or else of the name it had before, which is
    /// returned then.
    @discardableResult
    func add(_ spec: PlainJob, isLoad: Bool) -> Int? {
        let job = spec.name
        jobSet.append(job)
        var renamed: Int?
        if !states[job].isKnown, let old = spec.renamedFrom, states[old].isKnown,
            !states[old].isPresent
        {
            rename(old, to: job)
            renamed = old
        }
        defer { takeRunsBack(job) }
        guard states[job].isKnown else {
            states[job] = State()
            states[job].spec = spec
            states[job].isPresent = true
            states[job].isKnown = true
            states[job].seen = wall
            states[job].isConfiguredPaused = spec.paused
            if spec.paused { pauseByConfiguration(job) }
            states[job].isNewInBoot = isLoad && bootOfLife != bootNumber
            finishUnlessNewInBoot(job)
            return nil
        }
        adopt(spec, isLoad: isLoad)
        return renamed
    }

    /// Moves the complete state of a job to its new name, including its runs. Waiting runs start
    /// under the new name; started runs keep the old one.
    private func rename(_ old: Int, to job: Int) {
        states[job] = states[old]
        states[old] = State()
        for index in vague.indices where vague[index].job == old { vague[index].job = job }
        erased.append(old)
        for index in orphans.indices where orphans[index].job == old { orphans[index].job = job }
        for index in living.indices where living[index].job == old { living[index].job = job }
        for index in states[job].runs.indices {
            states[job].runs[index].job = job
            if states[job].runs[index].wait != .none { states[job].runs[index].name = job }
        }
    }

    /// A job that was removed for a while may have runs from before that are still active.
    private func takeRunsBack(_ job: Int) {
        guard orphans.contains(where: { $0.job == job }) else { return }
        let runs = orphans.filter { $0.job == job }
        // Runs that were allowed to be active at the same time still are, and so are their retries.
        if runs.contains(where: { ($0.told?.concurrency ?? .allow) == .allow }) {
            states[job].mayOverlap = true
        }
        states[job].runs += runs
        states[job].runs.sort { $0.label < $1.label }
        orphans.removeAll { $0.job == job }
    }

    /// The time that counted since the end of a pause, before this instance, is known from now on.
    func noteEndOfPause(_ job: Int) {
        guard states[job].phase == .paused, states[job].removed == nil else { return }
        let counted = states[job].afterPause
        states[job].afterPause = 0
        states[job].creditedAfterPause += counted
        if states[job].isAfterPauseVague {
            // If the clock was set in a boot without a daemon, it does not show when the pause
            // ended.
            var more =
                !wasOff || setWhileDown == 0
                ? 0 : states[job].spec.basis == .wall ? setWhileDown + boot : boot
            more += states[job].setBackInPause
            vague.append((job, counted, more, true))
        }
        states[job].isAfterPauseVague = false
        states[job].setBackInPause = 0
    }

    /// Up to which instant a job has processed its occurrences: up to `then`, unless one of them
    /// waits, or all of them are checked when its pause ends.
    func dealtWith(_ job: Int, by then: Int64) -> Int64 {
        let state = states[job]
        if state.spec.isCounted { return max(state.seen, then) }
        guard state.phase == .armed, let next = slot(job, after: state.seen) else {
            return state.seen
        }
        return max(state.seen, min(next - Unit.microsecond, then))
    }

    private func adopt(_ spec: PlainJob, isLoad: Bool) {
        let job = spec.name
        let old = states[job].spec
        let wasAway =
            states[job].removed != nil && !states[job].isJustRemoved
        // Time in which a job was not configured never counts, and neither does the time before the
        // end of its run.
        if states[job].removed != nil, states[job].awaitsEnd, spec.restartsAtEnd,
            !(isLoad && states[job].isJustRemoved)
        {
            states[job].accrued = 0
        }
        // A record contains this much, whatever schedule follows. That of a job that was removed
        // contains what it did when it was: a start without the job notes only the removal.
        let dealtWith =
            wasAway ? states[job].seen : dealtWith(job, by: states[job].written)
        states[job].spec = spec
        states[job].isPresent = true
        states[job].removed = nil
        states[job].isJustRemoved = false
        if old.concurrency == .allow { states[job].mayOverlap = true }
        let set = states[job].writtenBoot == bootNumber ? states[job].setSinceWritten : 0
        if abs(set) >= 3 * Unit.hour {
            // The time before was wrong; occurrences since then were missed by the new time.
            let since = wasAway ? wall : wall - (boot - states[job].writtenAt)
            correct(job, to: since, isBackward: set < 0)
        } else if dealtWith - wall >= 3 * Unit.hour {
            // A reading that is so far in the future was wrong.
            correct(job, to: wall, isBackward: true)
        } else if wasAway {
            // While it was not configured, a job had no occurrences.
            states[job].seen = max(states[job].seen, wall)
        } else if isLoad {
            states[job].seen = dealtWith
        }
        if follow(spec.paused, job) { states[job].seen = max(states[job].seen, wall) }
        leaveFinished(job)
        states[job].isNewInBoot =
            isLoad && (wasAway ? bootOfLife : states[job].writtenBoot) != bootNumber
        if !isLoad || wasAway || spec.kind != .onBoot {
            states[job].isDueThisBoot = false
        }
        finishUnlessNewInBoot(job)
    }

    private func correct(_ job: Int, to instant: Int64, isBackward: Bool) {
        states[job].seen = instant
        states[job].lastLabel = nil
        if isBackward { states[job].corrections += 1 }
    }

    /// No occurrence up to now is part of a pause that begins now.
    func dealWithOccurrences(_ job: Int) {
        if !states[job].spec.isCounted { states[job].seen = max(states[job].seen, wall) }
    }

    private func pauseByConfiguration(_ job: Int) {
        states[job].phase = .paused
        states[job].isPausedByConfiguration = true
        states[job].isPausedWithRun = false
        states[job].pausedSince = wall
        dealWithOccurrences(job)
        states[job].pausedFor = 0
        states[job].pausedUntil = nil
        states[job].afterPause = 0
    }

    /// Applies `paused` of the configuration if it changed. Returns whether this ended a pause.
    private func follow(_ paused: Bool, _ job: Int) -> Bool {
        guard states[job].isConfiguredPaused != paused else { return false }
        states[job].isConfiguredPaused = paused
        if paused, states[job].phase == .armed {
            pauseByConfiguration(job)
        } else if !paused, states[job].phase == .paused, states[job].isPausedByConfiguration {
            states[job].phase = .armed
            return true
        }
        return false
    }

    /// If a job has no more runs and its new schedule repeats, its timer restarts.
    func leaveFinished(_ job: Int) {
        guard states[job].phase == .finished, states[job].spec.kind != .after,
            states[job].spec.kind != .onBoot
        else { return }
        if !states[job].spec.isCounted, !hasSlots(job) { return }
        states[job].phase = .armed
        states[job].firings = 0
        states[job].accrued = 0
    }

    func reload(_ jobs: [PlainJob], _ seen: ArraySlice<Seen>) {
        let before = jobSet
        jobSet = []
        for job in before where !jobs.contains(where: { $0.name == job }) {
            if let successor = jobs.first(where: { $0.renamedFrom == job }),
                !states[successor.name].isKnown
            {
                takeBackChecks(job)
                rename(job, to: successor.name)
                change(successor, seen)
            } else {
                remove(job)
            }
        }
        for spec in jobs {
            let job = spec.name
            guard states[job].isPresent else {
                add(spec, isLoad: false)
                continue
            }
            jobSet.append(job)
            if states[job].spec != spec { change(spec, seen) }
        }
        for job in states.indices { states[job].isJustRemoved = false }
    }

    private func remove(_ job: Int) {
        states[job].seen = dealtWith(job, by: wall)
        if states[job].phase == .paused, states[job].isPausedWithRun { resumeRuns(job) }
        cancelPending(job, .stopped)
        orphans += states[job].runs
        states[job].runs = []
        states[job].isPresent = false
        states[job].removed = wall
        states[job].isJustRemoved = true
        settleCredit(job)
    }

    private func change(_ spec: PlainJob, _ seen: ArraySlice<Seen>) {
        let job = spec.name
        let old = states[job].spec
        if !old.hasSchedule(of: spec) || old.randomOffset != spec.randomOffset {
            states[job].seen = wall
            if old.kind != .onBoot || spec.kind != .onBoot { states[job].isDueThisBoot = false }
        }
        if old.concurrency == .allow { states[job].mayOverlap = true }
        states[job].spec = spec
        if let condition = old.condition {
            takeBackChecks(job)
            for index in states[job].runs.indices where states[job].runs[index].awaitsCondition {
                states[job].runs[index].told = spec
                if spec.condition != condition { states[job].runs[index].wait = .condition(awake) }
            }
        }
        let isOver = follow(spec.paused, job)
        leaveFinished(job)
        if isOver { unpause(job, byItself: false, seen) } else { finishWithoutSlots(job) }
        release(job)
    }
}
