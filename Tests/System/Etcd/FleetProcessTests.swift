// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TimerCore
import TimerFleet
import TimerFleetLink
import TimerRunnerProtocol
import Testing

@testable import EtcdClient

extension RealEtcdTests {
    /// `timerd-fleet` with a real etcd, driven by the scheduler's end.
    @Suite struct Fleet {
        private let job = FleetKey.job(Job.Name("backup")!)

        @Test func eachActionIsPerformed() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            let lease = try scheduler.lease()
            #expect(try scheduler.keep(lease))
            try scheduler.waitForStatus("the version of etcd") { $0.version != nil }
            // The clock of each member, whichever answers the rest.
            for url in cluster.urls {
                let date = try scheduler.wait("the clock of \(url)") { event -> Int64? in
                    if case .dated(url, let date, _) = event { date } else { nil }
                }
                #expect(abs(Double(date) - Date().timeIntervalSince1970) < 60)
            }
            let status = scheduler.status
            #expect(status.isRunning && status.problem == nil)
            #expect(status.endpoint == cluster.urls[0] && status.cluster != nil)
            let machine = FleetKey.member(MachineName("web1")!)
            scheduler.put(1, machine, "{}", lease: lease)
            let first = try #require(try scheduler.answer(1))
            #expect(first.branches == [.applied])
            let snapshot = try scheduler.load()
            #expect(snapshot.values[machine]??.value == "{}")
            #expect(snapshot.cluster == status.cluster && snapshot.revision == first.revision)
            scheduler.put(2, job, "a")
            try scheduler.change(job, "a")
            #expect(try scheduler.answer(2)?.branches == [.applied])
            // At the end of the link the lease ends, and its key with it.
            scheduler.link.close(endingLeases: true)
            let client = try EtcdClient(cluster.urls)
            #expect(try client.keepAlive(lease) == nil)
            #expect(try client.loadAll().snapshot.values.count == 1)
            fleet.signal(SIGTERM)
            #expect(fleet.end() == 0, "\(fleet.log)")
        }

        @Test func aTransactionWithALostLeaseSaysSo() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            let lease = try scheduler.lease()
            let client = try EtcdClient(cluster.urls)
            #expect(try client.revoke(lease))
            let begun = ContinuousClock.now
            scheduler.put(1, job, "a", lease: lease)
            let isLost = try scheduler.wait("the loss of the lease") { event -> Bool? in
                if case .leaseLost(lease) = event { true } else { nil }
            }
            #expect(isLost)
            #expect(try scheduler.answer(1) == nil)
            #expect(ContinuousClock.now - begun > .milliseconds(900))
            #expect(try scheduler.keep(lease) == false)
            #expect(scheduler.status.problem == nil)
        }

        /// kill -9 of the process, with something under way in each of its threads.
        @Test func aKillIsSurvived() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            let lease = try scheduler.lease()
            _ = try scheduler.load()
            var id = 0
            for round in 0..<5 {
                for _ in 0..<50 {
                    id += 1
                    scheduler.put(id, job, "\(id)")
                }
                _ = scheduler.link.perform(.keepAlive(lease))
                if round % 2 == 0 { _ = scheduler.link.perform(.load) }
                usleep(UInt32(round * 3000))
                fleet.kill()
                // Each transaction is answered, and the watch is lost if there was one.
                for old in id - 49...id { _ = try scheduler.answer(old) }
                try scheduler.waitForStatus("the end of the process") { !$0.isRunning }
                try fleet.start()
                try scheduler.waitForStatus("a new process") { $0.isRunning }
                #expect(try scheduler.keep(lease))
                _ = try scheduler.load()
                id += 1
                scheduler.put(id, job, "\(id)")
                #expect(try scheduler.answer(id) != nil)
                try scheduler.change(job, "\(id)")
            }
        }

        /// etcd is killed, or hangs: what was sent is unknown in time, and all works again afterwards.
        @Test(arguments: [SIGKILL, SIGSTOP])
        func aLossOfEtcdIsSurvived(signal: Int32) throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            let lease = try scheduler.lease()
            _ = try scheduler.load()
            let member = cluster.members[0]
            member.signal(signal)
            if signal == SIGKILL { cluster.kill(member) }
            for id in 1...20 { scheduler.put(id, job, "\(id)") }
            _ = scheduler.link.perform(.keepAlive(lease))
            let begun = ContinuousClock.now
            for id in 1...20 { #expect(try scheduler.answer(id) == nil) }
            // 5 s for the first of them, and the others have waited too long by then.
            #expect((.seconds(1)...(.seconds(9))).contains(ContinuousClock.now - begun))
            #expect(scheduler.status.isRunning)
            try scheduler.waitForStatus("a problem") { $0.problem != nil && $0.endpoint == nil }
            if signal == SIGKILL { try cluster.start(member) } else { member.signal(SIGCONT) }
            try cluster.waitUntilReady()
            _ = try scheduler.load()
            _ = try scheduler.lease()
            var answer: FleetAnswer?
            var id = 20
            while answer == nil, id < 40 {
                id += 1
                scheduler.put(id, job, "\(id)")
                answer = try scheduler.answer(id)
            }
            try scheduler.change(job, "\(id)")
            try scheduler.waitForStatus("no problem") { $0.problem == nil && $0.endpoint != nil }
            #expect(fleet.log.contains("etcd answers at"), "\(fleet.log)")
        }

        /// The process hangs: the scheduler's end notices it and gives up what it sent.
        @Test func aProcessThatHangsIsNoticed() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            let lease = try scheduler.lease()
            _ = try scheduler.load()
            fleet.signal(SIGSTOP)
            scheduler.put(1, job, "1")
            #expect(try scheduler.answer(1) == nil)
            try scheduler.waitForStatus("that it hangs") {
                $0.problem?.contains("does not answer") == true
            }
            fleet.signal(SIGCONT)
            try scheduler.waitForStatus("that it works") { $0.isRunning }
            _ = try scheduler.load()
            _ = lease
            scheduler.put(2, job, "2")
            #expect(try scheduler.answer(2) != nil)
        }

        /// etcd takes longer than the scheduler's end waits for a process that is silent.
        @Test func aSlowEtcdIsNoProcessThatHangs() throws {
            let cluster = try EtcdCluster()
            let fleet = try FleetProcess(cluster.urls)
            let scheduler = try Scheduler(fleet.socket)
            _ = try scheduler.lease()
            cluster.members[0].signal(SIGSTOP)
            for id in 1...3 {
                scheduler.put(id, job, "\(id)")
                #expect(try scheduler.answer(id) == nil)
                #expect(scheduler.status.isRunning)
            }
            cluster.members[0].signal(SIGCONT)
        }
    }
}
