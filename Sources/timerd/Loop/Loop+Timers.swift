// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TimerCore

/// The timers of jobs.
extension Loop {
    /// How many timers are set before other work gets its turn: about a millisecond.
    static let timersPerTurn = 256

    /// Which timer an action concerns.
    enum TimerOfJob {
        case next(Job.Name)
        case retry(Job.Name)

        var job: Job.Name {
            switch self {
            case .next(let job), .retry(let job): job
            }
        }
    }

    /// Sets or cancels a timer as the agenda has it now. This may be long after the decision,
    /// because of a write or many other timers, so the instant of the decision could be wrong.
    ///
    /// - Parameter room: how many further timers are set in this turn. The others are set in later
    ///   turns.
    /// - Returns: whether there is such a timer.
    func set(_ timer: TimerOfJob?, room: inout Int) -> Bool {
        guard let timer else { return false }
        guard room > 0 else {
            if unsetTimers.isEmpty { later { $0.setSomeTimers() } }
            unsetTimers.append(timer.job)
            return true
        }
        room -= 1
        guard wakeUp == nil else {
            wakeUp!.jobs.append(timer.job)
            return true
        }
        switch timer {
        case .next(let job): self.timer(of: job, for: agenda.alarm(of: job))?.arm(by: clocks)
        case .retry(let job): retryTimer(of: job, for: agenda.retryAlarm(of: job))?.arm(by: clocks)
        }
        return true
    }

    /// Sets or cancels all timers of these jobs as the agenda has them now.
    func setTimers(of jobs: some Collection<Job.Name>) {
        // One question about all jobs: each one copies the agenda's references.
        let alarms = agenda.alarms(of: jobs)
        // First all timers, then their instants: Dispatch's thread for timers is then still busy
        // with one when the next is set, and need not be woken for each.
        var due: [DueTimer?] = []
        for (job, (next, retry)) in zip(jobs, alarms) {
            due.append(timer(of: job, for: next))
            due.append(retryTimer(of: job, for: retry))
        }
        for timer in due { timer?.arm(by: clocks) }
    }

    func setSomeTimers() {
        // The timer of a job that is due may be among those that are not set yet.
        if let first = agenda.nextRing(at: clocks.now()), first.after <= .zero {
            timerFired(first.job)
        }
        let some = unsetTimers.prefix(Self.timersPerTurn)
        unsetTimers = unsetTimers.dropFirst(some.count)
        setTimers(of: some)
        guard unsetTimers.isEmpty else { return later { $0.setSomeTimers() } }
        unsetTimers = []
        runWaiting()
    }

    /// A timer that must be set, and when it is due.
    private struct DueTimer {
        var timer: JobTimer
        var alarm: Alarm
        /// How much earlier the timer fires, unless that is past.
        var lead: Duration = .zero

        func arm(by clocks: Clocks) { timer.arm(at: alarm, lead: lead, clocks: clocks) }
    }

    /// The timer of a job for this instant; it is cancelled without one.
    private func timer(of job: Job.Name, for alarm: Alarm?) -> DueTimer? {
        guard let alarm else {
            timers.removeValue(forKey: job)?.cancel()
            return nil
        }
        return DueTimer(timer: timer(of: job), alarm: alarm, lead: lead(before: alarm))
    }

    /// The same for the next retry of the job.
    private func retryTimer(of job: Job.Name, for instant: AwakeInstant?) -> DueTimer? {
        guard let instant else {
            retryTimers.removeValue(forKey: job)?.cancel()
            return nil
        }
        return DueTimer(timer: retryTimer(of: job), alarm: .awake(instant))
    }

    /// Sets the timer for incidents as the agenda has it now: one for all jobs.
    func setIncidentTimer() {
        guard let instant = agenda.incidentsAlarm else {
            incidentTimer?.cancel()
            incidentTimer = nil
            return
        }
        let timer =
            incidentTimer ?? JobTimer(source: makeTimer { $0.receive(.incidentsDue) })
        incidentTimer = timer
        timer.arm(at: instant)
    }

    /// Makes a timer whose handler captures little, because there may be very many.
    private func makeTimer(of job: Job.Name) -> JobTimer {
        let source = DispatchSource.makeTimerSource(queue: executor.queue)
        source.setEventHandler { @Sendable [reference] in
            reference.loop?.assumeIsolated { $0.timerFired(job) }
        }
        source.activate()
        return JobTimer(source: source)
    }

    private func timer(of job: Job.Name) -> JobTimer {
        if let timer = timers[job] { return timer }
        let timer = makeTimer(of: job)
        timers[job] = timer
        return timer
    }

    private func retryTimer(of job: Job.Name) -> JobTimer {
        if let timer = retryTimers[job] { return timer }
        let timer = makeTimer(of: job)
        retryTimers[job] = timer
        return timer
    }
}

/// A reference that the timers of all jobs share: a weak one in each would be an allocation of its own.
final class LoopReference: Sendable {
    weak let loop: Loop?

    init(_ loop: Loop) { self.loop = loop }
}

extension Action {
    /// The timer that it concerns; nil if it concerns none.
    var timer: Loop.TimerOfJob? {
        switch self {
        case .arm(let job, _), .armAt(let job, _), .disarm(let job): .next(job)
        case .armRetry(let job, _), .disarmRetry(let job): .retry(job)
        case .begin, .start, .startReleased, .withdraw, .end, .signal, .suspend, .resume, .close,
            .save,
            .storeJobSet, .log, .answer, .notify, .armIncidents, .decline:
            nil
        }
    }
}
