// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TimerCore
import TimerFleet
import Testing

@testable import EtcdClient

extension RealEtcdTests {
    /// Leases, the watch, users, and what happens if etcd is full, compacted or wiped.
    @Suite struct Server {
        private func put(_ key: FleetKey, _ text: String, lease: LeaseID? = nil) -> FleetTransaction
        {
            FleetTransaction(compares: [], changes: [.put(key, text, lease: lease)], reads: [])
        }

        private func code(_ outcome: TransactionOutcome) -> EtcdError.Code? {
            switch outcome {
            case .answered: nil
            case .rejected(let error), .notSent(let error), .unknown(let error): error.code
            }
        }

        private func code(_ end: WatchEnd) -> EtcdError.Code? {
            if case .failed(let error) = end { error.code } else { nil }
        }

        @Test func aLeaseKeepsItsKeys() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            let machine = FleetKey.member(try #require(MachineName("web1")))
            let lease = try client.grantLease(seconds: 60).lease
            #expect(code(client.execute(put(machine, "{}", lease: lease))) == nil)
            #expect(try client.keepAlive(lease) != nil)
            let holds = FleetTransaction(
                compares: [.lease(machine, lease)], branches: [], reads: [machine])
            guard case .answered(let answer, _) = client.execute(holds) else {
                Issue.record("no answer")
                return
            }
            #expect(answer.reads.isEmpty)
            #expect(try client.revoke(lease))
            #expect(try client.keepAlive(lease) == nil)
            #expect(try client.revoke(lease) == false)
            #expect(try client.loadAll().snapshot.values.isEmpty)
            #expect(code(client.execute(put(machine, "{}", lease: lease))) == .leaseNotFound)
        }

        /// The bounds that the dates give contain the truth: it is the same clock.
        @Test func datesBoundTheSkewOfTheClocks() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            let lease = try client.grantLease(seconds: 60).lease
            var skew = SkewBounds()
            for _ in 0..<20 {
                let receipt = try #require(try client.keepAlive(lease))
                #expect(receipt.sent.wall <= receipt.received.wall)
                skew.receive(
                    date: try #require(receipt.date), sent: receipt.sent.wall,
                    received: receipt.received.wall)
            }
            let bounds = try #require(skew.bounds)
            #expect(bounds.contains(0), "\(bounds)")
            #expect(skew.isWithin(.seconds(1)))
        }

