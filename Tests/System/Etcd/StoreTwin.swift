// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import StoreModel
import TimerCore
import TimerFleet

/// What both stores were told, and how the simulated one calls the leases of the real one.
struct StoreTwin {
    static let machines = ["web1", "web2"].compactMap { MachineName($0) }
    private static let jobs = ["a", "b", "c", "d", "e"].compactMap { Job.Name($0) }
    private static let keys: [FleetKey] =
        [.identity, .clock, .hold] + machines.map { .member($0) }
        + jobs.flatMap { job in
            [
                .job(job),
                .run(
                    Run.ID(
                        firing: Firing.ID(
                            job: job, scheduled: WallInstant(secondsSinceEpoch: 1_800_000_000)))
                ),
            ]
        }

    var model = SimulatedStore()
    var random: SeededRandom
    var leases: [(model: LeaseID, real: LeaseID)] = []

    mutating func pick<Element>(_ values: [Element]) -> Element {
        values[random.int(below: values.count)]
    }

    /// A lease that both know, or a number that is none.
    mutating func lease() -> LeaseID {
        leases.isEmpty || random.int(below: 8) == 0 ? LeaseID(999) : pick(leases).model
    }

    mutating func text() -> String {
        pick(["", "a", "b", "{\"by\":\"ü\"}", "\u{0}\u{1f}", "line\n\u{7f}😀"])
    }

    /// A comparison that holds more often than not.
    mutating func compare(_ key: FleetKey) -> FleetCompare {
        let isTrue = random.int(below: 4) > 0
        switch random.int(below: 4) {
        case 0: return .lease(key, lease())
        case 1: return .text(key, isTrue ? model.keys[key]?.value ?? "" : text())
        default:
            let known = model.keys[key]?.modified ?? 0
            return .modified(key, isTrue ? known : pick([0, 1, known + 1, known - 1]))
        }
    }

    mutating func change(_ key: FleetKey) -> FleetChange {
        switch random.int(below: 4) {
        case 0: return .delete(key)
        case 1: return .put(key, text(), lease: lease())
        default: return .put(key, text(), lease: nil)
        }
    }

    /// A transaction whose branches are about different keys.
    mutating func transaction() -> FleetTransaction {
        var rest = Self.keys.shuffled(using: &random)
        func take(_ count: Int) -> [FleetKey] {
            defer { rest.removeFirst(min(count, rest.count)) }
            return Array(rest.prefix(count))
        }
        let whole = take(random.int(below: 3))
        var branches: [FleetTransaction.Branch] = []
        for _ in 0..<random.int(below: 5) {
            let keys = take(1 + random.int(below: 3))
            let compared = keys.filter { _ in random.int(below: 3) > 0 }
            let changed = keys.filter { _ in random.int(below: 4) > 0 }
            branches.append(
                FleetTransaction.Branch(
                    compares: compared.map { compare($0) },
                    changes: changed.map { change($0) }, reads: keys))
        }
        return FleetTransaction(
            compares: whole.map { compare($0) }, branches: branches, reads: whole)
    }

    /// The same with the leases of the real store.
    func real(_ transaction: FleetTransaction) -> FleetTransaction {
        let numbers = Dictionary(uniqueKeysWithValues: leases.map { ($0.model, $0.real) })
        func real(_ compare: FleetCompare) -> FleetCompare {
            guard case .lease(let key, let lease) = compare else { return compare }
            return .lease(key, numbers[lease] ?? lease)
        }
        func real(_ change: FleetChange) -> FleetChange {
            guard case .put(let key, let text, let lease?) = change else { return change }
            return .put(key, text, lease: numbers[lease] ?? lease)
        }
        var copy = transaction
        copy.compares = copy.compares.map { real($0) }
        copy.branches = copy.branches.map { branch in
            FleetTransaction.Branch(
                compares: branch.compares.map { real($0) },
                changes: branch.changes.map { real($0) }, reads: branch.reads)
        }
        return copy
    }
}
