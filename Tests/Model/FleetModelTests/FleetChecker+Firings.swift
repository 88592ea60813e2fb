// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

extension FleetChecker {
    /// A job was written: its cursor moves only together with a record of the slots it passes.
    mutating func change(
        _ name: Job.Name, _ value: JobValue, _ records: [(Run.ID, RunValue)],
        _ simulation: Simulation
    ) {
        if isRecovering {
            checkRecovered(name, value, simulation)
            return seen[name] = SeenJob(value: value, movedAt: simulation.time)
        }
        guard var known = seen[name] else {
            seen[name] = SeenJob(value: value, movedAt: simulation.time)
            return
        }
        let old = known.value
        if value.isTemplate, !value.live.isEmpty || value.cursor != old.cursor {
            return fail("the template \(name) has firings")
        }
        if value.cursor != old.cursor { known.movedAt = simulation.time }
        if value.pause == nil { known.isPauseAcknowledged = false }
        known.value = value
        seen[name] = known
        let covering = records.filter { $0.1.after != nil }
        guard value.cursor != old.cursor else {
            if !covering.isEmpty {
                fail("\(covering[0].0) covers slots, and the cursor is not moved")
            }
            if !value.isTemplate { checkAccount(name, from: old, to: value, nil) }
            return
        }
        guard value.cursor > old.cursor else { return fail("the cursor of \(name) goes back") }
        guard covering.count == 1, let (run, record) = covering.first,
            record.after == old.cursor, run.firing.scheduled == value.cursor
        else { return fail("the cursor of \(name) moves without a record: \(covering)") }
        checkAccount(name, from: old, to: value, record)
        guard old.definition == value.definition else { return }
        checkFiring(run, record, old, value, simulation)
    }

    /// A record of a firing says how many slots it covers.
    private mutating func checkFiring(
        _ run: Run.ID, _ record: RunValue, _ old: JobValue, _ value: JobValue,
        _ simulation: Simulation
    ) {
        if record.state == .claimed {
            simulation.counts["claims"] += 1
            if let last = runs.filter({
                $0.key.firing.job == run.firing.job && $0.key != run && $0.value.value.after != nil
            }).max(by: { $0.key.firing.scheduled < $1.key.firing.scheduled }),
                last.value.value.machine != record.machine
            {
                simulation.counts["takeovers"] += 1
            }
        } else {
            simulation.counts["skipped, \(record.reason?.word ?? "?")"] += 1
        }
        if old.pause != nil, record.state == .claimed { fail("\(run) was claimed during a pause") }
        if isHeld, record.state == .claimed { fail("\(run) was claimed during a hold") }
        let (span, kind) = Self.span(value.definition)
        if record.state == .claimed, kind == .wall { simulation.counts["claims by wall time"] += 1 }
        // A machine is fit up to a second, and `Date` has whole seconds.
        let early = record.state == .claimed ? 2_010_000 : Int64.max / 2
        let trueWall = Simulation.wallStart + simulation.time / 1000
        if kind == .calendar, run.firing.scheduled.microsecondsSinceEpoch - trueWall > early {
            fail("\(run) was claimed before it was due, by a clock that is wrong")
        }
        if kind == .calendar, record.reason != .paused {
            let slots = Self.slots(span, after: old.cursor, to: value.cursor)
            if slots != record.missed + 1 {
                fail("\(run) covers \(slots) slots, and says \(record)")
            }
        }
    }
}
