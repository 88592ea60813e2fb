// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The timers of jobs.
extension Loop {
    /// How many timers are set before others have their turn: a millisecond's worth.
    static let timersPerTurn = 256

    /// Which timer an action is about.
    enum TimerOfJob {
        case next(Job.Name)
        case retry(Job.Name)

        var job: Job.Name {
            switch self {
            case .next(let job), .retry(let job): job
            }
        }
    }

    /// Sets a timer, or takes it down, as the agenda has it now. That may be long after it was decided, behind a
    /// write or many other timers, and then an instant that was decided on earlier would be wrong.
    ///
    /// - Parameter room: how many further timers are set in this turn. The others are set in turns of their own.
    /// - Returns: whether there is such a timer.
    func set(_ timer: TimerOfJob?, room: inout Int) -> Bool {
        guard let timer else { return false }
        guard room > 0 else {
            if unsetTimers.isEmpty { later { $0.setSomeTimers() } }
            unsetTimers.append(timer.job)
            return true
        }
        room -= 1
        switch timer {
        case .next(let job): setTimer(of: job)
        case .retry(let job): setRetryTimer(of: job)
        }
        return true
    }

    private func setSomeTimers() {
        let some = unsetTimers.prefix(Self.timersPerTurn)
        unsetTimers = unsetTimers.dropFirst(some.count)
        for job in some {
            setTimer(of: job)
            setRetryTimer(of: job)
        }
        guard unsetTimers.isEmpty else { return later { $0.setSomeTimers() } }
        unsetTimers = []
        let waiting = waitingForTimers
        waitingForTimers = []
        for body in waiting { body(self) }
    }

    /// Does this once every timer is set that was to be set before.
    func afterTimers(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        guard !unsetTimers.isEmpty else { return body(self) }
        waitingForTimers.append(body)
    }

    private func setTimer(of job: Job.Name) {
        switch agenda.alarm(of: job) {
        case .awake(let instant): timer(of: job).arm(at: instant)
        case .wall(let instant): timer(of: job).arm(at: instant)
        case nil: timers.removeValue(forKey: job)?.cancel()
        }
    }

    private func setRetryTimer(of job: Job.Name) {
        if let instant = agenda.retryAlarm(of: job) {
            retryTimer(of: job).arm(at: instant)
        } else {
            retryTimers.removeValue(forKey: job)?.cancel()
        }
    }

    private func timer(of job: Job.Name) -> JobTimer {
        if let timer = timers[job] { return timer }
        let timer = JobTimer(source: makeTimer(for: job) { $0.timerFired($1) })
        timers[job] = timer
        return timer
    }

    private func retryTimer(of job: Job.Name) -> JobTimer {
        if let timer = retryTimers[job] { return timer }
        let timer = JobTimer(source: makeTimer(for: job) { $0.timerFired($1) })
        retryTimers[job] = timer
        return timer
    }
}

extension Action {
    /// The timer it is about; nil if it is about none.
    var timer: Loop.TimerOfJob? {
        switch self {
        case .arm(let job, _), .armAt(let job, _), .disarm(let job): .next(job)
        case .armRetry(let job, _), .disarmRetry(let job): .retry(job)
        case .begin, .start, .end, .signal, .suspend, .resume, .close, .save, .storeJobSet, .tell,
            .answer:
            nil
        }
    }
}
