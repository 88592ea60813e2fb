// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// How far decisions are ahead of the clocks. From a timer to the program of a run it takes some
/// milliseconds: a decision, a record, a request to the runner, a process. So a firing is decided a
/// moment before it is due, as of the instant at which it is due, and the process waits for that
/// instant.
///
/// No later decision is made as of an earlier instant. What must be exact waits for the clocks, and
/// while it waits, no further firing is decided ahead. A busy daemon decides each firing when it is
/// due.
struct EarlyFiring {
    /// How long before it is due a firing is decided, if nothing can prevent it until then.
    static let lead: Duration = .milliseconds(10)
    /// How much earlier still, in the wake-up of another one.
    static let gathering: Duration = .milliseconds(20)
    /// With this many active runs, and as many that started just now, no firing is decided ahead.
    static let busyRuns = 48
    /// How long a busy daemon is taken to stay busy, when a timer is set.
    static let busyMax: Duration = .seconds(2)
    /// The clocks are read one after the other, so that when one has reached an instant, another may
    /// not quite be there.
    static let readingNoise: Duration = .microseconds(2)

    /// As of when the last firing was decided ahead.
    private var until: AwakeInstant
    /// How fast runs start.
    private var starts = EventRate(busyRuns, within: .milliseconds(100))
    /// Whether something waits for the clocks.
    private var isAwaited = false

    init(until: AwakeInstant = AwakeInstant(nanoseconds: 0)) { self.until = until }

    /// The reading of the clocks as of which a decision is made now.
    func reading(_ now: Now) -> Now {
        now.awake < until ? now.advanced(by: until - now.awake) : now
    }

    /// By how much such a reading is ahead of the clocks, as CLOCK_MONOTONIC is now.
    func lead(of reading: Now, at awake: AwakeInstant) -> Duration {
        reading.awake == until ? max(.zero, reading.awake - awake) : .zero
    }

    /// Whether decisions are ahead of the clocks.
    func isAhead(at awake: AwakeInstant) -> Bool { awake < until }

    /// Notes that runs start.
    mutating func note(starts count: Int, at instant: AwakeInstant) {
        starts.note(count, at: instant)
    }

    /// Whether so many runs are active, and start, that a program would not start on time anyway,
    /// because of the others. A process that waits would only take the place of one that works. Runs
    /// that only sleep do not count.
    func isBusy(activeRuns: Int, at awake: AwakeInstant) -> Bool {
        activeRuns >= Self.busyRuns && starts.isFast(at: awake)
    }

    /// How long before a job is due its timer fires. Not earlier if the daemon is likely to be busy
    /// then.
    ///
    /// - Parameter left: how long it is until the job is due.
    static func lead(left: Duration, isBusy: Bool) -> Duration {
        isBusy && left < busyMax ? .zero : lead
    }

    /// Makes the next readings those of the instant at which a job is due, if that is soon. The
    /// caller has found that nothing can prevent its run until then.
    ///
    /// - Parameter left: how long it is until the job is due.
    /// - Returns: whether it did.
    mutating func decideAhead(
        left: Duration, at awake: AwakeInstant, isBusy: Bool
    ) -> Bool {
        guard left > .zero, left <= Self.lead + Self.gathering, !isAwaited,
            awake + left <= until || !isBusy
        else { return false }
        until = max(until, awake + left + Self.readingNoise)
        return true
    }

    /// Notes that something waits for the clocks.
    ///
    /// - Returns: after which time to call `noteClocks`; nil if they are there, or if that is planned.
    mutating func waitForClocks(at awake: AwakeInstant) -> Duration? {
        guard !isAwaited, awake < until else { return nil }
        isAwaited = true
        return until - awake
    }

    /// Notes that this time has passed.
    mutating func noteClocks() { isAwaited = false }
}
