// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore
import TimerFleet
import TimerRunnerProtocol

@testable import TimerFleetLink

@Suite struct FleetLinkTests {
    private let empty = FleetTransaction(branches: [])

    private func kept(_ lease: Int64) -> FleetReport {
        .kept(LeaseID(lease), sent: BootInstant(nanoseconds: 3))
    }

    @Test func eachActionIsARequest_andItsAnswerAnEvent() throws {
        let fixture = try Fixture(lease: .milliseconds(9500))
        let (link, reports) = (fixture.link, fixture.reports)
        let server = try fixture.greet()
        #expect(link.perform(.openLease))
        #expect(try server.next() == .openLease(seconds: 10))
        try server.send(.leased(LeaseID(5), sent: BootInstant(nanoseconds: 8)))
        #expect(try reports.next() == "leased 5 8")
        #expect(link.perform(.keepAlive(LeaseID(5))))
        #expect(try server.next() == .keepAlive(LeaseID(5)))
        try server.send(kept(5))
        #expect(try reports.next() == "kept 5 3")
        #expect(link.perform(.load))
        #expect(try server.next() == .load(number: 1))
        try server.send(.values([FleetEntry(.clock, Samples.value)]))
        try server.send(.values([FleetEntry(.hold, Samples.value)]))
        try server.send(.loaded(number: 1, cluster: "ab", revision: 9, log: nil))
        try server.send(.changed(number: 1, cluster: "ab", revision: 10, Samples.reads))
        #expect(try reports.next() == "loaded ab 9 2")
        #expect(try reports.next() == "changed ab 10 3")
        #expect(link.perform(.send(7, Samples.transaction)))
        #expect(try server.next() == .send(7, Samples.transaction))
        try server.send(.answered(7, Samples.answers[0]))
        #expect(try reports.next() == "answered 7 0")
        link.close(endingLeases: false)
        try server.waitForEnd()
    }

    @Test func otherActionsAreLeftToTheCaller() throws {
        let fixture = try Fixture(listening: false)
        for action: FleetAction in [
            .forget(Samples.run), .done(1, .done), .tell(.guarded(.foreign)),
            .rememberMore(SeenValues()),
        ] {
            #expect(!fixture.link.perform(action))
        }
    }