        @Test func manyKeysAreReadAtOneRevision() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            let names = (0..<700).compactMap { Job.Name("job\($0)") }
            for batch in stride(from: 0, to: names.count, by: 100) {
                let changes = names[batch..<batch + 100].map {
                    FleetChange.put(.job($0), "\($0)", lease: nil)
                }
                #expect(
                    code(
                        client.execute(
                            FleetTransaction(compares: [], changes: changes, reads: []))) == nil)
            }
            try client.ask(
                "/v3/kv/put",
                ["key": Base64.encode("/timerd/prod/x".utf8), "value": Base64.encode("1".utf8)])
            try client.ask(
                "/v3/kv/put",
                ["key": Base64.encode("/timerd/prod2/clock".utf8), "value": "MQ=="])
            let loaded = try client.loadAll()
            #expect(
                loaded.snapshot.values.compactMapValues { $0?.value }
                    == Dictionary(uniqueKeysWithValues: names.map { (.job($0), "\($0)") }))
            #expect(loaded.unknownKeys == ["/timerd/prod/x"])
            #expect(loaded.snapshot.revision == 10)
        }

        @Test func aWatchOfACompactedRevisionEnds() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            for number in 0..<5 { _ = client.execute(put(.clock, "\(number)")) }
            try client.ask("/v3/kv/compaction", ["revision": "4", "physical": true])
            guard
                case .compacted = client.watch(
                    from: 2, silenceMax: .seconds(30), { _ in true })
            else {
                Issue.record("the watch goes on")
                return
            }
            // The client can be used at once, and a watch from a later revision works.
            var revisions: [Int64] = []
            _ = client.watch(from: 5, silenceMax: .seconds(30)) { event in
                if case .changed(_, let revision, _) = event { revisions.append(revision) }
                return revisions.count < 2
            }
            #expect(revisions == [5, 6])
        }

        /// More than etcd sends in one message: it divides them into fragments.
        @Test func aLargeRevisionIsReportedWhole() throws {
            let cluster = try EtcdCluster([])
            let client = try EtcdClient(cluster.urls)
            let names = (0..<100).compactMap { Job.Name("job\($0)") }
            let text = String(repeating: "x", count: 12_000)
            let large = FleetTransaction(
                compares: [], changes: names.map { .put(.job($0), text, lease: nil) }, reads: [])
            for _ in 0..<3 { #expect(code(client.execute(large)) == nil) }
            var sizes: [Int64: Int] = [:]
            let end = client.watch(from: 2, silenceMax: .seconds(30)) { event in
                if case .changed(_, let revision, let reads) = event {
                    sizes[revision, default: 0] += reads.count
                }
                return sizes.count < 3
            }
            #expect(sizes == [2: 100, 3: 100, 4: 100], "\(end)")
        }

        /// A database that others have filled. Which requests etcd 3.4 then refuses depends on what it
        /// counts: a lease, and not a transaction within a transaction, which all of the fleet are.
        @Test func aFullDatabaseIsReported_andCanBeFreed() throws {
            let cluster = try EtcdCluster(["--quota-backend-bytes", "\(8 << 20)"])
            let client = try EtcdClient(cluster.urls)
            let known = try client.grantLease(seconds: 60).lease
            let large = Base64.encode([UInt8](repeating: 120, count: 900_000))
            let error = #expect(throws: EtcdError.self) {
                for _ in 0..<40 {
                    try client.ask("/v3/kv/put", ["key": Base64.encode("x".utf8), "value": large])
                }
            }
            // It may have been executed: etcd looks at the size before, and reports it after.
            #expect(error?.code == .full && error?.effect == .unknown)
            #expect(error?.description.contains("etcdctl alarm disarm") == true)
            let granted = #expect(throws: EtcdError.self) { try client.grantLease(seconds: 10) }
            #expect(granted?.code == .full)
            #expect(try client.keepAlive(known) != nil)
            switch client.execute(put(.hold, "x")) {
            case .answered: break
            case .unknown(let error): #expect(error.code == .full)
            case let outcome: Issue.record("\(outcome)")
            }
            #expect(try client.memberCount(of: 0) == cluster.urls.count)
            let status = try #require(client.statuses().first).get()
            #expect(status.errors.contains { $0.contains("NOSPACE") })
            // What the error advises.
            let revision = try client.loadAll().snapshot.revision
            try client.ask("/v3/kv/compaction", ["revision": "\(revision)", "physical": true])
            let member = try client.ask("/v3/maintenance/status").text("leader")
            // These answers do not name the cluster. What follows fails if it was not done.
            _ = try? client.ask("/v3/maintenance/defragment")
            _ = try? client.ask(
                "/v3/maintenance/alarm",
                ["action": "DEACTIVATE", "alarm": "NOSPACE", "memberID": member])
            #expect(try client.grantLease(seconds: 10).seconds >= 10)
        }

        /// A user with a password, a role for the keys of one fleet, and tokens that end.
        ///
        /// etcd 3.4 checks the permission for the outer comparisons and operations of a transaction
        /// only. Each transaction of a fleet compares its identity there (`bound`).
        @Test func users() throws {
            let cluster = try EtcdCluster()
            let admin = try EtcdClient(cluster.urls)
            let member = cluster.members[0]
            try enableUsers(admin)
            let bound = put(.clock, "a").bound(to: "a")
            func client(_ user: String?, _ password: String?, fleet: String = "prod") throws
                -> EtcdClient
            {
                try EtcdClient(cluster.urls, fleet: fleet) {
                    ($0.user, $0.password) = (user, password)
                }
            }
            #expect(code(try client(nil, nil).execute(bound)) == .userMissing)
            #expect(code(try client("timerd", "no").execute(bound)) == .wrongPassword)
            #expect(code(try client("none", "no").execute(bound)) == .wrongPassword)
            let good = try client("timerd", "secret")
            #expect(code(good.execute(bound)) == nil)
            let other = try client("timerd", "secret", fleet: "test")
            #expect(code(other.execute(bound)) == .notPermitted)
            #expect(
                code(other.watch(from: 1, silenceMax: .seconds(30)) { _ in true })
                    == .notPermitted)
            // etcd forgets its tokens when it ends.
            let watching = try client("timerd", "secret")
            #expect(try watching.loadAll().snapshot.values.count == 2)
            cluster.kill(member)
            try cluster.start(member)
            try EtcdCluster.wait("etcd is back") { try !EtcdClient(cluster.urls).isDown }
            #expect(code(good.execute(bound)) == nil)
            let end = watching.watch(from: 1, silenceMax: .seconds(30)) { _ in false }
            guard case .stopped = end else {
                Issue.record("\(end)")
                return
            }
        }

        private func enableUsers(_ admin: EtcdClient) throws {
            let off = try EtcdClient(admin.options.endpoints) {
                ($0.user, $0.password) = ("timerd", "secret")
            }
            #expect(code(off.execute(put(.clock, "a"))) == .authenticationOff)
            #expect(code(admin.execute(put(.identity, "a"))) == nil)
            for user in ["root", "timerd"] {
                try admin.ask("/v3/auth/user/add", ["name": user, "password": "secret"])
            }
            for role in ["root", "timerd"] {
                try admin.ask("/v3/auth/role/add", ["name": role])
                try admin.ask("/v3/auth/user/grant", ["user": role, "role": role])
            }
            let (start, end) = admin.coding.allKeys
            try admin.ask(
                "/v3/auth/role/grant",
                [
                    "name": "timerd",
                    "perm": [
                        "permType": "READWRITE", "key": Base64.encode(start),
                        "range_end": Base64.encode(end),
                    ],
                ])
            try admin.ask("/v3/auth/enable")
        }

        /// A cluster that is made anew with the same configuration has the same cluster id: only its
        /// revision, and what the fleet wrote into it, tell that it is another store.
        @Test func aWipedClusterHasTheSameIdentity_butNotTheSameRevision() throws {
            let cluster = try EtcdCluster()
            let client = try EtcdClient(cluster.urls)
            _ = client.execute(put(.identity, "a"))
            let before = try client.loadAll().snapshot
            let member = cluster.members[0]
            cluster.kill(member)
            try FileManager.default.removeItem(at: cluster.data(of: member))
            try cluster.start(member)
            try cluster.waitUntilReady()
            let after = try client.loadAll().snapshot
            #expect(after.cluster == before.cluster)
            #expect(after.revision < before.revision)
            #expect(after.values.isEmpty)
        }
    }
}

extension EtcdClient {
    /// Whether no endpoint answers, with an error or without.
    var isDown: Bool {
        statuses().allSatisfy { status in
            guard case .failure(let error) = status else { return false }
            return [.connectionRefused, .connectionLost, .noLeader].contains(error.code)
        }
    }
}
