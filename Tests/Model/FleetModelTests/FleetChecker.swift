// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

/// Sees each change of the store and each start of a process, and compares them with what a fleet
/// promises. It shares no decision with the members: it reads values, and calculates slots and
/// active time itself.
struct FleetChecker {
    /// What is known of a run.
    struct SeenRun {
        var value: RunValue
        var starts = 0
        var hasEnded = false
        var endedAt: Int64 = 0
        /// Whether the machine that has it lost power after its claim.
        var isCutOff = false
        var claimedAt: Int64
        var generation: Int
    }

    /// What is known of a job.
    struct SeenJob {
        var value: JobValue
        /// When its cursor was moved last.
        var movedAt: Int64
        /// Whether a pause was acknowledged, and no machine continued the job since then.
        var isPauseAcknowledged = false
    }

    var jobs: [FleetJob] = []
    private(set) var fault: String?
    var runs: [Run.ID: SeenRun] = [:]
    var seen: [Job.Name: SeenJob] = [:]
    var members: Set<MachineName> = []
    var isHeld = false
    var isHoldAcknowledged = false
    var adopted: Int64 = 0
    /// When the last adoption was written.
    var adoptedAt: Int64 = 0
    var isFormed = false
    /// How often the store was lost, and when the last time; nil: it is adopted.
    var generation = 0
    var lostAt: Int64?
    /// The revisions whose clock says the time of the fleet: a machine that sees one of them knows it.
    private(set) var goodClocks: Set<Int64> = []
    /// Whether the store that was lost was restored under its cluster identifier.
    var isSameCluster = false
    var recovery = RecoveryChecker()
    /// How long the fleet was held in all; each hold may begin and end later by a transaction.
    var heldTime: Int64 = 0
    let heldSlack = 20 * Simulation.second
    var activeTime = ActiveTimeChecker()
    var wallTime = WallTimeChecker()
    /// What was known of the time of the accounts when the copy of the store was made.
    private var copiedTime: (active: ActiveTimeChecker, wall: WallTimeChecker)?
    /// Up to when the active time of the jobs is calculated.
    private var countedTo: Int64 = 0
    private var asleep: [MachineName: Int64] = [:]

    mutating func fail(_ text: String) { if fault == nil { fault = text } }

    func claims(in transaction: FleetTransaction) -> Int {
        let isLeased = transaction.compares.contains { if case .lease = $0 { true } else { false } }
        return isLeased ? transaction.branches.count : 0
    }

    /// What decides when a job of the model is due.
    enum Kind: String {
        /// An interval of active time, or of the time of the wall clock.
        case active, wall
        case calendar
    }

    /// The length of the interval, or between two slots, of a definition.
    static func span(_ definition: String) -> (seconds: Int64, kind: Kind) {
        let parts = definition.split(separator: "-")
        guard let kind = Kind(rawValue: String(parts[0])), let seconds = Int64(parts[1]) else {
            preconditionFailure("\(definition) is no definition of the model")
        }
        return (seconds, kind)
    }

    /// How many slots of the calendar there are after `low` up to `high`.
    static func slots(_ seconds: Int64, after low: WallInstant, to high: WallInstant) -> Int64 {
        func count(_ instant: WallInstant) -> Int64 {
            // A minute has a whole number of the model's spans.
            instant.microsecondsSinceEpoch / (seconds * 1_000_000)
        }
        return count(high) - count(low)
    }

    // MARK: - The time of the fleet

    /// Adds the time since the last call to all accounts that really were open.
    mutating func count(_ simulation: Simulation) {
        let passed = simulation.time - countedTo
        countedTo = simulation.time
        wallTime.pass(to: simulation.time)
        if isHeld, lostAt == nil { heldTime += max(0, passed) }
        guard passed > 0, !isHeld, isFormed else { return }
        guard lostAt == nil else { return activeTime.passLost(passed) }
        activeTime.pass(passed)
        if !isKept(simulation, without: nil) { activeTime.mayLose() }
    }

    /// Whether a daemon that knows the time of the fleet is connected.
    private func isKept(_ simulation: Simulation, without machine: SimulatedMachine?) -> Bool {
        let time = simulation.time
        return simulation.storeDown <= time
            && simulation.machines.contains {
                $0 !== machine && $0.member != nil && $0.member?.finding == nil && $0.followsClock
                    && $0.daemonStopped <= time && $0.cutTo <= time && $0.cutFrom <= time
                    && (asleep[$0.name] ?? 0) <= time
            }
    }

    /// What a daemon knew about the clock is lost with it, if no other one that is connected does.
    mutating func died(_ machine: SimulatedMachine, _ simulation: Simulation) {
        count(simulation)
        if !isKept(simulation, without: machine) { activeTime.mayLose() }
    }

    /// The store does not answer: what daemons know of the clock may be lost before they can write it.
    mutating func outage(_ simulation: Simulation) {
        count(simulation)
        activeTime.mayLose()
    }

