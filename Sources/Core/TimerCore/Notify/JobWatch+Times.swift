// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a job because time passed: `late-after`, `long-after`, `stale-after` and
/// `paused-after`.
extension JobWatch {
    /// Begins and ends the incidents that depend on the time.
    ///
    /// - Parameter ended: the run that ended by this event.
    mutating func checkTimes(_ ended: RunSummary?, _ facts: Facts, into result: inout Result) {
        updateRunTimes(facts)
        updateInactiveTime(facts)
        let hasBegun = ended?.began != nil || facts.runs.contains { $0.began != nil }
        check(
            .late, firstReached(facts, lateAt), canBegin: !facts.phase.isPaused, isWell: hasBegun,
            facts, into: &result)
        // A run that was stopped or replaced has not recovered: its work is not done.
        check(
            .long, firstReached(facts, longAt), isWell: ended.map { $0.result == .success } ?? true,
            facts, into: &result)
        checkStale(ended, facts, into: &result)
        let longPause = pausedLongAt(facts).flatMap { $0 <= facts.now.wall ? $0 : nil }
        check(.pausedLong, longPause.map { Problem(since: $0) }, facts, into: &result)
    }

    /// Since when something is wrong, and with which run, if it is one.
    private struct Problem {
        var since: WallInstant
        var run: Run.ID?
    }

    /// Begins the incidents of one kind, or ends them.
    ///
    /// - Parameters:
    ///   - problem: what is wrong; nil if nothing is.
    ///   - canBegin: whether an incident can begin now.
    ///   - isWell: whether an incident that is over is a recovery.
    private mutating func check(
        _ kind: NotificationKind, _ problem: Problem?, canBegin: Bool = true, isWell: Bool = true,
        _ facts: Facts, into result: inout Result
    ) {
        for notifier in facts.notifiers where notifier.on.contains(kind) {
            guard let problem else {
                end(kind, notifier, isWell: isWell, into: &result)
                continue
            }
            guard canBegin, !isOpen(kind, notifier) else { continue }
            begin(
                kind, notifier, since: problem.since, run: problem.run, facts, into: &result)
        }
    }

    private mutating func checkStale(
        _ ended: RunSummary?, _ facts: Facts, into result: inout Result
    ) {
        let open = incidents.first { $0.id.kind == .stale }
        // While the job is not armed, an incident stays as it is.
        guard facts.phase == .armed || open != nil && ended?.result == .success else { return }
        let due = staleAt(facts).flatMap { $0 <= facts.now.wall ? $0 : nil }
        var hasSucceeded = ended?.result == .success
        if let open, let success = facts.lastSuccess, success >= open.since { hasSucceeded = true }
        check(.stale, due.map { Problem(since: $0) }, isWell: hasSucceeded, facts, into: &result)
    }

    /// Remembers the times of the runs by the clock that counts from the boot: they stay right when
    /// the wall clock is set.
    private mutating func updateRunTimes(_ facts: Facts) {
        let policy = facts.job.policy
        guard policy.lateAfter != nil || policy.longAfter != nil else { return runTimes = [:] }
        var times: [Run.ID: RunTimes] = [:]
        for run in facts.runs {
            var time =
                runTimes[run.id]
                ?? RunTimes(due: facts.now.boot(of: facts.job.due(run.id.firing)), began: nil)
            if let began = run.began {
                time.began = time.began ?? facts.now.boot(of: began)
            }
            times[run.id] = time
        }
        runTimes = times
    }

    private mutating func updateInactiveTime(_ facts: Facts) {
        let now = facts.now
        if facts.phase == .armed {
            endInactiveTime(lastSuccess: facts.lastSuccess, at: now.wall, now: now)
        } else {
            followClock(lastSuccess: facts.lastSuccess, at: now)
            inactiveSince = inactiveSince ?? now.wall
        }
    }

    /// Follows the wall clock, by which the time without a success counts. If it is set back, that
    /// time does not become less, and if it was wrong for a while, not more.
    private mutating func followClock(lastSuccess: WallInstant?, at now: Now) {
        if lastSuccess != clock.success {
            if let success = lastSuccess, clock.setBack > .zero {
                watchedSince = min(watchedSince, success)
            }
            clock = Clock(success: lastSuccess)
        }
        let before = clock.setBack
        if let seen = clock.seen, let step = now.step(since: seen) {
            clock.seen = now
            clock.setBack = max(.zero, clock.setBack - step)
        }
        clock.seen = clock.seen ?? now
        // Before this start it may have been set back, too.
        clock.setBack = max(clock.setBack, lastAnchor(lastSuccess) - now.wall)
        if let since = inactiveSince {
            inactiveSince = min(since - (clock.setBack - before), now.wall)
        }
    }

    /// The last success or the start of the watch, whichever is later, by the wall clock as it was
    /// set then.
    private func lastAnchor(_ lastSuccess: WallInstant?) -> WallInstant {
        max(watchedSince, lastSuccess ?? watchedSince)
    }

    /// From this instant on the time without a success counts again, if it did not.
    mutating func endInactiveTime(
        lastSuccess: WallInstant?, at instant: WallInstant, now: Now
    ) {
        followClock(lastSuccess: lastSuccess, at: now)
        watchedSince = watchedSince(lastSuccess: lastSuccess, at: instant)
        inactiveSince = nil
    }

