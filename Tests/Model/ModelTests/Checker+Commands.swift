// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Checker {
    func obey(
        _ verb: PlainVerb, _ job: Int, until: Int64?, withRun: Bool, count: Int,
        _ seen: ArraySlice<Seen>
    ) {
        guard states[job].isPresent else {
            answer = Seen.Answer.noSuchJob
            // Its runs continue, and can be ended.
            if verb == .kill { killOrphans(of: job) }
            return
        }
        guard !isShutDown || verb == .kill else {
            answer = Seen.Answer.refused
            return
        }
        answer = Seen.Answer.unchanged
        let phase = states[job].phase
        switch verb {
        case .pause:
            if let until, until <= wall {
                answer = Seen.Answer.refused
            } else if phase == .armed {
                pause(job, until: until, withRun: withRun)
            } else if phase == .paused {
                pauseAgain(job, until: until, withRun: withRun, seen)
            }
        case .resume:
            guard phase == .paused else { return }
            unpause(job, byItself: false, seen)
            answer = Seen.Answer.done
        case .start:
            guard phase == .stopped || phase == .finished else { return }
            states[job].phase = .armed
            states[job].firings = 0
            states[job].accrued = 0
            states[job].seen = wall
            states[job].isDueThisBoot = states[job].spec.kind == .onBoot
            finishWithoutSlots(job)
            answer = Seen.Answer.done
        case .stop:
            guard phase != .stopped else { return }
            if phase == .paused, states[job].isPausedWithRun { resumeRuns(job) }
            states[job].phase = .stopped
            leavePause(job)
            states[job].accrued = 0
            states[job].isDueThisBoot = false
            states[job].skips = 0
            cancelPending(job, .stopped)
            answer = Seen.Answer.done
        case .run: run(job)
        case .force: run(job, isForced: true)
        case .skipNext:
            guard phase == .armed || phase == .paused, states[job].skips != count else { return }
            states[job].skips = count
            answer = Seen.Answer.done
        case .kill: kill(job)
        }
    }

    /// If the end of the pause has passed, the pause is over and the job is paused again; otherwise
    /// the named terms change.
    private func pauseAgain(
        _ job: Int, until: Int64?, withRun: Bool, _ seen: ArraySlice<Seen>
    ) {
        if let end = states[job].pausedUntil, end <= wall {
            unpause(job, byItself: true, seen)
            if states[job].phase == .armed { pause(job, until: until, withRun: withRun) }
            return
        }
        if let until, until != states[job].pausedUntil {
            states[job].pausedUntil = until
            states[job].isPausedByConfiguration = false
            answer = Seen.Answer.done
        }
        if withRun, !states[job].isPausedWithRun {
            states[job].isPausedWithRun = true
            states[job].isPausedByConfiguration = false
            suspendRuns(job)
            answer = Seen.Answer.done
        }
    }

    /// Asks the active runs of a job that is not in the configuration to end.
    private func killOrphans(of job: Int) {
        for index in orphans.indices where orphans[index].job == job {
            if answer == Seen.Answer.noSuchJob { answer = Seen.Answer.unchanged }
            guard orphans[index].isBegun, orphans[index].endsAs == nil else { continue }
            orphans[index].endsAs = .stopped
            acts.append(act(.end, orphans[index]))
            answer = Seen.Answer.done
        }
    }

    /// Asks active runs to end, and closes waiting retries.
    private func kill(_ job: Int) {
        for index in states[job].runs.indices
        where states[job].runs[index].isBegun && states[job].runs[index].endsAs == nil {
            states[job].runs[index].endsAs = .stopped
            acts.append(act(.end, states[job].runs[index]))
            answer = Seen.Answer.done
        }
        guard states[job].runs.contains(where: { $0.isDelayed || $0.awaitsCondition }) else {
            return
        }
        cancelPending(job, .stopped) { $0.isDelayed || $0.awaitsCondition }
        release(job)
        answer = Seen.Answer.done
    }

    private func pause(_ job: Int, until: Int64?, withRun: Bool) {
        states[job].phase = .paused
        states[job].isPausedByConfiguration = false
        states[job].isPausedWithRun = withRun
        states[job].pausedSince = wall
        dealWithOccurrences(job)
        states[job].pausedFor = 0
        states[job].pausedUntil = until
        states[job].afterPause = 0
        states[job].afterPauseMost = 0
        states[job].isAfterPauseVague = false
        if withRun { suspendRuns(job) }
        answer = Seen.Answer.done
    }

    private func suspendRuns(_ job: Int) {
        for run in states[job].runs where run.isBegun { acts.append(act(.suspend, run)) }
    }

    func resumeRuns(_ job: Int) {
        for run in states[job].runs where run.isBegun { acts.append(act(.resume, run)) }
    }

    /// Makes a run independently of the schedule.
    private func run(_ job: Int, isForced: Bool = false) {
        let spec = states[job].spec
        let runs = states[job].runs
        let started = runs.count(where: \.isStarted)
        // It replaces a waiting retry, unless runs may be active at the same time.
        let takesPlace =
            spec.concurrency != .allow && started == 0 && runs.contains(where: \.isDelayed)
        let isRefused =
            switch spec.concurrency {
            case .forbid: !runs.isEmpty
            case .queue: runs.contains { $0.wait == .turn }
            case .replace: false
            case .allow: started >= spec.concurrencyMax ?? .max
            }
        let startsNow = takesPlace || runs.isEmpty || spec.concurrency == .allow
        if isRefused && !takesPlace || startsNow && isSlotBusy(spec) {
            answer = Seen.Answer.refused
            return
        }
        let label = takeLabel(wall, job)
        if takesPlace { cancelPending(job, .replaced) { $0.isDelayed } }
        if takesPlace || spec.concurrency == .allow {
            admit(
                add(job, label, missed: 0, isRequested: true, isForced: isForced), job)
        } else {
            _ = place(
                job, label, missed: 0, isCatchUp: false, isRequested: true, isForced: isForced)
        }
        tokens.append(Seen(kind: .fired, job: job, label: label, attempt: 1))
        answer = Seen.Answer.done
    }

    // MARK: - A pause ends

    /// The time that counted since the end of the pause before this instance is recorded, and
    /// counts however the pause is left.
    private func leavePause(_ job: Int) {
        states[job].accrued += states[job].creditedAfterPause
        states[job].active += states[job].creditedAfterPause
        states[job].creditedAfterPause = 0
        states[job].afterPause = 0
        states[job].afterPauseMost = 0
        states[job].isAfterPauseVague = false
    }

    /// - Parameter byItself: whether the pause reached its end, without a command.
    func unpause(_ job: Int, byItself: Bool, _ seen: ArraySlice<Seen>) {
        states[job].phase = .armed
        if states[job].isPausedWithRun { resumeRuns(job) }
        tokens.append(Seen(kind: .resumed, job: job))
        let end = byItself ? min(states[job].pausedUntil ?? wall, wall) : wall
        let due =
            states[job].spec.isCounted
            ? takeUpInterval(job, end: end, seen) : takeUpSlots(job, end: end)
        if byItself {
            let credit = states[job].afterPause
            states[job].accrued += credit
            states[job].active += credit
            if states[job].isAfterPauseVague || states[job].afterPauseMost > 0 {
                vague.append((job, credit, states[job].afterPauseMost, false))
            }
        }
        leavePause(job)
        // The decision of the daemon has to be known before its due time can be checked.
        if let account = seen.first(where: {
            $0.kind == .account && $0.job == job && $0.attempt != Phase.paused.rawValue
        }),
            vague.contains(where: { $0.job == job && $0.less + $0.more > 0 })
        {
            adoptVague(account)
        }
        finishWithoutSlots(job)
        if let due {
            begin(job, due.label, missed: due.missed, isCatchUp: false)
            if states[job].spec.kind == .after { states[job].phase = .finished }
        }
        release(job)
    }

    /// The occurrences during a pause are skipped, or make one firing.
    private func takeUpSlots(_ job: Int, end: Int64) -> (label: Int64, missed: Int)? {
        let since = states[job].seen
        states[job].seen = max(states[job].seen, end)
        guard states[job].spec.onResume == .fireIfDue, let first = slot(job, after: since),
            first <= end
        else { return nil }
        var missed = 0
        if states[job].spec.kind == .slots {
            missed = Int((end - first) / states[job].spec.span)
        } else {
            var at = first
            while let next = slot(job, after: at), next <= end {
                at = next
                missed += 1
            }
        }
        missed = min(missed, Self.passedMax)
        states[job].firings += Int64(missed) + 1
        return (takeLabel(first + states[job].corrections * Unit.microsecond, job), missed)
    }

    private func takeUpInterval(
        _ job: Int, end: Int64, _ seen: ArraySlice<Seen>
    ) -> (label: Int64, missed: Int)? {
        switch states[job].spec.onResume ?? .keepRemaining {
        case .keepRemaining, .nextSlot: return nil
        case .restart:
            states[job].accrued = 0
            return nil
        case .fireIfDue:
            let isSinceBoot = states[job].spec.kind == .onBoot
            if isSinceBoot, !states[job].isDueThisBoot { return nil }
            if states[job].spec.restartsAtEnd, !states[job].runs.isEmpty { return nil }
            let due = target(job) + delay(job, ordinal: states[job].firings)
            let left = due - states[job].accrued
            // For time that counts from the boot, the pause delayed nothing before the boot.
            let most = isSinceBoot ? boot : Int64.max
            let real = min(states[job].pausedFor, most)
            let calendar = min(max(0, wall - states[job].pausedSince), most)
            var isDue = real >= left
            if isDue != (calendar >= left) {
                // Which clock measures a pause only matters if the wall clock was set.
                isDue = firedForPause(job, seen)
            }
            guard isDue else { return nil }
            states[job].accrued = 0
            states[job].firings += 1
            states[job].isDueThisBoot = false
            return (takeLabel(wall, job), 0)
        }
    }

    /// Whether the job fired because its interval ended during the pause. If the clock was set
    /// back, a point after the pause may have the same scheduled time. Then the records show it:
    /// the first one is from the end of the pause.
    private func firedForPause(_ job: Int, _ seen: ArraySlice<Seen>) -> Bool {
        let state = states[job]
        if state.spec.kind == .onBoot {
            // A job that has fired once has nothing more to do.
            let first = seen.first {
                $0.kind == .account && $0.job == job && $0.attempt != Phase.paused.rawValue
            }
            return first?.attempt == Phase.finished.rawValue
        }
        let label = max(wall, (state.lastLabel ?? 0) + Unit.microsecond)
        let firings = seen.filter { ($0.kind == .fired || $0.kind == .skipped) && $0.job == job }
        guard firings.contains(where: { $0.label == label }) else { return false }
        let accrued = seen.filter {
            $0.kind == .account && $0.job == job && $0.attempt != Phase.paused.rawValue
        }.map(\.value)
        guard label > wall, let first = accrued.first, let last = accrued.last else { return true }
        let kept = state.accrued + state.afterPause + state.creditedAfterPause
        return state.accrued > 0 ? first != kept : last >= first || firings.count > 1
    }
}
