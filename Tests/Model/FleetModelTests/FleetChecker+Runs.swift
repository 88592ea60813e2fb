// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerFleet

extension FleetChecker {
    // MARK: - Values

    /// A run was written: it goes on only as a run can.
    mutating func change(_ run: Run.ID, _ value: RunValue, _ simulation: Simulation) {
        if value.state == .claimed {
            // In one with the same name, a machine that has not noticed it does not start what it claims.
            if lostAt != nil, !isSameCluster {
                fail("\(run) was claimed before the store was adopted")
            }
            if isRecovering { fail("\(run) was claimed while the store recovers") }
            let slot = run.firing.scheduled.microsecondsSinceEpoch
            if value.after != nil, slot <= adopted { fail("\(run) was due before the adoption") }
        }
        guard var known = runs[run] else {
            checkAttempt(run, value, simulation)
            // A claim can arrive after its machine lost power.
            let machine = simulation.machines.first { $0.name == value.machine }
            runs[run] = SeenRun(
                value: value, isCutOff: machine?.boot != value.incarnation.boot,
                claimedAt: simulation.time, generation: generation)
            return
        }
        let old = known.value
        known.value = value
        runs[run] = known
        if value.state == .claimed { runs[run]?.claimedAt = simulation.time }
        if value.state == .claimed, old.state == .claimed {
            simulation.counts["claims by the next start of the daemon"] += 1
        }
        guard old.state != value.state else { return }
        switch value.state {
        case .lost:
            simulation.counts["lost"] += 1
            checkIsolation(run, known, simulation)
            if members.contains(value.machine), !known.isCutOff,
                run.firing.scheduled.microsecondsSinceEpoch > adopted,
                generation == known.generation
            {
                fail("\(run) is lost, and \(value.machine) is there")
            }
        case .began, .ended:
            if known.starts == 0 { fail("\(run) is \(value.state), and was never started") }
            if value.state == .ended, !known.hasEnded { fail("\(run) is ended, and still runs") }
        case .unstarted, .skipped:
            // The store that has the record of the start may be lost.
            let isUnknown = value.reason == .adopted && known.generation < generation
            if known.starts > 0, !isUnknown { fail("\(run) is \(value.state), and was started") }
            simulation.counts["claims that did not start"] += 1
        case .claimed:
            if old.state != .requested { fail("\(run) was \(old.state) and is claimed again") }
        case .requested: break
        }
    }

    /// A run that ends without the store is over when others declare it lost, if its daemon could do that.
    private mutating func checkIsolation(
        _ run: Run.ID, _ known: SeenRun, _ simulation: Simulation
    ) {
        guard known.starts > 0, !known.hasEnded, !known.isCutOff,
            known.generation == generation,
            let machine = simulation.machines.first(where: { $0.name == known.value.machine }),
            // It ends what its own configuration says, which can be older than that of the others.
            machine.jobs.first(where: { $0.name == run.firing.job })?.endsIsolated == true,
            machine.boot == known.value.incarnation.boot, machine.isAwake(at: simulation.time),
            // A lease that was revoked too early is not known to the machine.
            let kept = machine.kept,
            machine.now(simulation.time).boot.nanoseconds - kept.nanoseconds > 9_500_000_000
        else { return }
        fail("\(run) is lost, and \(machine.name) still runs it")
    }

    /// A further attempt follows one that failed or is lost, and there are not too many.
    private mutating func checkAttempt(
        _ run: Run.ID, _ value: RunValue, _ simulation: Simulation
    ) {
        guard run.attempt > 1, value.state == .claimed,
            let job = jobs.first(where: { $0.name == run.firing.job }),
            job.definition == seen[job.name]?.value.definition
        else { return }
        let before = runs[Run.ID(firing: run.firing, attempt: run.attempt - 1)]?.value
        let mayFollow =
            switch before?.state {
            case .lost: run.attempt - 1 <= job.retriesOfLost
            case .ended:
                before?.outcome == .exited(1) && run.attempt - 1 <= job.policy.retry.retries
            default: false
            }
        simulation.counts[before?.state == .ended ? "retries" : "retries of lost runs"] += 1
        if !mayFollow { fail("\(run) follows \(before?.state.rawValue ?? "nothing")") }
    }

    // MARK: - Starts

    mutating func started(
        _ run: Run.ID, on machine: SimulatedMachine, _ simulation: Simulation
    ) {
        guard let known = runs[run] else { return fail("\(run) was started and never claimed") }
        runs[run]?.starts += 1
        runs[run]?.hasEnded = false
        if known.starts > 0 { fail("\(run) was started twice") }
        if known.value.machine != machine.name { fail("\(run) was started by \(machine.name)") }
        if [.unstarted, .skipped, .ended].contains(known.value.state) {
            fail("\(run) was started, and is \(known.value.state)")
        }
        let now = machine.now(simulation.time)
        guard let kept = machine.kept,
            now.boot.nanoseconds - kept.nanoseconds <= 9 * Simulation.second
        else { return fail("\(run) was started by a machine without a lease") }
        // What was claimed in a store that is lost may start up to its deadline, nothing later.
        if let lostAt, simulation.time > lostAt + 9 * Simulation.second || known.claimedAt > lostAt
        {
            fail("\(run) was started before the store was adopted")
        }
        guard known.value.after != nil else { return }
        let slot = run.firing.scheduled.microsecondsSinceEpoch
        // What was claimed in this store before a second adoption of it is on record.
        if known.claimedAt > max(adoptedAt, lostAt ?? 0), slot <= adopted,
            known.generation == generation
        {
            fail("\(run) was due before the store was adopted")
        }
        if known.generation == generation {
            // A job ends a pause with an end itself, also before a machine writes the key of its template.
            let template = seen[run.firing.job]?.value.template.flatMap { template in
                seen[template]?.value.pause?.until.map { $0 <= now.wall } ?? false ? nil : template
            }
            for name in [run.firing.job, template].compactMap(\.self)
            where seen[name]?.isPauseAcknowledged == true {
                fail("\(run) was started after a pause of \(name) was acknowledged")
            }
            if isHoldAcknowledged { fail("\(run) was started after a hold was acknowledged") }
        }
    }

    mutating func processEnded(_ run: Run.ID, _ simulation: Simulation) {
        runs[run]?.hasEnded = true
        runs[run]?.endedAt = simulation.time
    }
}
