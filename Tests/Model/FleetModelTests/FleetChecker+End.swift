// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

extension FleetChecker {
    /// All faults ended a while ago: each slot and each run must be accounted for.
    mutating func finish(_ simulation: Simulation) {
        guard isFormed else { return fail("the fleet was never formed") }
        for job in simulation.allJobs {
            guard let known = seen[job.name] else {
                fail("\(job.name) is not in the store")
                continue
            }
            if known.value.definition != job.definition {
                fail("\(job.name) has the definition \(known.value.definition) at the end")
            }
            if known.value.pause != nil { fail("\(job.name) is paused at the end") }
            if job.policy.onMissed == .runAll, isCatchingUp(job.name, known, simulation) {
                continue
            }
            let (span, kind) = Self.span(known.value.definition)
            let late = WallInstant(
                microsecondsSinceEpoch: Simulation.wallStart
                    + (simulation.end - 20 * Simulation.second) / 1000)
            if kind == .calendar, Self.slots(span, after: known.value.cursor, to: late) > 0 {
                fail("\(job.name) has slots after \(known.value.cursor) without a record")
            }
            checkOverdue(job.name, known.value, simulation)
        }
        for (run, known) in runs where known.generation == generation {
            let isRunning = known.starts > 0 && known.value.state == .began
            if !known.value.state.isFinal, !isRunning,
                simulation.time - known.claimedAt > 20 * Simulation.second
            {
                fail("\(run) is \(known.value.state) at the end, started \(known.starts) times")
            }
            if known.hasEnded, known.value.state != .ended, !known.isCutOff,
                simulation.time - known.endedAt > 20 * Simulation.second,
                simulation.store.keys[.run(run)] != nil
            {
                fail("\(run) ended, and is \(known.value.state) in the store")
            }
        }
    }

    /// An interval that was over a while ago must have a record.
    private mutating func checkOverdue(
        _ name: Job.Name, _ value: JobValue, _ simulation: Simulation
    ) {
        let (span, kind) = Self.span(value.definition)
        if kind == .active, let opened = value.opened,
            let time = simulation.machines.compactMap({
                $0.member?.time(at: $0.now(simulation.time).awake)
            }).max(),
            value.accrued + (time - opened) > .seconds(span + 20)
        {
            fail("\(name) is due since \(time - opened), and nothing is recorded")
        }
        if kind == .wall, let account = wallTime.accounts[name],
            value.accrued + .nanoseconds(account.uncounted) > .seconds(span + 20)
        {
            fail("\(name) is due, and nothing is recorded: \(account)")
        }
    }

    /// Whether missed firings are claimed one by one: the next one when the run of the last one is
    /// over, and then soon.
    private func isCatchingUp(
        _ name: Job.Name, _ known: SeenJob, _ simulation: Simulation
    ) -> Bool {
        let since = simulation.time - 20 * Simulation.second
        return !known.value.live.isEmpty || known.movedAt > since
            || runs.contains { $0.key.firing.job == name && $0.value.endedAt > since }
    }
}
