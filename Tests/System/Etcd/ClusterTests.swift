// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

extension RealEtcdTests {
    /// Three members, of which some are killed or stopped.
    @Suite struct Cluster {
        /// Machines that count together: each adds 1 by compare-and-swap, again and again, and reads
        /// the counter after each unknown outcome. No step is lost and none is made twice, whichever
        /// members are killed meanwhile.
        @Test func noTransactionIsLostOrAppliedTwice() throws {
            let cluster = try EtcdCluster(members: 3)
            let isOver = Mutex(false)
            let results = Mutex<[Counter.Result]>([])
            let urls = cluster.urls
            let group = DispatchGroup()
            for number in 0..<3 {
                group.enter()
                let thread = Thread {
                    let counter = Counter("machine\(number)", urls.rotated(by: number))
                    let result = counter.run { isOver.withLock { $0 } }
                    results.withLock { $0.append(result) }
                    group.leave()
                }
                thread.start()
            }
            for round in 0..<4 {
                let member = cluster.members[round % 3]
                cluster.kill(member)
                usleep(700_000)
                try cluster.start(member)
                try cluster.waitUntilReady()
            }
            // One that answers nothing, but accepts connections.
            cluster.members[1].signal(SIGSTOP)
            usleep(2_500_000)
            cluster.members[1].signal(SIGCONT)
            try cluster.waitUntilReady()
            isOver.withLock { $0 = true }
            #expect(group.wait(timeout: .now() + 120) == .success)
            let all = results.withLock { $0 }
            print("counted: \(all)")
            let client = try EtcdClient(urls)
            let final = try client.loadAll().snapshot.values[.clock] ?? nil
            #expect(all.count == 3)
            #expect(
                all.map(\.steps).reduce(0, +) == Int(final?.value.split(separator: " ")[0] ?? ""))
            // Otherwise nothing was tested.
            #expect(all.map(\.steps).reduce(0, +) > 100)
            #expect(all.map(\.unknown).reduce(0, +) > 0)
            #expect(all.allSatisfy { $0.failures.isEmpty })
        }

        /// One machine that counts.
        private struct Counter {
            struct Result: Sendable {
                var steps = 0
                var unknown = 0
                var failures: [String] = []
            }

            let name: String
            let urls: [String]

            init(_ name: String, _ urls: [String]) { (self.name, self.urls) = (name, urls) }

            func run(until isOver: () -> Bool) -> Result {
                var result = Result()
                do {
                    let client = try EtcdClient(urls, timeout: .seconds(2)) {
                        $0.connectTimeout = .milliseconds(500)
                    }
                    var number = 0
                    while !isOver() {
                        number += 1
                        try step(client, "\(name).\(number)", &result)
                    }
                } catch { result.failures.append("\(error)") }
                return result
            }

            /// Adds 1, with a nonce that tells whether it was this attempt.
            ///
            /// The value is the count and the nonce that each machine applied last. A machine does
            /// not go on before it knows what its attempt did, so its nonce stays until then,
            /// however far the others count meanwhile.
            private func step(
                _ client: EtcdClient, _ nonce: String, _ result: inout Result
            ) throws {
                let known = try read(client)
                let count = Int(known?.value.split(separator: " ")[0] ?? "0") ?? 0
                let nonces = known?.value.split(separator: " ").dropFirst() ?? []
                let others = nonces.filter { !$0.hasPrefix("\(name).") }.map(String.init)
                let text = ["\(count + 1)", nonce] + others
                let transaction = FleetTransaction(
                    compares: [.modified(.clock, known?.modified ?? 0)],
                    changes: [.put(.clock, text.joined(separator: " "), lease: nil)], reads: [])
                switch client.execute(transaction) {
                case .answered(let answer, _):
                    if answer.branches == [.applied] { result.steps += 1 }
                case .unknown:
                    result.unknown += 1
                    // Writes the value once more: after that, the transaction cannot be applied.
                    if try isApplied(nonce, known, client) { result.steps += 1 }
                case .notSent, .rejected: break
                }
            }