    /// A request that has no answer is not made again, however often the member repeats it.
    @Test func aRequestWithoutAnswerIsNotRepeated() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        for _ in 0..<5 {
            _ = fixture.link.perform(.openLease)
            _ = fixture.link.perform(.keepAlive(LeaseID(3)))
            _ = fixture.link.perform(.load)
        }
        _ = fixture.link.perform(.send(1, empty))
        #expect(try server.next() == .openLease(seconds: 10))
        #expect(try server.next() == .keepAlive(LeaseID(3)))
        #expect(try server.next() == .load(number: 1))
        #expect(try server.next() == .send(1, empty))
        try server.send(.leaseUnanswered(nil))
        try server.send(.leaseUnanswered(LeaseID(3)))
        try server.send(.watchLost(number: 1))
        #expect(try fixture.reports.next() == "watchLost")
        _ = fixture.link.perform(.openLease)
        _ = fixture.link.perform(.keepAlive(LeaseID(3)))
        _ = fixture.link.perform(.load)
        #expect(try server.next() == .openLease(seconds: 10))
        #expect(try server.next() == .keepAlive(LeaseID(3)))
        #expect(try server.next() == .load(number: 2))
    }

    /// What an older watch still brings is not about the new snapshot.
    @Test func anOlderWatchIsIgnored() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        _ = fixture.link.perform(.load)
        _ = try server.next()
        try server.send(.loaded(number: 1, cluster: "ab", revision: 9, log: nil))
        #expect(try fixture.reports.next() == "loaded ab 9 0")
        _ = fixture.link.perform(.load)
        #expect(try server.next() == .load(number: 2))
        try server.send(.changed(number: 1, cluster: "ab", revision: 10, [:]))
        try server.send(.watchLost(number: 1))
        try server.send(.loaded(number: 2, cluster: "ab", revision: 11, log: nil))
        #expect(try fixture.reports.next() == "loaded ab 11 0")
        try server.send(.watchLost(number: 2))
        #expect(try fixture.reports.next() == "watchLost")
    }

    /// What was sent is unknown, the watch is lost, and what was requested is requested again.
    @Test func aLostConnectionIsReported_andOpenedAgain() throws {
        let fixture = try Fixture()
        let (link, reports) = (fixture.link, fixture.reports)
        do {
            let server = try fixture.greet()
            _ = link.perform(.load)
            _ = try server.next()
            try server.send(.loaded(number: 1, cluster: "ab", revision: 9, log: nil))
            #expect(try reports.next() == "loaded ab 9 0")
            _ = link.perform(.openLease)
            for id in [3, 1, 2] { _ = link.perform(.send(id, empty)) }
            for _ in 0..<4 { _ = try server.next() }
            try server.send(.answered(3, Samples.answers[0]))
            #expect(try reports.next() == "answered 3 0")
        }
        #expect(try reports.next() == "watchLost")
        #expect(try reports.next() == "unknown 1")
        #expect(try reports.next() == "unknown 2")
        let server = try fixture.greet()
        #expect(try server.next() == .openLease(seconds: 10))
        _ = link.perform(.load)
        #expect(try server.next() == .load(number: 2))
        try server.send(.loaded(number: 2, cluster: "ab", revision: 12, log: nil))
        #expect(try reports.next() == "loaded ab 12 0")
    }

    /// Without a connection a member would decide the same again at once.
    @Test func withoutAConnectionATransactionIsUnknownAfterASecond() throws {
        let fixture = try Fixture(listening: false)
        try fixture.reports.waitForStatus("timerd-fleet is not running")
        let begun = ContinuousClock.now
        _ = fixture.link.perform(.send(1, empty))
        _ = fixture.link.perform(.send(2, empty))
        #expect(try fixture.reports.next() == "unknown 1")
        #expect(try fixture.reports.next() == "unknown 2")
        #expect(ContinuousClock.now - begun >= .milliseconds(990))
        // A load and a lease that were requested meanwhile are requested when there is one.
        _ = fixture.link.perform(.load)
        _ = fixture.link.perform(.keepAlive(LeaseID(4)))
        try fixture.server.listen()
        let server = try fixture.greet()
        #expect(try server.next() == .keepAlive(LeaseID(4)))
        #expect(try server.next() == .load(number: 1))
    }

    @Test func moreTransactionsThanTheLimitAreRefused() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        let most = FleetWire.transactionsMax
        for id in 0..<most + 3 { _ = fixture.link.perform(.send(id, empty)) }
        for id in 0..<most { #expect(try server.next() == .send(id, empty)) }
        for id in most..<most + 3 { #expect(try fixture.reports.next() == "unknown \(id)") }
        try server.send(.unknown(0))
        #expect(try fixture.reports.next() == "unknown 0")
        _ = fixture.link.perform(.send(most + 3, empty))
        #expect(try server.next() == .send(most + 3, empty))
    }

    @Test func aTransactionThatIsTooLargeIsRefused_andTheConnectionStays() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        let text = String(repeating: "x", count: FleetWire.requestBytesMax)
        let large = FleetTransaction(
            compares: [], changes: [.put(.clock, text, lease: nil)], reads: [])
        _ = fixture.link.perform(.send(1, large))
        _ = fixture.link.perform(.send(2, empty))
        #expect(try server.next() == .send(2, empty))
        try fixture.reports.waitForStatus("more than etcd takes")
        #expect(try fixture.reports.next() == "unknown 1")
    }

    @Test func aRefusalSaysWhy() throws {
        let fixture = try Fixture()
        let server = try fixture.server.accept()
        _ = try server.next()
        try server.send(.refused("this is the fleet test"))
        try fixture.reports.waitForStatus("this is the fleet test")
        let other = try fixture.server.accept()
        _ = try other.next()
        try other.send(.welcome(version: FleetWire.version + 1))
        try fixture.reports.waitForStatus("restart both")
    }

    /// The status of etcd is passed on when it changes.
    @Test func theStatusIsReported() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        let status = FleetLinkStatus(isRunning: true, endpoint: "http://e:1", problem: nil)
        try server.send(.status(status))
        try server.send(.status(status))
        try server.send(
            .status(FleetLinkStatus(isRunning: true, endpoint: nil, problem: "no leader")))
        #expect(try fixture.reports.next(withStatus: true) == "status true http://e:1 -")
        #expect(try fixture.reports.next(withStatus: true) == "status true - no leader")
    }
}
