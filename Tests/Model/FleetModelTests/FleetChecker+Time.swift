// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

extension FleetChecker {
    /// A job was written: the time of each account is what the definition says, and each interval of
    /// it is used up by one firing.
    mutating func countTime(
        _ name: Job.Name, from old: JobValue?, to value: JobValue, _ simulation: Simulation,
        _ delay: Int64
    ) {
        let kind = Self.span(value.definition).kind
        if isRecovering, value.recovered != nil {
            recovery.closed.insert(name)
            activeTime.recovered(name, value)
            return wallTime.recovered(name)
        }
        // What was brought back does not count until a machine opens it again.
        if value.opened != nil || value.pause != nil { recovery.closed.remove(name) }
        let isClosed = recovery.closed.contains(name)
        if (value.opened != nil) != (kind != .calendar && value.pause == nil), !isClosed {
            fail("\(name) counts since \(String(describing: value.opened)): \(value.text)")
        }
        if let old, Self.span(old.definition).kind == .wall {
            activeTime.countedOtherwise(name, value.active - old.active)
        }
        activeTime.jobWritten(
            name, from: old.map(Self.ofFleetClock), to: Self.ofFleetClock(value), delay: delay)
        wallTime.jobWritten(
            name, from: old, to: value,
            isOpen: kind == .wall && value.pause == nil && !isClosed,
            since: start(after: old, simulation), delay: delay)
    }

    /// The value as if only accounts of active time were open.
    private static func ofFleetClock(_ value: JobValue) -> JobValue {
        var value = value
        if span(value.definition).kind == .wall { value.opened = nil }
        return value
    }

    /// Since when time counts by the wall clock of a job that is not paused any more: since the end
    /// of the pause, if that has passed, in true time.
    func start(after old: JobValue?, _ simulation: Simulation) -> Int64 {
        guard let until = old?.pause?.until?.microsecondsSinceEpoch else { return simulation.time }
        return min(simulation.time, (max(until, adopted) - Simulation.wallStart) * 1000)
    }

    /// A job was written with a firing, or with none: the account loses what the firing used up.
    mutating func checkAccount(
        _ name: Job.Name, from old: JobValue, to value: JobValue, _ record: RunValue?
    ) {
        let (seconds, kind) = Self.span(old.definition)
        guard kind != .calendar, value.accrued >= .zero else {
            if value.accrued < .zero { fail("\(name) has a negative account: \(value.text)") }
            return
        }
        let fired = record.map { $0.reason == .redefined ? 0 : $0.missed + 1 } ?? 0
        let expected = old.accrued + (value.active - old.active) - .seconds(seconds * fired)
        if value.accrued != expected || value.active < old.active {
            fail("\(name) has \(value.accrued) after \(fired) firings, and not \(expected)")
        }
    }
}
