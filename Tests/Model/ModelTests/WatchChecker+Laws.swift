// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The laws themselves.
extension WatchChecker {
    /// Checks all laws about one kind of incident of a job of the configuration.
    mutating func check(_ key: Key, _ facts: WatchEpisode.Job) {
        let told = now.sent.filter {
            $0.job == key.job && $0.kind == key.kind && !$0.isRepeat
        }
        checkRuns(key, facts, told)
        // Each begin is told, so this is how often an incident ended.
        let ends = told.count + (before.open[key] == nil ? 0 : 1) - (now.open[key] == nil ? 0 : 1)
        if ends < 0 { return faults.append("\(key): began, and was not told") }
        if key.kind == "skipped" {
            checkSkips(key)
        } else if !isShutDown {
            checkCondition(key, facts, isNew: !told.isEmpty)
        }
        checkRecovery(key, facts, ends: ends)
        checkRepeat(key, facts, isNew: !told.isEmpty)
        if !told.isEmpty { lastTold[key] = LastTold(now.wall) }
    }

    /// A run is late once, and long once.
    private mutating func checkRuns(
        _ key: Key, _ facts: WatchEpisode.Job, _ told: [WatchEpisode.Sent]
    ) {
        guard ["late", "long"].contains(key.kind) else { return }
        let past = before.jobs[key.job]
        if past?.late != facts.late || past?.long != facts.long || past?.catchUp != facts.catchUp {
            toldRuns[key] = []
        }
        for one in told {
            guard let run = one.run else { return faults.append("\(key): names no run") }
            if !toldRuns[key, default: []].insert(run).inserted {
                faults.append("\(key): \(run) is told twice")
            }
        }
    }

    // MARK: - Conditions

    /// Since when the condition is true, how long ago that is, and whether it must begin an incident.
    private struct Condition {
        /// For how long it has been true; nil: it is not.
        var age: Int64?
        var mustBegin = true
        /// Whether the facts are those of the event before, except for the time.
        var isOld = false
    }

    private mutating func checkCondition(_ key: Key, _ facts: WatchEpisode.Job, isNew: Bool) {
        if key.kind == "late", isNew, let since = facts.pausedSince,
            before.jobs[key.job]?.pausedSince == since
        {
            faults.append("\(key): began during a pause")
        }
        guard let condition = condition(key, facts) else { return }
        let isOpen = now.open[key] != nil
        if isOpen, condition.age == nil { faults.append("\(key): is open, and nothing is wrong") }
        guard let age = condition.age else { return }
        if !isOpen, condition.mustBegin {
            faults.append("\(key): is not open, and something is wrong")
        }
        // While no daemon runs, nothing is told.
        if case .load = now.event { return }
        if isNew, before.open[key] == nil, condition.isOld, now.isUndisturbed,
            age > Self.timerSpan + (key.kind == "stale" ? staleSlack[key.job] ?? 0 : 0)
        {
            faults.append("\(key): was told \(age) ns too late")
        }
    }

    /// Nil if it is not known.
    private func condition(_ key: Key, _ facts: WatchEpisode.Job) -> Condition? {
        let past = before.jobs[key.job]
        switch key.kind {
        case "late":
            let isOld =
                past?.late == facts.late && past?.catchUp == facts.catchUp
                && past?.pausedSince == nil
            return condition(
                ages(of: facts, key.job, facts.late, isOld: isOld) { run, time in
                    guard run.attempt == 1, run.began == nil else { return nil }
                    let delay = run.isMissed ? facts.catchUp : 0
                    return (now.boot - time.due - delay, time.dueSeen)
                }, mustBegin: facts.pausedSince == nil)
        case "long":
            return condition(
                ages(of: facts, key.job, facts.long, isOld: past?.long == facts.long) { _, time in
                    guard let began = time.began, let seen = time.beganSeen else { return nil }
                    return (now.boot - began, seen)
                }, mustBegin: true)
        case "paused-long":
            guard let since = facts.pausedSince, let span = facts.pausedLong else {
                return Condition()
            }
            let age = now.wall - since - span
            return Condition(
                age: age >= 0 ? age : nil,
                isOld: past?.pausedSince == since && past?.pausedLong == span)
        default: return staleCondition(key, facts, past)
        }
    }

    /// How much longer than allowed each run takes, if it does.
    private func ages(
        of facts: WatchEpisode.Job, _ job: Int, _ span: Int64?, isOld: Bool,
        _ time: (WatchEpisode.Run, Times) -> (Int64, seen: Int)?
    ) -> [(age: Int64, isOld: Bool)] {
        guard let span else { return [] }
        return facts.runs.compactMap { name, run in
            guard let known = times[job]?[name], let (passed, seen) = time(run, known),
                passed >= span
            else { return nil }
            return (passed - span, isOld && seen < number)
        }
    }

