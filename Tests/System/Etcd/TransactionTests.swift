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
    .serialized, .enabled(if: EtcdCluster.program != nil, "Tests/System/Etcd/run names an etcd"))
struct RealEtcdTests {}

extension RealEtcdTests {
    /// The transactions of the fleet in a real etcd and in the simulated store of the model: if both
    /// always do the same, what the model shows is true for etcd.
    @Suite struct Transactions {
        @Test func aRealEtcdDoesWhatTheSimulatedStoreDoes() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            var twin = StoreTwin(random: SeededRandom())
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

        private func grant(_ twin: inout StoreTwin, _ client: EtcdClient) throws {
            let real = try client.grantLease(seconds: 3600).lease
            twin.leases.append((twin.model.grant(until: .max), real))
        }

        private func revoke(_ twin: inout StoreTwin, _ client: EtcdClient) throws {
            guard !twin.leases.isEmpty else { return }
            let (model, real) = twin.leases[twin.random.int(below: twin.leases.count)]
            let isKnown = twin.model.leases[model] != nil
            _ = twin.model.revoke(model)
            #expect(try client.revoke(real) == isKnown)
        }

        private func compareOne(
            _ twin: inout StoreTwin, _ client: EtcdClient, _ number: Int,
            _ counts: inout [String: Int]
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
    }
}
