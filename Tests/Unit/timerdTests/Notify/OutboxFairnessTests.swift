// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Foundation
import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore

/// As many receivers as a configuration can have, of which most hang: each attempt takes all the
/// time that it may take. The others must get what is for them in time.
@Suite struct OutboxFairnessTests {
    /// The receivers of one simulation, by their names.
    private struct Receivers {
        let hung: [String]
        /// One hangs until it is back, one refuses at once until then.
        let away = ["away", "gone"]
        let well = ["well", "fine"]
        let back: Int64

        var all: [String] { hung + away + well }

        func attempt(of name: String, at instant: Int64) -> (Duration, MessageResult) {
            if well.contains(name) || (away.contains(name) && instant >= back) {
                return (.milliseconds(50), MessageResult(.sent))
            }
            return name == "gone"
                ? (.milliseconds(50), MessageResult(.failed("connection refused")))
                : (.seconds(100_000), MessageResult(.failed("unreachable")))
        }
    }

    private static let second: Int64 = 1_000_000_000

    private func simulation(of receivers: Receivers) -> ReceiverSimulation {
        ReceiverSimulation(
            receivers.all.map { OutboxTests.mail($0, batch: .zero, perHour: 10_000) }
        ) { message, begin in
            receivers.attempt(of: message.notifier.description, at: begin)
        }
    }

    /// How many seconds each message to one of these receivers waited, from its creation, or from
    /// the return of its receiver, until it was sent.
    private func waits(
        for names: [String], in fixture: ReceiverSimulation, back: Int64 = .min
    ) -> [Double] {
        let offset = fixture.fixture.wall - fixture.fixture.awake / 1000
        return fixture.fixture.messages.values
            .filter { names.contains($0.notifier.description) }
            .map { message in
                let created = (message.created.microsecondsSinceEpoch - offset) * 1000
                guard let sent = fixture.sentAt[message.id] else { return .infinity }
                return Double(sent - max(created, back)) / Double(Self.second)
            }
    }

    /// Each takes seconds. TIMERD_TEST_CASES sets another number.
    private static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) } ?? 3

    /// Whatever the number of receivers that hang, and also if the daemon is killed.
    @Test(arguments: [4, 12, 25, 30, 60, 96])
    func receiversThatHangDelayNoOtherByMoreThanTenMinutes(hung: Int) {
        var random = SeededRandom()
        var (longest, longestOfAway) = (0.0, 0.0)
        for _ in 0..<Self.rounds {
            let absence = Int64(600 + random.int(below: 7200))
            let receivers = Receivers(
                hung: (0..<hung).map { "hung\($0)" },
                back: 1_000_000_000_000 + absence * Self.second)
            var fixture = simulation(of: receivers)
            let end = receivers.back + 2000 * Self.second
            var hasReturned = false
            while fixture.fixture.awake < end {
                for name in receivers.hung where random.int(below: 8) == 0 {
                    fixture.fixture.add(1 + random.int(below: 3), .output, to: name)
                }
                for name in receivers.away where fixture.fixture.awake < receivers.back {
                    fixture.fixture.add(1 + random.int(below: 3), .output, to: name)
                }
                for name in receivers.well { fixture.fixture.add(1, .output, to: name) }
                if random.int(below: 40) == 0 { fixture.fixture.restart() }
                let step = Int64(20 + random.int(below: 100)) * Self.second
                let isReturn = !hasReturned && fixture.fixture.awake + step >= receivers.back
                let next = isReturn ? receivers.back : fixture.fixture.awake + step
                hasReturned = hasReturned || isReturn
                fixture.pass(.nanoseconds(next - fixture.fixture.awake))
            }
            fixture.pass(.seconds(600))
            longest = max(longest, waits(for: receivers.well, in: fixture).max() ?? .infinity)
            longestOfAway = max(
                longestOfAway,
                waits(for: receivers.away, in: fixture, back: receivers.back).max() ?? .infinity)
        }
        // The messages of a receiver take 50 ms, one after the other.
        #expect(longest <= 600 && longestOfAway <= 610)
        print("\(hung) hang: \(longest) s to one that is well, \(longestOfAway) s after a return")
    }
}
