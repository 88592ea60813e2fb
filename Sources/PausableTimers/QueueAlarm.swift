// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The wake-up of a queue: set to the first of its timers, and left alone where it will ring in time anyway,
/// since setting it costs more than a tick.
struct QueueAlarm: ~Copyable, Sendable {
    /// How much later than wanted an alarm may ring that need not be set again for it. One that repeats does so after
    /// whole nanoseconds, and 240 Hz is a third of one less: it falls behind by this in some seconds. It is a small
    /// part of what the kernel and Dispatch add themselves.
    private static let slack: Int64 = 500
    /// Timers of a longer interval set the alarm for each tick.
    private static let repeatMax: Int64 = 3600 * 1_000_000_000
    /// By how much the alarm of the wall clock comes later than that of the clock which stops while the machine
    /// sleeps, so that it rings only after a sleep.
    private static let guardDelay: Duration = .milliseconds(10)

    private var alarm: (any Alarm)?
    private var systemAlarm: SystemAlarm?
    /// When it rings, in nanoseconds of CLOCK_MONOTONIC; never: `.max`.
    private var instant = Int64.max
    /// After how many nanoseconds it rings again; 0: it does not.
    private var interval: Int64 = 0
    private var sleepGuard: SystemAlarm?
    private var guarded: BootInstant?

    /// Whether it was made.
    var isMade: Bool { alarm != nil }

    /// Takes the alarm it sets, and the one that rings after a sleep of the machine.
    mutating func make(_ alarm: any Alarm) {
        self.alarm = alarm
        systemAlarm = alarm as? SystemAlarm
    }

    /// Sees to it that the alarm rings.
    ///
    /// - Parameters:
    ///   - wanted: when it has to ring; nil: never.
    ///   - span: after how many nanoseconds it has to ring again if nothing is changed; 0: it has not.
    ///   - isRinging: whether this is the end of a ring, in which an alarm that is set for once is spent. Else
    ///     one that rings too early is left as it is: it sets itself again then.
    mutating func set(_ wanted: Int64?, span: Int64, now: Int64, isRinging: Bool) {
        guard let wanted else {
            if instant != .max { alarm?.set(nil) }
            instant = .max
            return
        }
        let next = next(now: now, isRinging: isRinging)
        let isEarlyEnough = next <= wanted || (interval > 0 && next - wanted <= Self.slack)
        if next != .max, isEarlyEnough, !isRinging || next >= wanted { return }
        instant = wanted
        interval = span < Self.repeatMax ? span : 0
        if let systemAlarm {
            systemAlarm.set(AwakeInstant(nanoseconds: wanted), repeating: interval)
        } else {
            interval = 0
            alarm?.set(AwakeInstant(nanoseconds: wanted))
        }
    }

    /// When it rings next as it is set.
    private func next(now: Int64, isRinging: Bool) -> Int64 {
        // One that is set for once is spent, also if it rang too early.
        guard interval > 0 else { return isRinging ? .max : instant }
        guard instant <= now else { return instant }
        return instant + ((now - instant) / interval + 1) * interval
    }

    /// Whether the alarm that notices a sleep of the machine has to be set for timers that count it. Time that is
    /// not the machine's sees to its sleeps itself.
    func needsGuard(for first: BootInstant, isRinging: Bool) -> Bool {
        systemAlarm != nil && (isRinging || guarded != first)
    }

    /// Sets the alarm of the wall clock, which rings as soon as the machine wakes. Where somebody sets that
    /// clock back meanwhile it rings later, and is no worse than none.
    mutating func setGuard(
        for first: BootInstant, at now: Now, makeAlarm: () -> SystemAlarm
    ) {
        let alarm = sleepGuard ?? makeAlarm()
        sleepGuard = alarm
        guarded = first
        alarm.set(wall: now.wall + (first - now.boot) + Self.guardDelay)
    }

    /// No timer counts the machine's sleep any more.
    mutating func dropGuard() {
        guard guarded != nil else { return }
        sleepGuard?.set(nil)
        guarded = nil
    }

    func cancel() {
        alarm?.cancel()
        sleepGuard?.cancel()
    }
}