            private func isApplied(
                _ nonce: String, _ known: Versioned<String>?, _ client: EtcdClient
            ) throws -> Bool {
                while true {
                    let found = try read(client)
                    if let found, found.modified != known?.modified ?? 0 {
                        return found.value.split(separator: " ").contains { $0 == nonce }
                    }
                    let fence = FleetTransaction(
                        compares: [.modified(.clock, found?.modified ?? 0)],
                        changes: [.put(.clock, found?.value ?? "0", lease: nil)], reads: [])
                    if case .answered(let answer, _) = client.execute(fence),
                        answer.branches == [.applied]
                    {
                        return false
                    }
                }
            }

            /// Reads until there is an answer.
            private func read(_ client: EtcdClient) throws -> Versioned<String>? {
                let end = ContinuousClock.now + .seconds(60)
                while true {
                    do throws(EtcdError) {
                        return try client.loadAll().snapshot.values[.clock] ?? nil
                    } catch {
                        guard ContinuousClock.now < end else { throw error }
                    }
                }
            }
        }

        /// A member that is cut off from the others says so at once, instead of waiting.
        @Test func aMemberWithoutAMajoritySaysSo() throws {
            let cluster = try EtcdCluster(members: 3)
            let survivor = cluster.members[0]
            let watching = try EtcdClient([cluster.urls[0]], timeout: .seconds(10))
            let ended = Mutex<WatchEnd?>(nil)
            let isWatching = DispatchSemaphore(value: 0)
            let isOver = DispatchSemaphore(value: 0)
            struct Work: @unchecked Sendable {
                // Only the thread below uses it.
                let client: EtcdClient
            }
            let work = Work(client: watching)
            let thread = Thread {
                let end = work.client.watch(from: 1, silenceMax: .seconds(60)) { _ in
                    isWatching.signal()
                    return true
                }
                ended.withLock { $0 = end }
                isOver.signal()
            }
            thread.start()
            #expect(isWatching.wait(timeout: .now() + 30) == .success)
            for member in cluster.members where member !== survivor { cluster.kill(member) }
            let client = try EtcdClient([cluster.urls[0]], timeout: .seconds(10))
            let put = FleetTransaction(
                compares: [], changes: [.put(.clock, "a", lease: nil)], reads: [])
            var codes: [EtcdError.Code] = []
            try EtcdCluster.wait("the member notices") {
                switch client.execute(put) {
                case .answered: return false
                case .rejected(let error):
                    codes.append(error.code)
                    return error.code == .noLeader
                case .notSent(let error), .unknown(let error):
                    codes.append(error.code)
                    return false
                }
            }
            #expect(codes.last == .noLeader)
            // The watch is not left silent for ever.
            #expect(isOver.wait(timeout: .now() + 55) == .success)
            guard case .failed(let error)? = ended.withLock({ $0 }) else {
                Issue.record("the watch did not fail")
                return
            }
            #expect(error.code == .noLeader, "\(error)")
        }

        /// One call finds the members that are left.
        @Test func aCallGoesOnWithTheOtherMembers() throws {
            let cluster = try EtcdCluster(members: 3)
            cluster.kill(cluster.members[0])
            cluster.members[1].signal(SIGSTOP)
            defer { cluster.members[1].signal(SIGCONT) }
            // Two of three are away: no majority, but each call ends in time and says why.
            let client = try EtcdClient(cluster.urls, timeout: .seconds(3))
            let start = ContinuousClock.now
            let error = #expect(throws: EtcdError.self) { try client.loadAll() }
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(
                error?.description.contains("also tried") == true, "\(String(describing: error))")
            cluster.members[1].signal(SIGCONT)
            try EtcdCluster.wait("two members are enough") { (try? client.loadAll()) != nil }
        }
    }
}

extension Array {
    fileprivate func rotated(by count: Int) -> Self { Array(self[count...] + self[..<count]) }
}
