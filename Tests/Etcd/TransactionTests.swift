// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import StoreModel
import Synchronization
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

/// All tests against a real etcd. They need time and processes, so they run one after the other.
@Suite(
    .serialized, .enabled(if: EtcdCluster.program != nil, "Tests/Etcd/run names an etcd"))
struct RealEtcdTests {}

extension RealEtcdTests {
    /// The transactions of the fleet in a real etcd and in the simulated store of the model: if both
    /// always do the same, what the model shows is true for etcd.
    @Suite struct Transactions {
        private static let machines = ["web1", "web2"].compactMap { MachineName($0) }
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

        /// What both stores were told, and how the simulated one calls the leases of the real one.
        private struct Twin {
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
                var rest = Transactions.keys.shuffled(using: &random)
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

        @Test func aRealEtcdDoesWhatTheSimulatedStoreDoes() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            var twin = Twin(random: SeededRandom())
            twin.model.cluster = try client.requireOneCluster()
            var counts: [String: Int] = [:]
            for number in 0..<1500 {
                switch twin.random.int(below: 40) {
                case 0: try grant(&twin, client)
                case 1: try revoke(&twin, client)
                default: try compareOne(&twin, client, number, &counts)
                }
            }
            print("transactions: \(counts)")
            for word in ["applied", "refused", "nothing", "lease"] {
                #expect(counts[word, default: 0] > 30, "\(word)")
            }
            let loaded = try client.loadAll().snapshot
            #expect(loaded.revision == twin.model.revision)
            #expect(loaded.values == twin.model.keys.mapValues { .some($0) })
            try compareHistory(twin.model, client)
        }

        private func grant(_ twin: inout Twin, _ client: EtcdClient) throws {
            let real = try client.grantLease(seconds: 3600).lease
            twin.leases.append((twin.model.grant(until: .max), real))
        }

        private func revoke(_ twin: inout Twin, _ client: EtcdClient) throws {
            guard !twin.leases.isEmpty else { return }
            let (model, real) = twin.leases[twin.random.int(below: twin.leases.count)]
            let isKnown = twin.model.leases[model] != nil
            _ = twin.model.revoke(model)
            #expect(try client.revoke(real) == isKnown)
        }

        private func compareOne(
            _ twin: inout Twin, _ client: EtcdClient, _ number: Int, _ counts: inout [String: Int]
        ) throws {
            let transaction = twin.transaction()
            let before = twin.model
            let expected = twin.model.apply(transaction)
            let outcome = client.execute(twin.real(transaction))
            guard let (answer, _) = expected else {
                counts["lease", default: 0] += 1
                guard case .rejected(let error) = outcome, error.code == .leaseNotFound else {
                    throw EtcdCluster.Failure(
                        description:
                            "\(number): \(transaction) with a lease that is none: \(outcome)")
                }
                return
            }
            guard case .answered(let found, _) = outcome, found == answer else {
                throw EtcdCluster.Failure(
                    description: """
                        \(number): \(transaction)
                        in \(before.keys), \(before.leases)
                        expected \(answer)
                        found \(outcome)
                        """)
            }
            if answer.branches.isEmpty { counts["nothing", default: 0] += 1 }
            for branch in answer.branches {
                counts[branch == .applied ? "applied" : "refused", default: 0] += 1
            }
        }

        /// A watch from the beginning reports each change of the simulated store.
        private func compareHistory(_ model: SimulatedStore, _ client: EtcdClient) throws {
            var next = model.history[...]
            let end = client.watch(from: 1, silenceMax: .seconds(30)) { event in
                guard case .changed(let cluster, let revision, let reads) = event else {
                    return true
                }
                guard let commit = next.popFirst() else { return false }
                #expect(cluster == model.cluster)
                #expect(revision == commit.revision)
                #expect(reads == commit.changes, "revision \(revision)")
                return !next.isEmpty && reads == commit.changes
            }
            guard case .stopped = end, next.isEmpty else {
                throw EtcdCluster.Failure(description: "\(next.count) changes missing: \(end)")
            }
        }

