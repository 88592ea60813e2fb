// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerDaemon

/// Which timers are set when, with timers that only write down what they are told.
@Suite struct JobTimersTests {
    // This is safe because each test is one thread.
    private final class Log: @unchecked Sendable {
        var lines: [String] = []
        func take() -> [String] {
            defer { lines = [] }
            return lines
        }
    }

    private struct WrittenTimer: OneShotTimer {
        let name: String
        let log: Log

        func arm(at instant: AwakeInstant) {
            log.lines.append("\(name) at \(instant.nanoseconds / 1_000_000) ms")
        }
        func arm(at instant: WallInstant) {
            log.lines.append("\(name) at wall \(instant.microsecondsSinceEpoch / 1000) ms")
        }
        func cancel() { log.lines.append("\(name) cancelled") }
    }

    private let log = Log()
    private let now = Now(
        wall: WallInstant(microsecondsSinceEpoch: 1_000_000),
        awake: AwakeInstant(nanoseconds: 500_000_000), boot: BootInstant(nanoseconds: 0),
        bootID: BootID("0123456789abcdef0123456789abcdef")!)

    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func awake(_ milliseconds: Int64) -> AwakeInstant {
        AwakeInstant(nanoseconds: milliseconds * 1_000_000)
    }

    private func timers() -> JobTimers<WrittenTimer> {
        JobTimers { [log] job in WrittenTimer(name: job.description, log: log) }
    }

    @Test func aTimerFiresALeadEarlier_ifThatIsAhead() {
        var timers = timers()
        let wall = WallInstant(microsecondsSinceEpoch: 2_000_000)
        timers.set(
            ["a", "b", "c"].map(name),
            for: [(.awake(awake(600)), nil), (.awake(awake(510)), nil), (.wall(wall), nil)],
            at: now
        ) { _ in .milliseconds(10) }
        #expect(log.take() == ["a at 590 ms", "b at 510 ms", "c at wall 1990 ms"])
    }

    @Test func aTimerIsMadeOnce_andCancelledWithoutAnInstant() {
        var timers = timers()
        let job = [name("a")]
        timers.set(job, for: [(.awake(awake(600)), awake(550))], at: now) { _ in .zero }
        #expect(log.take() == ["a at 600 ms", "a at 550 ms"] && timers.count == 1)
        timers.set(job, for: [(nil, awake(560))], at: now) { _ in .zero }
        #expect(log.take() == ["a cancelled", "a at 560 ms"] && timers.count == 0)
        timers.set(job, for: [(nil, nil)], at: now) { _ in .zero }
        timers.set(job, for: [(nil, nil)], at: now) { _ in .zero }
        #expect(log.take() == ["a cancelled"])
    }

    @Test func thereIsOneTimerForIncidents() {
        var timers = timers()
        let incidents = WrittenTimer(name: "incidents", log: log)
        var made = 0
        for second in [nil, 1, 2, nil, nil, 3] as [Int64?] {
            let instant = second.map { WallInstant(secondsSinceEpoch: $0) }
            timers.setIncidentTimer(for: instant) {
                made += 1
                return incidents
            }
        }
        #expect(
            log.take() == [
                "incidents at wall 1000 ms", "incidents at wall 2000 ms", "incidents cancelled",
                "incidents at wall 3000 ms",
            ])
        #expect(made == 2)
    }

    @Test func aDecisionSetsSomeTimersNow_andPostponesTheOthers() {
        var timers = timers()
        var room = 2
        let requests = ["a", "b", "c", "d"].map { timers.request(name($0), room: &room) }
        #expect(
            requests == [
                .setNow, .setNow, .setLater(isFirst: true), .setLater(isFirst: false),
            ])
        #expect(timers.areUnset)
        #expect(timers.takePortion().map(\.description) == ["c", "d"])
        #expect(!timers.areUnset && timers.takePortion().isEmpty)
    }

    @Test func theFiringsOfAWakeUpLeaveTheirTimersToItsEnd() {
        var timers = timers()
        var room = 2
        timers.beginWakeUp()
        #expect(timers.request(name("a"), room: &room) == .setWithWakeUp)
        #expect(timers.request(name("b"), room: &room) == .setWithWakeUp)
        #expect(timers.request(name("c"), room: &room) == .setLater(isFirst: true))
        #expect(timers.endWakeUp().map(\.description) == ["a", "b"])
        room = 1
        #expect(timers.request(name("d"), room: &room) == .setNow)
        #expect(timers.endWakeUp().isEmpty)
    }

    @Test func manyTimersAreTakenInPortions_inTheirOrder() {
        var timers = timers()
        let size = JobTimers<WrittenTimer>.perPortion
        let names = (0..<2 * size + 1).map { name("j\($0)") }
        var room = 0
        for name in names { _ = timers.request(name, room: &room) }
        var taken: [Int] = []
        var all: [Job.Name] = []
        while timers.areUnset {
            let portion = timers.takePortion()
            taken.append(portion.count)
            all += portion
        }
        #expect(taken == [size, size, 1] && all == names)
    }
}
