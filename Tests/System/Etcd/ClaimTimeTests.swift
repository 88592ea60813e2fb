// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

extension RealEtcdTests {
    /// How long claims take with a real etcd.
    @Suite struct ClaimTimes {
        private static let machine = StoreTwin.machines[0]

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
                    .put(.member(Self.machine), "{}", lease: lease),
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
                        machine: Self.machine, incarnation: incarnation, nonce: "\(name)",
                        state: .claimed, claimed: slot),
                    job: JobValue(
                        definition: "0af3", cursor: slot,
                        live: [
                            JobValue.LiveRun(
                                run: run, machine: Self.machine, incarnation: incarnation,
                                state: .claimed)
                        ]), known: 0)
            }
            let outcome = client.execute(
                .claiming(claims, by: Self.machine, lease: lease, hold: 2))
            guard case .answered(let answer, _) = outcome, answer.branches.count == claims.count,
                answer.branches.allSatisfy({ $0 == .applied })
            else { throw EtcdCluster.Failure(description: "\(numbers): \(outcome)") }
        }

        /// 1000 claims in batches of 60, over several connections at a time.
        private func claimTogether(
            _ start: Int, _ lease: LeaseID, _ clients: [EtcdClient]
        ) throws {
            // Unchecked, because each client is used by one iteration only, and so by one thread.
            struct Work: @unchecked Sendable {
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
