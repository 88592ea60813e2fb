// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TimerCore
import TimerFleet

@testable import EtcdClient

extension RealEtcdTests {
    /// Claims of machines that do not know yet that the jobs were paused.
    @Suite struct RacingClaims {
        private static let jobs = (0..<60).compactMap { Job.Name("job\($0)") }
        private static let machines = 4
        /// How many claims are tried after the pause was answered.
        private static let attempts = 10_000

        /// What the machines did, and what they wait for.
        private final class Race: Sendable {
            struct State {
                /// The revision of the last claim of each job that was applied.
                var last = [Int64](repeating: 0, count: jobs.count)
                /// How many claims were applied.
                var applied = 0
                /// How many were tried after the pause was answered.
                var late = 0
                /// The revision of the pause of each job, when it was answered.
                var pauses: [Int64]?
                var failures: [String] = []
            }

            let state = Mutex(State())
            /// Enough claims were applied for the pause to begin.
            let enough = DispatchSemaphore(value: 0)

            func fail(_ error: any Error) {
                state.withLock {
                    $0.failures.append("\(error)")
                    // The others end as well.
                    $0.pauses = $0.pauses ?? []
                }
                enough.signal()
            }
        }

        @Test func noneOf10000ClaimsIsAppliedAfterAPause() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            let lease = try prepare(client)
            let created = try create(client)
            let urls = cluster.urls
            let race = Race()
            // Not on queues of Dispatch: all of them must run at the same time.
            let ended = DispatchGroup()
            for number in 0...Self.machines {
                ended.enter()
                Thread.detachNewThread {
                    do {
                        let client = try EtcdClient(urls)
                        if number < Self.machines {
                            try Self.claim(by: number, lease, created, client, race)
                        } else {
                            race.enough.wait()
                            let pauses = try Self.pause(client, created)
                            race.state.withLock { $0.pauses = pauses }
                        }
                    } catch {
                        race.fail(error)
                    }
                    ended.leave()
                }
            }
            #expect(ended.wait(timeout: .now() + 120) == .success)
            let result = race.state.withLock { $0 }
            #expect(result.failures == [])
            let pauses = try #require(result.pauses)
            #expect(result.applied > 1000 && result.late >= Self.attempts)
            #expect(pauses.count == Self.jobs.count)
            #expect(zip(result.last, pauses).allSatisfy { $0 < $1 })
            print("\(result.applied) claims before the pause, 0 of \(result.late) after it")
        }

        private func prepare(_ client: EtcdClient) throws -> LeaseID {
            let lease = try client.grantLease(seconds: 3600).lease
            let changes =
                StoreTwin.machines.map { FleetChange.put(.member($0), "{}", lease: lease) }
                + [.put(.hold, "{}", lease: nil)]
            guard
                case .answered(let answer, _) = client.execute(
                    FleetTransaction(compares: [], changes: changes, reads: [])),
                answer.revision == 2
            else { throw EtcdCluster.Failure(description: "the store is not new") }
            return lease
        }

        /// - Returns: the revision of the jobs.
        private func create(_ client: EtcdClient) throws -> Int64 {
            let changes = Self.jobs.map { FleetChange.put(.job($0), Self.text(), lease: nil) }
            guard
                case .answered(let answer, _) = client.execute(
                    FleetTransaction(compares: [], changes: changes, reads: []))
            else { throw EtcdCluster.Failure(description: "the jobs were not made") }
            return answer.revision
        }

        private static func text(pausedBy user: String? = nil) -> String {
            JobValue(
                definition: "0af3", cursor: WallInstant(secondsSinceEpoch: 1_800_000_000),
                pause: user.map {
                    JobValue.Pause(since: WallInstant(secondsSinceEpoch: 1_800_000_000), by: $0)
                }
            ).text
        }

        /// Pauses each job, against the claims that change it meanwhile.
        ///
        /// - Returns: the revision of the pause of each job. All of them were answered.
        private static func pause(
            _ client: EtcdClient, _ created: Int64
        ) throws -> [Int64] {
            var known = [Int64](repeating: created, count: jobs.count)
            var paused = [Int64?](repeating: nil, count: jobs.count)
            while paused.contains(nil) {
                let open = jobs.indices.filter { paused[$0] == nil }
                let branches = open.map { index in
                    let key = FleetKey.job(jobs[index])
                    return FleetTransaction.Branch(
                        compares: [.modified(key, known[index])],
                        changes: [.put(key, text(pausedBy: "ada"), lease: nil)], reads: [key])
                }
                guard
                    case .answered(let answer, _) = client.execute(
                        FleetTransaction(branches: branches))
                else { throw EtcdCluster.Failure(description: "the pause was not answered") }
                for (index, branch) in zip(open, answer.branches) {
                    switch branch {
                    case .applied: paused[index] = answer.revision
                    case .refused(let reads):
                        known[index] = (reads[.job(jobs[index])] ?? nil)?.modified ?? 0
                    }
                }
            }
            return paused.compactMap { $0 }
        }

        /// Claims all jobs again and again, by the last revisions before a pause, until enough claims
        /// were tried after the pause.
        private static func claim(
            by number: Int, _ lease: LeaseID, _ created: Int64, _ client: EtcdClient, _ race: Race
        ) throws {
            var known = [Int64](repeating: created, count: jobs.count)
            var late = 0
            for round in 0... {
                let isLate = race.state.withLock { $0.pauses != nil }
                let claims = jobs.enumerated().map { index, name in
                    claim(of: name, round * machines + number, known[index])
                }
                guard
                    case .answered(let answer, _) = client.execute(
                        .claiming(claims, by: StoreTwin.machines[0], lease: lease, hold: 2)),
                    answer.branches.count == claims.count
                else { throw EtcdCluster.Failure(description: "a claim was not answered") }
                var applied: [Int] = []
                for (index, branch) in answer.branches.enumerated() {
                    switch branch {
                    case .applied:
                        applied.append(index)
                        known[index] = answer.revision
                    case .refused(let reads):
                        guard let read = reads[.job(jobs[index])] ?? nil,
                            try JobValue(text: read.value).pause == nil
                        else { continue }
                        known[index] = read.modified
                    }
                }
                let isEnough = race.state.withLock { state in
                    for index in applied {
                        state.last[index] = max(state.last[index], answer.revision)
                    }
                    state.applied += applied.count
                    state.late += isLate ? claims.count : 0
                    return state.applied > 1000
                }
                if isEnough { race.enough.signal() }
                late += isLate ? claims.count : 0
                if late >= attempts / machines { return }
            }
        }

        private static func claim(of name: Job.Name, _ number: Int, _ known: Int64) -> Claim {
            let slot = WallInstant(secondsSinceEpoch: 1_800_000_000) + .milliseconds(number + 1)
            let incarnation = Incarnation(boot: .unknown, number: 1)
            return Claim(
                run: Run.ID(firing: Firing.ID(job: name, scheduled: slot)),
                value: RunValue(
                    machine: StoreTwin.machines[0], incarnation: incarnation,
                    nonce: "\(name) \(number)", state: .claimed, claimed: slot),
                job: JobValue(definition: "0af3", cursor: slot), known: known)
        }
    }
}
