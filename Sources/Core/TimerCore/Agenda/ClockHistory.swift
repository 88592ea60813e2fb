// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What the readings of the clocks, one for each event, tell about the time between them: whether
/// the machine slept, and whether the wall clock was set.
///
/// CLOCK_BOOTTIME cannot be set, so it is the measure of a step of the wall clock, and what it
/// advanced beyond CLOCK_MONOTONIC is the time that the machine slept. The clocks are read one after
/// the other, so differences below `Agenda.stepMin` say nothing.
struct ClockHistory: Sendable {
    /// What happened to the clocks between two events.
    struct Change: Equatable {
        /// Whether the machine slept.
        var slept = false
        /// By how much the wall clock was set; nil if it was not.
        var step: Duration?
    }

    /// When this daemon instance started.
    let startedAt: Now
    /// The readings of the clocks at the last event and at the one before it.
    private(set) var last: Now
    private var previous: Now?
    /// By how much the readings of the last event and of the one before were ahead of the clocks.
    private var lastAhead = Duration.zero
    private var previousAhead = Duration.zero
    /// By how much the wall clock was set just before the last event.
    private(set) var lastStep = Duration.zero
    /// Until when nothing could fire: the start of this daemon instance, or the end of the last
    /// sleep of the machine.
    private(set) var downtimeEnd: Now
    /// The range that the wall clock was last set past, if it was set forward by less than a
    /// correction.
    private(set) var skippedWallRange: (after: WallInstant, through: WallInstant)?

    /// The clocks when a daemon instance starts.
    init(start now: Now) {
        startedAt = now
        last = now
        downtimeEnd = now
    }

    /// Notes the reading of an event.
    ///
    /// - Parameter ahead: by how much it is ahead of the clocks.
    /// - Returns: what happened since the last event; nothing if the readings are of different
    ///   boots.
    mutating func note(_ now: Now, ahead: Duration) -> Change {
        let change = change(until: now)
        lastStep = change.step ?? .zero
        previous = last
        last = now
        previousAhead = lastAhead
        lastAhead = ahead
        if change.slept { downtimeEnd = now }
        if let step = change.step {
            if step.length >= Agenda.correctionMin {
                skippedWallRange = nil
            } else if step > .zero {
                skippedWallRange = (after: now.wall - step, through: now.wall)
            }
        }
        return change
    }

    /// What happened to the clocks since the last event.
    func change(until now: Now) -> Change {
        guard last.bootID == now.bootID else { return Change() }
        return Change(
            slept: now.slept(since: last) >= Agenda.stepMin, step: now.step(since: last))
    }

    /// How much time of a basis certainly passed since an instant of the wall clock after the
    /// previous event, until this last one.
    func passed(since instant: WallInstant, by basis: TimeBasis) -> Duration {
        guard let previous, previous.bootID == last.bootID else { return .zero }
        // A range that the clock was set past is not time that passed.
        let late = last.wall - instant - max(.zero, lastStep)
        switch basis {
        case .boottime, .wall:
            return max(.zero, min(late, last.boot - previous.boot + previousAhead))
        case .active, .uptime:
            // If the machine slept, it is not known which part of the sleep was before the instant.
            guard last.slept(since: previous) < Agenda.stepMin else { return .zero }
            return max(.zero, min(late, last.awake - previous.awake + previousAhead))
        }
    }
}

extension Now {
    /// By how much the wall clock was set since an earlier reading, measured against
    /// CLOCK_BOOTTIME, which cannot be set. Nil if it was not set, or if the reading is of another
    /// boot.
    func step(since earlier: Now) -> Duration? {
        guard earlier.bootID == bootID else { return nil }
        let step = (wall - earlier.wall) - (boot - earlier.boot)
        return step.length >= Agenda.stepMin ? step : nil
    }
}

extension Duration {
    /// The absolute value; `abs` does not accept a `Duration`.
    var length: Duration { self < .zero ? .zero - self : self }
}
