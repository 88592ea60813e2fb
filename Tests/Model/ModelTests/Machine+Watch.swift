// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What the simulated machine observes for `WatchChecker`: the notifications and incidents of the
/// notifier `w`, and the facts on which they depend.
extension Machine {
    static func job(of happening: Episode.Happening) -> Int? {
        if case .ended(let end) = happening { end.job } else { nil }
    }

    func observeWatch(_ told: [JobNotification]) {
        for one in told where one.notifier.description == "w" {
            guard let job = one.job.map(index) else { continue }
            watch.sent.append(
                WatchEpisode.Sent(
                    kind: one.kind.rawValue, job: job, run: one.run.map { "\($0)" },
                    isRepeat: one.isRepeat, recoveredFrom: one.recoveredFrom.map(\.rawValue)))
        }
    }

    /// Ends the observation of an event.
    func closeWatch(_ told: Told) {
        watch.wall = wall
        watch.boot = awake + asleep
        watch.isUndisturbed = isUndisturbed
        watch.isSet = wasSet
        watch.event = told
        for job in 0..<Self.names where IncidentChecker.isWatched(job) {
            watch.jobs[job] = watched(job)
        }
        for incident in incidents.values where incident.id.notifier.description == "w" {
            watch.open[
                WatchEpisode.Key(job: index(incident.id.job), kind: incident.id.kind.rawValue)] =
                incident.count
        }
        timeline.watches.append(watch)
        watch = WatchEpisode()
        isUndisturbed = true
        wasSet = false
    }

    private func watched(_ job: Int) -> WatchEpisode.Job? {
        let name = Self.allNames[job]
        guard let policy = agenda.definition(of: name)?.policy,
            let phase = agenda.snapshot(of: name, at: now)?.phase
        else { return nil }
        var one = WatchEpisode.Job()
        one.late = policy.lateAfter.map {
            ($0 + policy.accuracy + policy.randomDelay).wholeNanoseconds
        }
        one.catchUp = policy.catchUpDelay.wholeNanoseconds
        one.long = policy.longAfter?.wholeNanoseconds
        one.stale = policy.staleAfter?.wholeNanoseconds
        one.pausedLong = policy.pausedAfter?.wholeNanoseconds
        one.isArmed = phase == .armed
        if case .paused(let pause) = phase {
            one.pausedSince = pause.since.microsecondsSinceEpoch * Unit.microsecond
            one.pausedUntil = pause.until.map { $0.microsecondsSinceEpoch * Unit.microsecond }
        }
        for row in rows where row.owner == name {
            one.runs["\(row.run.id)"] = WatchEpisode.Run(
                scheduled: row.run.id.firing.scheduled.microsecondsSinceEpoch * Unit.microsecond,
                attempt: row.run.id.attempt, isMissed: row.run.firing.cause == .catchUp,
                began: row.began)
        }
        return one
    }
}
