// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TimerCore

/// The timers of jobs.
extension Loop {
    /// Sets or cancels a timer of this job as the agenda has it now, or plans that.
    ///
    /// - Parameter room: how many further timers of the same decision are set in this turn.
    func setTimer(of job: Job.Name, room: inout Int) {
        switch timers.request(job, room: &room) {
        case .setNow: setTimers(of: CollectionOfOne(job))
        case .setWithWakeUp, .setLater(isFirst: false): break
        case .setLater(isFirst: true): begin(UnsetTimers(), as: .timers)
        }
    }

    /// Sets or cancels all timers of these jobs as the agenda has them now.
    func setTimers(of jobs: some Collection<Job.Name>) {
        let isBusy = isBusy
        let now = clocks.now()
        // One question about all jobs: each one copies the agenda's references.
        timers.set(jobs, for: agenda.alarms(of: jobs), at: now) { alarm in
            EarlyFiring.lead(left: alarm.left(at: now), isBusy: isBusy)
        }
    }

    /// Sets the timer for incidents as the agenda has it now.
    func setIncidentTimer() {
        timers.setIncidentTimer(for: agenda.incidentsAlarm) {
            JobTimer(source: makeTimer { $0.receive(.incidentsDue) })
        }
    }
}

/// The timers that must still be set.
final class UnsetTimers: LongWork {
    func advance(on loop: isolated Loop) -> PortionResult {
        // The timer of a job that is due may be among those that are not set yet.
        if let first = loop.agenda.nextRing(at: loop.clocks.now()), first.after <= .zero {
            loop.timerFired(first.job)
        }
        loop.setTimers(of: loop.timers.takePortion())
        return loop.timers.areUnset ? .more : .finished
    }
}

/// A reference that the timers of all jobs share: a weak one in each would be an allocation of its own.
final class LoopReference: Sendable {
    // Set once, before the first timer is made.
    nonisolated(unsafe) weak var loop: Loop?

    /// Makes a timer whose handler captures little, because there may be very many.
    func makeTimer(of job: Job.Name, on queue: DispatchQueue) -> JobTimer {
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { @Sendable [self] in
            loop?.assumeIsolated { $0.timerFired(job) }
        }
        source.activate()
        return JobTimer(source: source)
    }
}
