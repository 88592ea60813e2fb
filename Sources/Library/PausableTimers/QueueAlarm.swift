// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The wake-up of a queue. It is set for the first timer of the queue. If it already expires in
/// time, it is not set again, because setting it costs more than a tick.
struct QueueAlarm: ~Copyable, Sendable {
    /// How late an alarm may expire without being set again. A repeating alarm uses whole
    /// nanoseconds, but the period of 240 Hz, for example, is not a whole number of them, so that
    /// it would be late by this much after some seconds. The kernel and Dispatch add much longer
    /// delays themselves.
    private static let slack: Int64 = 500
    /// For timers with a longer interval the alarm is set for each tick.
    private static let repeatMax: Int64 = 3600 * 1_000_000_000
    /// By how much the alarm by the wall clock is later than the one by CLOCK_MONOTONIC, so that it
    /// expires first only after a sleep of the machine.
    private static let guardDelay: Duration = .milliseconds(10)

    private var alarm: (any Alarm)?
    private var systemAlarm: SystemAlarm?
    /// When it expires, in nanoseconds of CLOCK_MONOTONIC; `.max`: never.
    private var instant = Int64.max
    /// After how many nanoseconds it expires again; 0: it does not repeat.
    private var interval: Int64 = 0
    private var sleepGuard: SystemAlarm?
    private var guarded: BootInstant?

    /// Whether `make` has been called.
    var isMade: Bool { alarm != nil }

    /// Keeps the alarm, which is set later as the timers need it.
    mutating func make(_ alarm: any Alarm) {
        self.alarm = alarm
        systemAlarm = alarm as? SystemAlarm
    }

    /// Makes sure that the alarm expires at the right time.
    ///
    /// - Parameters:
    ///   - wanted: when it must expire; nil: never.
    ///   - span: after how many nanoseconds it must expire again if nothing changes; 0: it must not
    ///     repeat.
    ///   - isRinging: whether the alarm is just being handled. Then an alarm that does not repeat
    ///     has to be set again. Otherwise an alarm that expires too early is left unchanged: it is
    ///     set again when it expires.
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

    /// When it expires next, as it is set now.
    private func next(now: Int64, isRinging: Bool) -> Int64 {
        // An alarm that does not repeat has to be set again, even if it expired too early.
        guard interval > 0 else { return isRinging ? .max : instant }
        guard instant <= now else { return instant }
        return instant + ((now - instant) / interval + 1) * interval
    }

    /// Whether the alarm that detects a sleep of the machine has to be set, for timers that count
    /// during sleep. A time source other than the machine handles sleep itself.
    func needsGuard(for first: BootInstant, isRinging: Bool) -> Bool {
        systemAlarm != nil && (isRinging || guarded != first)
    }

    /// Sets the alarm by the wall clock, which expires as soon as the machine wakes up. If the
    /// clock is set back meanwhile, it expires later, which is no worse than having no such alarm.
    mutating func setGuard(
        for first: BootInstant, at now: Now, makeAlarm: () -> SystemAlarm
    ) {
        let alarm = sleepGuard ?? makeAlarm()
        sleepGuard = alarm
        guarded = first
        alarm.set(wall: now.wall + (first - now.boot) + Self.guardDelay)
    }

    /// Removes the alarm, because no timer counts during sleep any more.
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