    private func condition(_ ages: [(age: Int64, isOld: Bool)], mustBegin: Bool) -> Condition {
        let oldest = ages.max { $0.age < $1.age }
        return Condition(
            age: oldest?.age, mustBegin: mustBegin, isOld: oldest?.isOld ?? false)
    }

    private func staleCondition(
        _ key: Key, _ facts: WatchEpisode.Job, _ past: WatchEpisode.Job?
    ) -> Condition? {
        guard facts.isArmed, let known = staleTimes[key.job], let time = known else { return nil }
        guard let span = facts.stale else { return Condition() }
        return Condition(
            age: time >= span ? time - span : nil,
            isOld: past?.isArmed == true && past?.stale == span)
    }

    // MARK: - Skipped firings

    private mutating func checkSkips(_ key: Key) {
        let skips = now.count {
            switch $0 {
            case .skipped(key.job), .ended(key.job, _, _, isTooLate: true, _): true
            default: false
            }
        }
        let starts = now.count { if case .started(key.job) = $0 { true } else { false } }
        let (old, new) = (before.open[key] ?? 0, now.open[key] ?? 0)
        let isRight = starts == 0 ? new == old + skips : new <= skips
        if !isRight {
            faults.append("\(key): counts \(new) after \(old), \(skips) skipped, \(starts) started")
        }
    }

    // MARK: - Recoveries and repeats

    private mutating func checkRecovery(_ key: Key, _ facts: WatchEpisode.Job, ends: Int) {
        let told = now.sent.count { $0.job == key.job && $0.recoveredFrom.contains(key.kind) }
        if told > ends { faults.append("\(key): a recovery of what was not wrong") }
        guard ends > 0, let isWell = isWell(key, facts) else { return }
        if told != (isWell ? ends : 0) {
            faults.append("\(key): ended \(ends) times, \(told) recoveries, well: \(isWell)")
        }
    }

    /// Whether the problem is solved; nil if that depends on the order of what happened.
    private func isWell(_ key: Key, _ facts: WatchEpisode.Job) -> Bool? {
        var (beginnings, all, successes) = (0, 0, 0)
        for case .ended(key.job, let hasSucceeded, _, _, let hasBegun) in now.happened {
            all += 1
            successes += hasSucceeded ? 1 : 0
            beginnings += hasBegun ? 1 : 0
        }
        switch key.kind {
        case "skipped", "paused-long": return true
        // A run that was stopped has not done its work either.
        case "long": return successes == all ? true : successes == 0 ? false : nil
        case "stale": return successes > 0 ? true : nil
        default:
            // What an earlier daemon knew about starts is not stored.
            if case .load = now.event { return nil }
            let isRunning = facts.runs.values.contains { $0.began != nil }
            if beginnings == 0, !isRunning { return false }
            return all <= 1 ? true : nil
        }
    }

    private mutating func checkRepeat(_ key: Key, _ facts: WatchEpisode.Job, isNew: Bool) {
        let repeats = now.sent.count { $0.job == key.job && $0.kind == key.kind && $0.isRepeat }
        guard var told = lastTold[key] else {
            if repeats > 0 { faults.append("\(key): a repeat of what is not wrong") }
            return
        }
        // Of a job that is paused or stopped, it is not known whether it would still be late or stale.
        let mustRepeat =
            key.kind == "late" ? facts.pausedSince == nil : key.kind != "stale" || facts.isArmed
        // Between two pauses it was neither, if only for this event.
        let mayRepeat =
            mustRepeat
            || now.count { if case .resumed(key.job, _) = $0 { true } else { false } } > 0
        // If the clock was set back, the interval begins again.
        if mayRepeat { told.earliest = min(told.earliest, now.wall) }
        if mustRepeat { told.latest = min(told.latest, now.wall) }
        if repeats > (mayRepeat && now.wall - told.earliest >= Self.repeatSpan ? 1 : 0) {
            faults.append("\(key): repeated too soon, or in a pause")
        }
        guard now.open[key] != nil, !isNew else { return }
        if mustRepeat, now.wall - told.latest >= Self.repeatSpan, repeats == 0, !isShutDown {
            faults.append("\(key): is not repeated")
        }
        lastTold[key] = repeats > 0 ? LastTold(now.wall) : told
    }
}
