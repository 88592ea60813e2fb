// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Firing on time, as `EarlyFiring` says.
extension Loop {
    /// How many more firings are decided in the wake-up of one at most.
    static let firingsPerWake = 16

    /// One reading of the clocks for the agenda. It may be ahead of them.
    func reading() -> Now { early.reading(clocks.now()) }

    /// By how much such a reading is ahead of the clocks.
    func lead(of now: Now) -> Duration { early.lead(of: now, at: clocks.awake) }

    /// Whether programs would not start on time now, because of all the others.
    var isBusy: Bool { early.isBusy(activeRuns: agenda.liveRuns, at: clocks.awake) }

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
        router.beginWakeUp()
        timers.beginWakeUp()
        receive(.wake(job))
        for _ in 0..<Self.firingsPerWake {
            let now = clocks.now()
            guard let next = agenda.nextRing(at: now),
                look(ahead: next.after, of: next.job, from: now)
            else { break }
            receive(.wake(next.job))
        }
        let writes = router.endWakeUp()
        if !writes.isEmpty { recorder.write(writes.map { write($0) }) }
        setTimers(of: timers.endWakeUp())
    }

    /// Makes the next readings those of the instant at which the job is due, if that is soon and
    /// nothing can prevent its run until then. Not if a clock was set, and not while something
    /// happens to many jobs: it would then be dated ahead too.
    ///
    /// - Returns: whether it did.
    @discardableResult
    private func look(ahead left: Duration, of job: Job.Name, from now: Now) -> Bool {
        guard agenda.mayFireAhead(job), !agenda.clocksJumped(at: now), !router.hasTransaction,
            !portions.isDeciding, !portions.contains(.checkpoint)
        else { return false }
        return early.decideAhead(left: left, at: now.awake, isBusy: isBusy)
    }
}