    /// The instant to store, from which the time without a success counts.
    func watchedSince(lastSuccess: WallInstant?, at now: WallInstant) -> WallInstant {
        let anchor = lastAnchor(lastSuccess)
        guard let inactiveSince else { return watchedSince }
        // The time while the job is not armed does not count.
        let pause = now - max(inactiveSince, anchor - clock.setBack)
        return pause > .zero ? anchor + pause : anchor
    }

    /// The first run for which one of the times below is reached.
    private func firstReached(
        _ facts: Facts, _ time: (ActiveRun, Facts) -> WallInstant?
    ) -> Problem? {
        for run in facts.runs {
            if let at = time(run, facts), at <= facts.now.wall {
                return Problem(since: at, run: run.id)
            }
        }
        return nil
    }

    /// When a run is late that has not started; nil for a run that cannot be late.
    private func lateAt(_ run: ActiveRun, _ facts: Facts) -> WallInstant? {
        let policy = facts.job.policy
        guard let span = policy.lateAfter, run.began == nil, run.id.attempt == 1,
            var due = runTimes[run.id].map({ facts.now.wall(of: $0.due) })
        else { return nil }
        let delay = run.firing.cause == .catchUp ? policy.catchUpDelay : .zero
        // A run that waits for the window is not late.
        if let window = facts.job.window, !run.isRequested, !window.isOpen(at: facts.now.wall) {
            due = window.opening(notBefore: facts.now.wall)
        }
        return due + span + policy.accuracy + policy.randomDelay + delay
    }

    /// When a run that has started takes too long.
    private func longAt(_ run: ActiveRun, _ facts: Facts) -> WallInstant? {
        guard let span = facts.job.policy.longAfter, let began = runTimes[run.id]?.began else {
            return nil
        }
        return facts.now.wall(of: began) + span
    }

    /// When the job is stale if no run succeeds until then.
    private func staleAt(_ facts: Facts) -> WallInstant? {
        guard let span = facts.job.policy.staleAfter else { return nil }
        return lastAnchor(facts.lastSuccess) - clock.setBack + span
    }

    /// When the job has been paused for too long.
    private func pausedLongAt(_ facts: Facts) -> WallInstant? {
        guard let span = facts.job.policy.pausedAfter, case .paused(let pause) = facts.phase else {
            return nil
        }
        return pause.since + span
    }

    /// From when on the time counts whose limit is exceeded, which tells a person more than when the
    /// limit was reached; nil for the kinds that are not about time, or if it is not known.
    func origin(of kind: NotificationKind, _ facts: Facts) -> WallInstant? {
        func time(
            _ limit: (ActiveRun, Facts) -> WallInstant?, _ time: (RunTimes) -> BootInstant?
        ) -> WallInstant? {
            firstReached(facts, limit)?.run.flatMap { runTimes[$0] }.flatMap(time)
                .map { facts.now.wall(of: $0) }
        }
        return switch kind {
        case .late: time(lateAt, \.due)
        case .long: time(longAt, \.began)
        case .stale: (facts.lastSuccess ?? watchedSince) - clock.setBack
        case .pausedLong: if case .paused(let pause) = facts.phase { pause.since } else { nil }
        default: nil
        }
    }

    /// When one of the times above is reached, or a notification is repeated. An incident that is
    /// open cannot begin again.
    func nextCheck(_ facts: Facts) -> WallInstant? {
        var instants: [WallInstant] = []
        func isAwaited(_ kind: NotificationKind) -> Bool {
            facts.notifiers.contains { $0.on.contains(kind) && !isOpen(kind, $0) }
        }
        if isAwaited(.late), !facts.phase.isPaused {
            instants += facts.runs.compactMap { lateAt($0, facts) }
        }
        if isAwaited(.long) { instants += facts.runs.compactMap { longAt($0, facts) } }
        if isAwaited(.stale), facts.phase == .armed, let at = staleAt(facts) {
            instants.append(at)
        }
        if isAwaited(.pausedLong), let at = pausedLongAt(facts) { instants.append(at) }
        for notifier in facts.notifiers {
            guard let span = notifier.repeatInterval else { continue }
            for incident in incidents
            where incident.id.notifier == notifier.name && isRepeated(incident, facts) {
                if let notified = incident.notified { instants.append(notified + span) }
            }
        }
        return instants.min()
    }
}

extension Job {
    /// When the run of a firing should have started: a window may have delayed it.
    fileprivate func due(_ firing: Firing.ID) -> WallInstant {
        window?.start(of: firing.scheduled) ?? firing.scheduled
    }
}

extension Now {
    /// The reading of CLOCK_BOOTTIME at a time of the wall clock that is not later than now, by the
    /// wall clock as it is set now.
    fileprivate func boot(of instant: WallInstant) -> BootInstant {
        // Fifty years are longer than any limit that matters, and cannot overflow.
        let ago = min(max(.zero, wall - instant), .seconds(50 * 31_557_600))
        return BootInstant(nanoseconds: boot.nanoseconds - ago.wholeNanoseconds)
    }

    fileprivate func wall(of instant: BootInstant) -> WallInstant { wall - (boot - instant) }
}
