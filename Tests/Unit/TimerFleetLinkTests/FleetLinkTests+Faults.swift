// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import SeededRandom
import Testing
import TimerCore
import TimerFleet
import TimerRunnerProtocol

@testable import TimerFleetLink

/// A server that hangs, lies or ends.
@Suite struct FleetLinkFaultTests {
    private let empty = FleetTransaction(branches: [])

    /// Messages that must not come now.
    @Test(
        arguments: [
            .welcome(version: FleetWire.version), .refused("late"),
            .answered(1, Samples.answers[0]),
            .unknown(1), .leased(LeaseID(1), sent: BootInstant(nanoseconds: 1)),
            .leaseUnanswered(nil), .leaseEnded(LeaseID(1)),
            .loaded(number: 1, cluster: "", revision: 1, log: nil),
            .changed(number: 9, cluster: "", revision: 1, [:]), .watchLost(number: 7),
            .values([
                FleetEntry(.clock, Samples.value), FleetEntry(.clock, Samples.value),
            ]),
        ] as [FleetReport])
    func aMessageOutOfOrderEndsTheConnection(report: FleetReport) throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        try server.send(report)
        try server.waitForEnd()
        try fixture.reports.waitForStatus("invalid message")
        _ = try fixture.greet()
    }

    @Test func aFrameThatIsTooLongEndsTheConnection() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        let length = UInt32(FleetWire.reportBytesMax + 1)
        try server.send(bytes: withUnsafeBytes(of: length.littleEndian, Array.init))
        try server.waitForEnd()
        _ = try fixture.greet()
    }

    @Test func beforeTheGreetingNothingElseIsAccepted() throws {
        let fixture = try Fixture()
        let server = try fixture.server.accept()
        try server.send(.alive)
        try server.waitForEnd()
    }

    /// Whatever arrives, the link lives, and each transaction is answered once.
    @Test func aLinkSurvivesAnyServer() throws {
        var random = SeededRandom()
        let fixture = try Fixture()
        let end = ContinuousClock.now + .seconds(Fuzzing.seconds)
        var id = 0
        while ContinuousClock.now < end {
            let server = try fixture.server.greet()
            try fixture.reports.waitForStatus("status true", skippingEvents: true)
            let first = id
            for _ in 0..<random.int(below: 5) {
                _ = fixture.link.perform(.send(id, empty))
                id += 1
            }
            _ = fixture.link.perform(.load)
            for _ in 0..<random.int(below: 40) {
                var bytes = random.report().bytes
                if random.int(below: 4) == 0 {
                    bytes[random.int(below: bytes.count)] = UInt8(random.int(below: 256))
                }
                guard (try? server.send(frame: bytes)) != nil else { break }
            }
            // No message: the link disconnects now, if it did not before.
            try? server.send(frame: [255])
            try server.waitForEnd()
            var missing = Set(first..<id)
            while !missing.isEmpty {
                let words = try fixture.reports.next().split(separator: " ")
                guard let number = words.dropFirst().first.flatMap({ Int($0) }),
                    words[0] == "unknown" || words[0] == "answered"
                else { continue }
                #expect(missing.remove(number) != nil, "\(words)")
            }
        }
    }

    /// It does not answer any more: `alive` says that it works, and silence that it hangs.
    @Test func aServerThatHangsIsLeft() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        _ = fixture.link.perform(.send(1, empty))
        _ = try server.next()
        let begun = ContinuousClock.now
        try server.send(.alive)
        try fixture.reports.waitForStatus("does not answer")
        #expect(try fixture.reports.next() == "unknown 1")
        #expect(ContinuousClock.now - begun >= .seconds(5))
    }

    @Test func aServerThatDoesNotGreetIsLeft() throws {
        let fixture = try Fixture()
        let server = try fixture.server.accept()
        try server.waitForEnd()
        try fixture.reports.waitForStatus("does not answer")
    }

    /// A refused transaction may tell it before the renewal is answered, which is no fault of the server.
    @Test(arguments: [true, false])
    func aLeaseThatIsLostWhileItIsRenewedMayBeAnsweredLate(_ isAnswered: Bool) throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        _ = fixture.link.perform(.openLease)
        _ = try server.next()
        let instant = BootInstant(nanoseconds: 1)
        try server.send(.leased(LeaseID(5), sent: instant))
        _ = try fixture.reports.next()
        _ = fixture.link.perform(.keepAlive(LeaseID(5)))
        _ = try server.next()
        try server.send(.leaseLost(LeaseID(5)))
        #expect(try fixture.reports.next() == "leaseLost 5")
        let late: FleetReport =
            isAnswered
            ? .kept(LeaseID(5), sent: instant) : .leaseUnanswered(LeaseID(5))
        try server.send(late)
        // The connection is the same, and nothing is reported of the answer.
        _ = fixture.link.perform(.send(1, empty))
        _ = try server.next()
        try server.send(.unknown(1))
        #expect(try fixture.reports.next() == "unknown 1")
        // But it comes once.
        try server.send(late)
        try fixture.reports.waitForStatus("invalid message")
    }

    // MARK: - The end

    @Test func theLeasesEndWithTheLink() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        for number: Int64 in [5, 6] {
            _ = fixture.link.perform(.openLease)
            _ = try server.next()
            try server.send(.leased(LeaseID(number), sent: BootInstant(nanoseconds: 1)))
            _ = try fixture.reports.next()
        }
        try server.send(.leaseLost(LeaseID(5)))
        #expect(try fixture.reports.next() == "leaseLost 5")
        let link = fixture.link
        let closed = DispatchSemaphore(value: 0)
        Thread.detached {
            link.close(endingLeases: true, timeout: .seconds(20))
            closed.signal()
        }
        #expect(try server.next() == .endLease(LeaseID(6)))
        #expect(closed.wait(timeout: .now() + .milliseconds(50)) == .timedOut)
        try server.send(.leaseEnded(LeaseID(6)))
        #expect(closed.wait(timeout: .now() + .seconds(20)) == .success)
        try server.waitForEnd()
        // Nothing happens any more, and closing once more does nothing.
        #expect(link.perform(.openLease))
        link.close(endingLeases: true)
        #expect(fixture.reports.count == 0)
    }

    @Test func closingDoesNotWaitForAServerThatHangs() throws {
        let fixture = try Fixture()
        let server = try fixture.greet()
        _ = fixture.link.perform(.openLease)
        _ = try server.next()
        try server.send(.leased(LeaseID(5), sent: BootInstant(nanoseconds: 1)))
        _ = try fixture.reports.next()
        fixture.link.close(endingLeases: true, timeout: .milliseconds(100))
        #expect(try server.next() == .endLease(LeaseID(5)))
        try server.waitForEnd()
    }

    @Test func aLinkThatIsNoLongerUsedEnds() throws {
        let server = try FakeServer()
        try server.listen()
        var link: FleetLink? = try FleetLink(
            FleetLink.Configuration(
                path: server.path, fleet: "prod", lease: .seconds(10)))
        try link?.begin { _ in }
        let connection = try server.greet()
        link = nil
        try connection.waitForEnd()
    }
}

/// A thread for a call that waits.
enum Thread {
    static func detached(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "test").async(execute: body)
    }
}
