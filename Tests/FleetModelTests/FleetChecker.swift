// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

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
        /// Active time as it really was, in nanoseconds, and how much of it may be missing.
        var trueActive: Int64 = 0
        var maxLoss: Int64 = 0
        /// How much it may have gained, because time began to count by a reading that was too small.
        var openings: Int64 = 0
        /// Whether a pause was acknowledged, and no machine continued the job since then.
        var isPauseAcknowledged = false
    }

    var jobs: [FleetJob] = []
    var fault: String?
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
    /// How much an account may gain when it opens: its machine reads the clock as late as the watch
    /// brings it. The model delays the watch by up to 2 s, and each way by up to 0.9 s more or less.
    static let openingMax = 2_500_000_000 as Int64
    /// What the checker cannot attribute: a daemon that begins with the last value of the clock is
    /// behind by what passed since that write. That is a period of 2 s, or two if a write was lost,
    /// and the time that the write takes.
    static let lossMargin = 5_000_000_000 as Int64
    /// Up to when the active time of the jobs is calculated.
    private var countedTo: Int64 = 0
    /// The true time of the fleet, how far its clock was behind that at most, and whether something
    /// happened after which it may fall behind.
    private var fleetTime: Int64 = 0
    private var mostBehind: Int64 = 0
    private var mayLose = false
    /// The time of the fleet at the last write of its clock.
    private var writtenAt: Int64 = 0
    /// Whether the clock was not yet written since the store was adopted.
    private var isNew = true
    private var delay: Int64 = 0
    private var asleep: [MachineName: Int64] = [:]

    mutating func fail(_ text: String) { if fault == nil { fault = text } }

    func claims(in transaction: FleetTransaction) -> Int {
        let isLeased = transaction.compares.contains { if case .lease = $0 { true } else { false } }
        return isLeased ? transaction.branches.count : 0
    }

    /// The length of the interval, and whether the wall clock counts, of a definition.
    static func span(_ definition: String) -> (seconds: Int64, isWall: Bool) {
        let parts = definition.split(separator: "-")
        return (Int64(parts[1]) ?? 1, parts[0] == "wall")
    }

    /// How many slots of the calendar there are after `low` up to `high`.
    static func slots(_ seconds: Int64, after low: WallInstant, to high: WallInstant) -> Int64 {
        func count(_ instant: WallInstant) -> Int64 {
            // A minute has a whole number of the model's spans.
            instant.microsecondsSinceEpoch / (seconds * 1_000_000)
        }
        return count(high) - count(low)
    }

    // MARK: - Active time

    /// Adds the time since the last call to all accounts that really were open.
    mutating func count(_ simulation: Simulation) {
        let passed = simulation.time - countedTo
        countedTo = simulation.time
        guard passed > 0, !isHeld, isFormed, lostAt == nil else { return }
        fleetTime += passed
        if !isKept(simulation, without: nil) { mayLose = true }
        for name in seen.keys where seen[name]?.value.opened != nil {
            seen[name]?.trueActive += passed
        }
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
        if !isKept(simulation, without: machine) { mayLose = true }
    }

    /// The store does not answer: what daemons know of the clock may be lost before they can write it.
    mutating func outage(_ simulation: Simulation) {
        count(simulation)
        mayLose = true
    }

    /// A machine's clock stands while it is suspended.
    mutating func suspended(
        _ machine: SimulatedMachine, _ span: Int64, _ simulation: Simulation
    ) {
        count(simulation)
        asleep[machine.name] = simulation.time + span
        if !isKept(simulation, without: machine) { mayLose = true }
    }

    /// The clock was written. How far it is behind is lost, if it could be.
    private mutating func clockWritten(_ time: Duration) {
        if isNew {
            (fleetTime, mostBehind, mayLose, isNew) = (time.wholeNanoseconds, 0, false, false)
        }
        writtenAt = fleetTime
        let behind = fleetTime - time.wholeNanoseconds
        // A machine that knew more corrected it. What is lost after that is lost once more.
        mostBehind = min(mostBehind, behind)
        guard mayLose else { return }
        if behind > mostBehind {
            for name in seen.keys { seen[name]?.maxLoss += behind - mostBehind }
            mostBehind = behind
        }
        mayLose = false
    }

    mutating func lostPower(_ machine: SimulatedMachine, _ simulation: Simulation) {
        for run in runs.keys where runs[run]?.value.machine == machine.name {
            runs[run]?.isCutOff = true
        }
    }

    private mutating func checkAccount(
        _ name: Job.Name, _ value: JobValue, _ simulation: Simulation
    ) {
        // Only then the account is up to date.
        guard let known = seen[name], known.value.opened != nil,
            known.value.opened != value.opened
        else { return }
        let counted = value.active.wholeNanoseconds
        // The clocks of the machines differ by 200 millionths at most.
        let tolerance = simulation.time / 5000 + 50_000_000
        // An account is opened by a reading that may be as old as the last write of the clock.
        if counted > known.trueActive + tolerance + known.openings {
            fail("\(name) counted \(counted) ns of active time, and \(known.trueActive) ns passed")
        }
        // A transaction on its way writes what was so when it was sent.
        // What passed since the last write of the clock may be lost before the next one shows it.
        let unwritten = mayLose ? fleetTime - writtenAt : 0
        let maxLoss = known.maxLoss + unwritten + Self.lossMargin + delay
        if counted < known.trueActive - maxLoss - tolerance {
            fail(
                "\(name) lost \(known.trueActive - counted) ns of active time, and may lose "
                    + "\(maxLoss) ns")
        }
    }

    // MARK: - The store

    mutating func storeLost(_ simulation: Simulation) {
        count(simulation)
        generation += 1
        mayLose = true
        lostAt = simulation.time
    }

    /// Takes what the other store has as it is.
    mutating func storeReplaced(_ simulation: Simulation) {
        members = []
        seen = [:]
        isHeld = false
        isHoldAcknowledged = false
        for (key, value) in simulation.store.keys {
            if case .job(let name) = key, let job = try? JobValue(text: value.value) {
                var entry = SeenJob(value: job)
                entry.trueActive = Int64.max / 4
                entry.maxLoss = Int64.max / 2
                seen[name] = entry
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
        self.delay = delay
        count(simulation)
        var newRuns: [Job.Name: [(Run.ID, RunValue)]] = [:]
        for (key, found) in commit.changes {
            if case .member(let machine) = key {
                if found == nil { members.remove(machine) } else { members.insert(machine) }
            }
        }
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
            guard let found else { continue }
            switch key {
            case .clock:
                if let clock = try? ClockValue(text: found.value) { clockWritten(clock.time) }
            case .hold:
                isHeld = (try? HoldValue(text: found.value))?.isHeld ?? false
                if !isHeld { isHoldAcknowledged = false }
                if isHeld { for name in seen.keys { seen[name]?.maxLoss += delay } }
            case .identity:
                isFormed = true
                isNew = true
                lostAt = nil
                let value = try? IdentityValue(text: found.value)
                adopted = value?.adopted.microsecondsSinceEpoch ?? 0
                adoptedAt = simulation.time
            case .job(let name):
                guard let value = try? JobValue(text: found.value) else { continue }
                change(name, value, newRuns[name] ?? [], simulation)
            case .member, .run: break
            }
        }
    }

    /// A job was written: its cursor moves only together with a record of the slots it passes.
    private mutating func change(
        _ name: Job.Name, _ value: JobValue, _ records: [(Run.ID, RunValue)],
        _ simulation: Simulation
    ) {
        guard var known = seen[name] else {
            seen[name] = SeenJob(
                value: value, openings: value.opened == nil ? 0 : Self.openingMax + delay)
            return
        }
        checkAccount(name, value, simulation)
        let old = known.value
        if old.opened != nil, value.opened == nil { known.maxLoss += delay }
        if old.opened == nil, value.opened != nil { known.openings += Self.openingMax + delay }
        if value.pause == nil { known.isPauseAcknowledged = false }
        known.value = value
        seen[name] = known
        let covering = records.filter { $0.1.after != nil }
        guard value.cursor != old.cursor else {
            if !covering.isEmpty {
                fail("\(covering[0].0) covers slots, and the cursor is not moved")
            }
            return
        }
        guard value.cursor > old.cursor else { return fail("the cursor of \(name) goes back") }
        guard covering.count == 1, let (run, record) = covering.first,
            record.after == old.cursor, run.firing.scheduled == value.cursor
        else { return fail("the cursor of \(name) moves without a record: \(covering)") }
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
            simulation.counts["skipped, \(record.reason?.rawValue ?? "?")"] += 1
        }
        if old.pause != nil, record.state == .claimed { fail("\(run) was claimed during a pause") }
        if isHeld, record.state == .claimed { fail("\(run) was claimed during a hold") }
        let (span, isWall) = Self.span(value.definition)
        // A machine is fit up to a second, and `Date` has whole seconds.
        let early = record.state == .claimed ? 2_010_000 : Int64.max / 2
        let trueWall = Simulation.wallStart + simulation.time / 1000
        if isWall, run.firing.scheduled.microsecondsSinceEpoch - trueWall > early {
            fail("\(run) was claimed before it was due, by a clock that is wrong")
        }
        if isWall, record.reason != .paused {
            let slots = Self.slots(span, after: old.cursor, to: value.cursor)
            if slots != record.missed + 1 {
                fail("\(run) covers \(slots) slots, and says \(record)")
            }
        }
    }

    /// A run was written: it goes on only as a run can.
    private mutating func change(_ run: Run.ID, _ value: RunValue, _ simulation: Simulation) {
        if value.state == .claimed {
            if lostAt != nil { fail("\(run) was claimed before the store was adopted") }
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
            case .ended: before?.outcome == .exited(1) && run.attempt - 1 <= job.retry.retries
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
            if seen[run.firing.job]?.isPauseAcknowledged == true {
                fail("\(run) was started after a pause was acknowledged")
            }
            if isHoldAcknowledged { fail("\(run) was started after a hold was acknowledged") }
        }
    }

    mutating func processEnded(_ run: Run.ID, _ simulation: Simulation) {
        runs[run]?.hasEnded = true
        runs[run]?.endedAt = simulation.time
    }

    /// A command was acknowledged.
    mutating func done(_ command: FleetCommand, _ simulation: Simulation) {
        switch command {
        case .pause(let job, _):
            simulation.counts["pauses acknowledged"] += 1
            if seen[job]?.value.pause != nil { seen[job]?.isPauseAcknowledged = true }
        case .hold:
            simulation.counts["holds acknowledged"] += 1
            if isHeld { isHoldAcknowledged = true }
        default: break
        }
    }

    // MARK: - The end

    /// All faults ended a while ago: each slot and each run must be accounted for.
    mutating func finish(_ simulation: Simulation) {
        guard isFormed else { return fail("the fleet was never formed") }
        for job in simulation.jobs {
            guard let known = seen[job.name] else {
                fail("\(job.name) is not in the store")
                continue
            }
            if known.value.definition != job.definition {
                fail("\(job.name) has the definition \(known.value.definition) at the end")
            }
            if known.value.pause != nil { fail("\(job.name) is paused at the end") }
            // What is caught up one by one takes a while.
            let isCatchingUp =
                job.missed == .runAll
                && runs.contains {
                    $0.key.firing.job == job.name
                        && simulation.time - $0.value.claimedAt < 60 * Simulation.second
                }
            if isCatchingUp { continue }
            let (span, isWall) = Self.span(known.value.definition)
            let late = WallInstant(
                microsecondsSinceEpoch: Simulation.wallStart
                    + (simulation.end - 20 * Simulation.second) / 1000)
            if isWall, Self.slots(span, after: known.value.cursor, to: late) > 0 {
                fail("\(job.name) has slots after \(known.value.cursor) without a record")
            }
            if !isWall, let opened = known.value.opened,
                let time = simulation.machines.compactMap({
                    $0.member?.time(at: $0.now(simulation.time).awake)
                }).max(),
                known.value.accrued + (time - opened) > .seconds(span + 20)
            {
                fail("\(job.name) is due since \(time - opened), and nothing is recorded")
            }
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
}
