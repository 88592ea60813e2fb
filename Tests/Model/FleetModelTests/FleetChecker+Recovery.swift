// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

/// What is known of the recovery of a store after its adoption.
struct RecoveryChecker {
    /// A value of a job, when its account was opened, and what it had then.
    struct Written {
        var value: JobValue
        var since: Int64
        var before: Duration
        /// How long the fleet had been held then.
        var held: Int64
    }

    /// Where in the history of the fleet something was written: the number of the adoption, then the
    /// revision.
    struct Place: Hashable, Comparable {
        var epoch: Int64
        var revision: Int64

        init(_ epoch: Int64, _ revision: Int64) { (self.epoch, self.revision) = (epoch, revision) }

        /// As the values of a store that recovers say it.
        init(_ point: FleetPoint) { self.init(point.number >> 48, point.number & (1 << 48 - 1)) }

        static func < (left: Self, right: Self) -> Bool {
            (left.epoch, left.revision) < (right.epoch, right.revision)
        }
    }

    /// The identity of the store, and the revision of its last change.
    private(set) var identity: Versioned<IdentityValue>?
    /// All values of the jobs that were written, by where that was.
    private(set) var history: [Job.Name: [Place: Written]] = [:]
    private var last: [Job.Name: Written] = [:]
    /// The jobs that were brought back, and whose time does not count yet.
    var closed: Set<Job.Name> = []

    var isRecovering: Bool { identity?.value.recovery != nil }

    mutating func replaced(by store: SimulatedStore) {
        closed = []
        identity = nil
        if let found = store.keys[.identity] { note(found) }
    }

    /// A job was written.
    ///
    /// - Parameter start: since when its time counts, if it did not before.
    mutating func note(
        _ name: Job.Name, _ value: JobValue, _ revision: Int64, since start: Int64, held: Int64
    ) {
        guard let epoch = identity?.value.epoch else { return }
        var written = Written(value: value, since: start, before: value.active, held: held)
        written.value.recovered = nil
        if let last = last[name], last.value.opened != nil, value.opened != nil,
            last.value.basis == value.basis
        {
            (written.since, written.before, written.held) = (last.since, last.before, last.held)
        }
        last[name] = written
        history[name, default: [:]][Place(epoch, revision)] = written
    }

    mutating func note(_ found: Versioned<String>) {
        identity = (try? IdentityValue(text: found.value)).map {
            Versioned($0, created: found.created, modified: found.modified)
        }
    }

    /// Where the value of a job is in the history that a store has while it recovers.
    func place(of found: Versioned<JobValue>) -> Place {
        guard let identity else { return Place(0, 0) }
        if found.modified > identity.modified, let point = found.value.recovered {
            return Place(point)
        }
        return Place(identity.value.recovery ?? 0, found.modified)
    }
}

extension FleetChecker {
    var isRecovering: Bool { recovery.isRecovering }

    /// The identity or jobs were written.
    mutating func noteRecovery(
        _ commit: SimulatedStore.Commit, _ simulation: Simulation, _ delay: Int64
    ) {
        let wasRecovering = isRecovering
        if let found = commit.changes[.identity] ?? nil {
            let before = recovery
            recovery.note(found)
            if wasRecovering, !isRecovering {
                simulation.counts["recoveries"] += 1
                checkMemories(before, simulation)
            }
        }
        // What is written to a store before its adoption is no part of the history.
        guard lostAt == nil else { return }
        for case (.job(let name), let found?) in commit.changes {
            guard let value = try? JobValue(text: found.value) else { continue }
            let isWall = !value.isTemplate && Self.span(value.definition).kind == .wall
            let start = isWall ? start(after: seen[name]?.value, simulation) : simulation.time
            recovery.note(
                name, value, commit.revision, since: min(start, simulation.time - delay),
                held: max(0, heldTime - delay))
        }
    }

    /// Each machine that was connected has brought back what it remembers, or another one something later.
    private mutating func checkMemories(_ before: RecoveryChecker, _ simulation: Simulation) {
        for machine in simulation.machines {
            let known = machine.disk.known
            // Faults end its connection. Of two seconds and more, requests and answers may be delayed.
            guard machine.member != nil, let since = machine.connectedSince,
                simulation.time - since > 9 * Simulation.second,
                let identity = known.identity, let new = recovery.identity?.value,
                identity.fleet == new.fleet, identity.epoch < new.epoch
            else { continue }
            for (name, remembered) in known.seen.jobs {
                let place = RecoveryChecker.Place(identity.epoch, remembered.modified)
                guard let found = simulation.store.keys[.job(name)],
                    let value = try? JobValue(text: found.value)
                else {
                    fail("\(machine.name) remembers \(name), and it did not come back")
                    continue
                }
                let stored = before.place(
                    of: Versioned(value, created: found.created, modified: found.modified))
                if stored < place {
                    fail("\(machine.name) remembers \(name) of \(place), and \(stored) came back")
                }
            }
        }
    }

    /// A job was brought back: it is as it was, with the time that passed since then.
    mutating func checkRecovered(
        _ name: Job.Name, _ value: JobValue, _ simulation: Simulation
    ) {
        guard let point = value.recovered,
            let former = recovery.history[name]?[RecoveryChecker.Place(point)]
        else { return fail("\(name) is written while the store recovers: \(value.text)") }
        simulation.counts["jobs brought back"] += 1
        let old = former.value
        var expected = old
        (expected.opened, expected.live, expected.cursor) = (nil, value.live, value.cursor)
        (expected.active, expected.accrued, expected.recovered) = (
            value.active, value.accrued, point
        )
        if expected != value { fail("\(name) came back as \(value.text), and was \(old.text)") }
        if value.cursor < old.cursor { fail("the cursor of \(name) came back too early") }
        let counted = value.active - old.active
        if counted < .zero || counted != value.accrued - old.accrued {
            fail("\(name) came back with \(value.text), and had \(old.text)")
        }
        guard !value.isTemplate else { return }
        let passed =
            old.opened == nil
            ? 0 : simulation.time - former.since - max(0, heldTime - former.held - heldSlack)
        let isWall = Self.span(old.definition).kind == .wall
        let tolerance = isWall ? 2 * WallTimeChecker.skewMax : passed / 10_000 + 1_000_000
        let all = (value.active - former.before).wholeNanoseconds
        if old.opened == nil ? counted > .zero : all > passed + tolerance {
            fail(
                "\(name) came back with \(counted) more, \(all) ns in all, and \(passed) ns had passed"
            )
        }
    }
}
