// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Firing on time. From a timer to the program of a run it takes some milliseconds: a decision, a
/// record, an order to the runner, a process. So a firing is decided a moment before it is due, as of
/// the instant at which it is due, and the process waits for that instant.
extension Loop {
    /// How long before it is due a firing is decided, if nothing can prevent it until then.
    static let lead: Duration = .milliseconds(10)
    /// How much earlier still, in the wake-up of another one; and how many more firings at most.
    static let gathering: Duration = .milliseconds(20)
    static let firingsPerWake = 16
    /// With this many active runs, and as many that started just now, no firing is decided ahead.
    static let busyRuns = 48
    static let noStarts = EventRate(busyRuns, within: .milliseconds(100))
    /// How long a busy daemon is taken to stay busy, when a timer is set.
    static let busyMax: Duration = .seconds(2)
    /// The clocks are read one after the other, so that when one has reached an instant, another may
    /// not quite be there.
    static let readingNoise: Duration = .microseconds(2)

    /// One reading of the clocks for the agenda, at most `lead` and `gathering` ahead of them: no
    /// event is before a firing that is decided.
    func reading() -> Now {
        let now = clocks.now()
        return now.awake < aheadUntil ? now.advanced(by: aheadUntil - now.awake) : now
    }

    /// Whether so many runs are active, and start, that a program would not start on time anyway,
    /// because of the others. A process that waits would only take the place of one that works. Runs
    /// that only sleep do not count.
    var isBusy: Bool {
        agenda.liveRuns >= Self.busyRuns && startRate.isFast(at: clocks.awake)
    }

    /// How long before `alarm` its timer fires. Not earlier if the daemon is likely to be busy then.
    func lead(before alarm: Alarm) -> Duration {
        isBusy && alarm.left(at: clocks.now()) < Self.busyMax ? .zero : Self.lead
    }

    /// By how much a reading is ahead of the clocks.
    func lead(of now: Now) -> Duration {
        now.awake == aheadUntil ? max(.zero, now.awake - clocks.awake) : .zero
    }

    /// Handles a timer that fired. If it fired late, the daemon did not run meanwhile, and the ends
    /// of some runs may not have been reported yet. They are handled first: otherwise this run
    /// would be skipped because of a run that is over.
    func timerFired(_ job: Job.Name) {
        let late = agenda.lateness(at: clocks.now()) ?? .zero
        if agenda.liveRuns > 0, late > Self.lateMax {
            launcher.barrier { self.later { $0.wake(job) } }
        } else {
            wake(job)
        }
    }

    /// Lets a job fire, and then one after the other the jobs that are due soon after it, which saves
    /// a wake-up for each.
    private func wake(_ job: Job.Name) {
        let now = clocks.now()
        if let alarm = agenda.alarm(of: job) {
            look(ahead: alarm.left(at: now), of: job, from: now)
        }
        wakeUp = WakeUp()
        receive(.wake(job))
        for _ in 0..<Self.firingsPerWake {
            let now = clocks.now()
            guard let next = agenda.nextRing(at: now),
                look(ahead: next.after, of: next.job, from: now)
            else { break }
            receive(.wake(next.job))
        }
        guard var ended = wakeUp.take() else { return }
        let writes = ended.takeWrites(for: self)
        if !writes.isEmpty { recorder.write(writes) }
        setTimers(of: ended.jobs)
    }

    /// Makes the next readings those of the instant at which the job is due, if that is soon and
    /// nothing can prevent its run until then. Not if a clock was set, and not while something waits
    /// for the clocks, or happens to many jobs: it would then be dated ahead too.
    ///
    /// - Returns: whether it did.
    @discardableResult
    private func look(ahead left: Duration, of job: Job.Name, from now: Now) -> Bool {
        guard left > .zero, left <= Self.lead + Self.gathering,
            now.awake + left <= aheadUntil || !isBusy, agenda.mayFireAhead(job),
            !agenda.clocksJumped(at: now), waitingForClocks.isEmpty, !isDeciding,
            transaction == nil, checkpointed == nil
        else { return false }
        aheadUntil = max(aheadUntil, now.awake + left + Self.readingNoise)
        return true
    }

    /// Whether the clocks have reached every instant as of which a firing was decided, and nothing
    /// waits for that.
    var isOnTime: Bool { clocks.awake >= aheadUntil && waitingForClocks.isEmpty }

    /// Runs `body` once that is so, after what waits already: for all that decides how the time of a
    /// job counts, which is exact only at its own instant. No firing is decided ahead meanwhile, so
    /// this takes at most `lead` and `gathering`.
    func onTime(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        guard !isOnTime else { return body(self) }
        waitingForClocks.append(body)
        if waitingForClocks.count == 1 { waitForClocks() }
    }

    private func waitForClocks() {
        later(after: aheadUntil - clocks.awake) { loop in
            guard loop.clocks.awake >= loop.aheadUntil else { return loop.waitForClocks() }
            let waiting = loop.waitingForClocks
            loop.waitingForClocks = []
            for body in waiting { body(loop) }
        }
    }
}
