// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Agenda {
    /// From here on a step of the calendar clock is a correction: the new time counts, and what lies between
    /// is neither missed nor done. Below, it is treated as daylight saving time is: a step forward is
    /// caught up with once, and after one back nothing is done twice (cron(8) of Debian).
    public static let correctionMin: Duration = .seconds(3 * 3600)
    /// Below this a difference of the clocks is no step: they are read one after the other, and slewed.
    static let stepMin: Duration = .milliseconds(500)

    /// By how much the calendar clock was set since the last event: it moved otherwise than the clock that
    /// nobody sets. Nil if it was not.
    public func step(at now: Now) -> Duration? {
        guard let lastNow, lastNow.bootID == now.bootID else { return nil }
        let step = (now.wall - lastNow.wall) - (now.boot - lastNow.boot)
        return step >= Self.stepMin || step <= .zero - Self.stepMin ? step : nil
    }

    /// Takes note of a step, if there was one.
    mutating func noteStep(at now: Now) -> [Action] {
        defer { lastNow = now }
        guard let step = step(at: now) else { return [] }
        let isCorrection =
            step >= Self.correctionMin || step <= .zero - Self.correctionMin
        let timers = isCorrection ? correct(by: step, at: now) : []
        return timers + [.tell(.clockStepped(by: step, isCorrection: isCorrection))]
    }

    /// Begins anew from the new time.
    private mutating func correct(by step: Duration, at now: Now) -> [Action] {
        var timers: [Action] = []
        for slot in order {
            guard var entry = entries[slot] else { continue }
            // Labels of firings follow the new time too, or they would stay ahead of it for as long as it
            // was wrong.
            entry.lastScheduled = nil
            // Slots that are there again by a clock set back are other firings than the first time.
            if step < .zero { entry.corrections += 1 }
            entry.seen = now.wall
            entry.slot = nil
            timers += settle(slot, &entry, at: now)
            entries[slot] = entry
        }
        return timers
    }

    /// Sets every timer of the calendar clock again, and fires what is due by it.
    mutating func followClock(at now: Now) -> [Action] {
        guard !isShutDown, let first = wallDue.first, let entry = entries[first.slot] else {
            return []
        }
        var actions = wake(entry.job.name, at: now)
        for slot in order {
            guard let instant = wallDue[slot], let entry = entries[slot] else { continue }
            actions.append(.armAt(entry.job.name, instant))
        }
        return actions
    }
}
