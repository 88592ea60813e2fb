// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The timers of the jobs, of their retries and of incidents, and the jobs whose timers must still be
/// set.
///
/// A timer is always set as the agenda has it at that moment. This may be long after the decision,
/// because of a write or many other timers, so the instant of the decision could be wrong.
struct JobTimers<Timer: OneShotTimer> {
    /// How many timers are set at a time: about a millisecond.
    static var perPortion: Int { 256 }

    /// What is done with a timer that a decision changes.
    enum Request: Equatable {
        /// It is set now.
        case setNow
        /// It is set at the end of the wake-up.
        case setWithWakeUp
        /// It is set later with others. They are the first of these: a portion must be planned.
        case setLater(isFirst: Bool)
    }

    /// When the timers of a job are due; nil without one.
    typealias DueTimes = (next: Alarm?, retry: AwakeInstant?)

    private let makeTimer: @Sendable (Job.Name) -> Timer
    private var timers: [Job.Name: Timer] = [:]
    private var retryTimers: [Job.Name: Timer] = [:]
    /// Fires when something may be wrong with a job although nothing happens to it.
    private var incidentTimer: Timer?
    private var holdTimer: Timer?
    /// The jobs whose timers must still be set.
    private var unset: ArraySlice<Job.Name> = []
    /// The jobs whose timers the firings of this wake-up changed; nil outside of one.
    private var changed: [Job.Name]?

    /// - Parameter makeTimer: makes the timer of a job, which is not set.
    init(makeTimer: @escaping @Sendable (Job.Name) -> Timer) { self.makeTimer = makeTimer }

    /// How many jobs have a timer.
    var count: Int { timers.count }
    /// Whether some timers must still be set.
    var areUnset: Bool { !unset.isEmpty }

    /// Makes room for the timers of this many jobs.
    mutating func reserveCapacity(_ count: Int) { timers.reserveCapacity(count) }

    /// A decision changed a timer of this job.
    ///
    /// - Parameter room: how many further timers of this decision are set now.
    mutating func request(_ job: Job.Name, room: inout Int) -> Request {
        guard room > 0 else {
            unset.append(job)
            return .setLater(isFirst: unset.count == 1)
        }
        room -= 1
        guard changed == nil else {
            changed?.append(job)
            return .setWithWakeUp
        }
        return .setNow
    }

    /// From here on, timers are set at the end of the wake-up: one after the other, which takes less
    /// time.
    mutating func beginWakeUp() { changed = [] }

    /// Ends the wake-up.
    ///
    /// - Returns: the jobs whose timers must be set now.
    mutating func endWakeUp() -> [Job.Name] { changed.take() ?? [] }

    /// Removes and returns some of the jobs whose timers must still be set.
    mutating func takePortion() -> ArraySlice<Job.Name> {
        let portion = unset.prefix(Self.perPortion)
        unset = unset.dropFirst(portion.count)
        if unset.isEmpty { unset = [] }
        return portion
    }

    /// Sets or cancels all timers of these jobs.
    ///
    /// - Parameters:
    ///   - alarms: when they are due, for each of the jobs.
    ///   - now: a reading of the clocks.
    ///   - lead: how much earlier the timer for the next firing fires.
    mutating func set(
        _ jobs: some Collection<Job.Name>, for alarms: [DueTimes], at now: Now,
        lead: (Alarm) -> Duration
    ) {
        // First all timers, then their instants: Dispatch's thread for timers is then still busy
        // with one when the next is set, and need not be woken for each.
        var due: [(timer: Timer, alarm: Alarm, lead: Duration)] = []
        for (job, alarms) in zip(jobs, alarms) {
            if let alarm = alarms.next {
                let timer = timers[job] ?? makeTimer(job)
                timers[job] = timer
                due.append((timer, alarm, lead(alarm)))
            } else {
                timers.removeValue(forKey: job)?.cancel()
            }
            if let retry = alarms.retry {
                let timer = retryTimers[job] ?? makeTimer(job)
                retryTimers[job] = timer
                due.append((timer, .awake(retry), .zero))
            } else {
                retryTimers.removeValue(forKey: job)?.cancel()
            }
        }
        for (timer, alarm, lead) in due { timer.arm(at: alarm, lead: lead, now: now) }
    }

    /// Sets the timer for incidents, one for all jobs; cancels it without an instant.
    ///
    /// - Parameter make: makes the timer if there is none.
    mutating func setIncidentTimer(for instant: WallInstant?, make: () -> Timer) {
        Self.set(&incidentTimer, for: instant, make: make)
    }

    /// The same for the timer of the end of a hold.
    mutating func setHoldTimer(for instant: WallInstant?, make: () -> Timer) {
        Self.set(&holdTimer, for: instant, make: make)
    }

    private static func set(
        _ kept: inout Timer?, for instant: WallInstant?, make: () -> Timer
    ) {
        guard let instant else {
            kept.take()?.cancel()
            return
        }
        let timer = kept ?? make()
        kept = timer
        timer.arm(at: instant)
    }
}

/// A timer that fires once for each time that it is set.
protocol OneShotTimer {
    /// Fires at `instant`, or at once if that is past.
    func arm(at instant: AwakeInstant)
    /// Fires when the wall clock reads `instant`, however it is set until then.
    func arm(at instant: WallInstant)
    /// Cancels the timer for ever.
    func cancel()
}

extension OneShotTimer {
    /// Fires at the instant of the clock that the alarm is of, or `lead` earlier if that is still
    /// ahead.
    func arm(at alarm: Alarm, lead: Duration, now: Now) {
        switch alarm {
        case .awake(let instant):
            let early = instant - lead
            arm(at: early > now.awake ? early : instant)
        case .wall(let instant):
            let early = instant - lead
            arm(at: early > now.wall ? early : instant)
        }
    }
}