    /// A machine's clock stands while it is suspended.
    mutating func suspended(
        _ machine: SimulatedMachine, _ span: Int64, _ simulation: Simulation
    ) {
        count(simulation)
        asleep[machine.name] = simulation.time + span
        if !isKept(simulation, without: machine) { activeTime.mayLose() }
    }

    mutating func lostPower(_ machine: SimulatedMachine, _ simulation: Simulation) {
        for run in runs.keys where runs[run]?.value.machine == machine.name {
            runs[run]?.isCutOff = true
        }
    }

    // MARK: - The store

    /// A copy of the store was made, which may be restored later.
    mutating func storeCopied(_ simulation: Simulation) {
        count(simulation)
        copiedTime = (activeTime, wallTime)
    }

    mutating func storeLost(_ simulation: Simulation) {
        count(simulation)
        generation += 1
        lostAt = simulation.time
    }

    /// Takes what the other store has as it is.
    mutating func storeReplaced(_ simulation: Simulation, isWiped: Bool, isSame: Bool) {
        isSameCluster = isSame
        recovery.replaced(by: simulation.store)
        members = []
        goodClocks = []
        seen = [:]
        isHeld = false
        isHoldAcknowledged = false
        if isWiped {
            activeTime.wiped()
            wallTime = WallTimeChecker()
        } else if let copiedTime {
            activeTime.restored(copiedTime.active)
            wallTime = copiedTime.wall
        }
        wallTime.pass(to: simulation.time)
        for (key, value) in simulation.store.keys {
            if case .job(let name) = key, let job = try? JobValue(text: value.value) {
                seen[name] = SeenJob(value: job, movedAt: simulation.time)
            }
            if case .hold = key, let hold = try? HoldValue(text: value.value) {
                isHeld = hold.isHeld
            }
            // A run that the copy has in another state goes on from there.
            if case .run(let run) = key, let value = try? RunValue(text: value.value) {
                runs[run]?.value = value
            }
        }
    }

    /// - Parameter delay: how long ago the transaction was sent.
    mutating func committed(
        _ commit: SimulatedStore.Commit, _ simulation: Simulation, delay: Int64 = 0
    ) {
        count(simulation)
        noteRecovery(commit, simulation, delay)
        var newRuns: [Job.Name: [(Run.ID, RunValue)]] = [:]
        for (key, found) in commit.changes {
            if case .member(let machine) = key {
                if found == nil { members.remove(machine) } else { members.insert(machine) }
            }
        }
        changeClock(commit, simulation, delay)
        for (key, found) in commit.changes {
            guard case .run(let run) = key, let found,
                let value = try? RunValue(text: found.value)
            else { continue }
            // A run of a store that was lost is written again by the machine that has it.
            // A slot that it does not have, up to the adoption, is skipped once more.
            if found.created == found.modified, runs[run] == nil || value.reason == .adopted {
                newRuns[run.firing.job, default: []].append((run, value))
            }
            change(run, value, simulation)
        }
        for (key, found) in commit.changes {
            guard case .job(let name) = key, let found,
                let value = try? JobValue(text: found.value)
            else { continue }
            if !value.isTemplate {
                countTime(name, from: seen[name]?.value, to: value, simulation, delay)
            }
            change(name, value, newRuns[name] ?? [], simulation)
        }
        if let fault = activeTime.fault ?? wallTime.fault { fail(fault) }
    }

    /// What the fleet clock and the hold are after a change. Accounts that it opens begin with that.
    private mutating func changeClock(
        _ commit: SimulatedStore.Commit, _ simulation: Simulation, _ delay: Int64
    ) {
        func value<Value: FleetValue>(_ key: FleetKey) -> Value? {
            (commit.changes[key] ?? nil).flatMap { try? Value(text: $0.value) }
        }
        if let identity: IdentityValue = value(.identity) {
            isFormed = true
            lostAt = nil
            adopted = identity.adopted.microsecondsSinceEpoch
            adoptedAt = simulation.time
            activeTime.adopted()
        }
        if let hold: HoldValue = value(.hold) {
            if hold.isHeld {
                activeTime.held(at: hold.time, delay: delay)
            } else {
                activeTime.released()
                isHoldAcknowledged = false
            }
            isHeld = hold.isHeld
            wallTime.hold(isHeld, delay: delay)
        }
        if let clock: ClockValue = value(.clock), activeTime.clockWritten(clock, delay: delay) {
            goodClocks.insert(commit.revision)
        }
        if commit.changes[.hold] != nil { goodClocks.insert(commit.revision) }
    }

    /// A command was acknowledged.
    mutating func done(_ command: FleetCommand, _ simulation: Simulation) {
        switch command {
        case .pause(let job, _):
            simulation.counts["pauses acknowledged"] += 1
            if seen[job]?.value.pause != nil { seen[job]?.isPauseAcknowledged = true }
            if seen[job]?.value.isTemplate == true {
                simulation.counts["pauses of all machines acknowledged"] += 1
            }
        case .hold:
            simulation.counts["holds acknowledged"] += 1
            if isHeld { isHoldAcknowledged = true }
        default: break
        }
    }
}