        /// The limit is counted as etcd counts it.
        @Test func etcdPermits128OperationsAndNotOneMore() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            let names = (0..<130).compactMap { Job.Name("job\($0)") }
            func transaction(_ branches: Int, _ changes: Int, _ reads: Int) -> FleetTransaction {
                FleetTransaction(
                    compares: [.modified(.hold, 0)],
                    branches: names.prefix(branches).enumerated().map { index, name in
                        var keys: [FleetKey] = [.job(name)]
                        if index == 0 {
                            keys += names.dropFirst(branches).prefix(changes - 1).map { .job($0) }
                        }
                        return FleetTransaction.Branch(
                            compares: [], changes: keys.map { .delete($0) }, reads: [])
                    }, reads: names.prefix(reads).map { .job($0) })
            }
            for most in [transaction(127, 1, 0), transaction(120, 8, 3), transaction(2, 28, 100)] {
                #expect(most.operations == FleetTransaction.operationsMax)
                let outcome = client.execute(most)
                guard case .answered = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
            }
            for more in [transaction(128, 1, 0), transaction(121, 8, 3), transaction(2, 29, 100)] {
                #expect(more.operations == FleetTransaction.operationsMax + 1)
                let error = #expect(throws: EtcdError.self) {
                    try client.send(
                        EtcdClient.Call(
                            path: "/v3/kv/txn", body: client.coding.request(more),
                            isRepeatable: false))
                }
                #expect(error?.code == .requestRefused)
                #expect(error?.effect == .refused)
            }
        }

        /// How long claims take. The limits are far above what an idle machine needs.
        @Test func claimsAreQuick() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            let lease = try prepare(client)
            let quick = try Self.milliseconds(200) { number in
                try claim(number..<number + 1, lease, client)
            }.sorted()
            let clients = try (0..<4).map { _ in try EtcdClient(cluster.urls) }
            let one = try Self.milliseconds(5) { round in
                for batch in stride(from: 0, to: 1000, by: 60) {
                    let start = 1000 * (round + 1) + batch
                    try claim(start..<min(start + 60, 1000 * (round + 2)), lease, client)
                }
            }
            let four = try Self.milliseconds(5) { round in
                try claimTogether(1000 * (round + 10), lease, clients)
            }
            print(
                """
                one claim: median \(quick[100]) ms, 99 % \(quick[198]) ms; \
                1000 claims in batches of 60: over one connection \(one.sorted()) ms, \
                over four \(four.sorted()) ms
                """)
            #expect(quick[100] < 100)
            #expect(four.sorted()[2] < 4000)
        }

        private func prepare(_ client: EtcdClient) throws -> LeaseID {
            let lease = try client.grantLease(seconds: 3600).lease
            let member = FleetTransaction(
                compares: [],
                changes: [
                    .put(.member(Self.machines[0]), "{}", lease: lease),
                    .put(.hold, "{}", lease: nil),
                ], reads: [])
            guard case .answered(let answer, _) = client.execute(member), answer.revision == 2
            else {
                throw EtcdCluster.Failure(description: "the store is not new")
            }
            return lease
        }

        /// Claims the first firing of jobs with these numbers, in one transaction.
        private func claim(_ numbers: Range<Int>, _ lease: LeaseID, _ client: EtcdClient) throws {
            let slot = WallInstant(secondsSinceEpoch: 1_800_000_000)
            let incarnation = Incarnation(boot: .unknown, number: 1)
            let claims = numbers.compactMap { Job.Name("job\($0)") }.map { name in
                let run = Run.ID(firing: Firing.ID(job: name, scheduled: slot))
                return Claim(
                    run: run,
                    value: RunValue(
                        machine: Self.machines[0], incarnation: incarnation, nonce: "\(name)",
                        state: .claimed, claimed: slot),
                    job: JobValue(
                        definition: "0af3", cursor: slot,
                        live: [
                            JobValue.LiveRun(
                                run: run, machine: Self.machines[0], incarnation: incarnation,
                                state: .claimed)
                        ]), known: 0)
            }
            let outcome = client.execute(
                .claiming(claims, by: Self.machines[0], lease: lease, hold: 2))
            guard case .answered(let answer, _) = outcome, answer.branches.count == claims.count,
                answer.branches.allSatisfy({ $0 == .applied })
            else { throw EtcdCluster.Failure(description: "\(numbers): \(outcome)") }
        }

        /// 1000 claims in batches of 60, over several connections at a time.
        private func claimTogether(
            _ start: Int, _ lease: LeaseID, _ clients: [EtcdClient]
        ) throws {
            struct Work: @unchecked Sendable {
                // Each client is used by one iteration only.
                let clients: [EtcdClient]
            }
            let work = Work(clients: clients)
            let failed = Mutex(false)
            DispatchQueue.concurrentPerform(iterations: clients.count) { index in
                for batch in stride(from: 60 * index, to: 1000, by: 60 * work.clients.count) {
                    let range = start + batch..<start + min(batch + 60, 1000)
                    do {
                        try claim(range, lease, work.clients[index])
                    } catch { failed.withLock { $0 = true } }
                }
            }
            guard !failed.withLock({ $0 }) else {
                throw EtcdCluster.Failure(description: "a claim was not applied")
            }
        }

        /// How many milliseconds each of so many calls took, with two decimals.
        private static func milliseconds(
            _ count: Int, _ body: (Int) throws -> Void
        ) rethrows -> [Double] {
            try (0..<count).map { number in
                let start = Connection.clockReading()
                try body(number)
                return Double((Connection.clockReading() - start) / 10_000) / 100
            }
        }
    }
}
