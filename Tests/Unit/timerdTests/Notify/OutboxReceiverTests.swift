// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore
@testable import TimerDaemon

/// Receivers that are away, that hang, or that refuse one message, in simulated time.
@Suite struct OutboxReceiverTests {
    private static func mail(_ name: String) -> Notifier {
        OutboxTests.mail(name, batch: .zero, perHour: 10_000)
    }

    /// If a receiver is away for any time below a day, all its messages have come ten minutes after
    /// it is back, also if the attempts hang, and if the daemon is killed meanwhile.
    @Test func tenMinutesAfterAReceiverIsBackAllHasCome() {
        var random = SeededRandom()
        var longest = 0.0
        for _ in 0..<120 {
            // From seconds to almost a day.
            var absence: Int64 = 1_000_000_000
            for _ in 0..<(1 + random.int(below: 16)) { absence *= 2 }
            absence += Int64(random.int(below: Int(absence)))
            absence = min(absence, 86_000 * 1_000_000_000)
            let hangs = Duration.seconds([0, 20, 50, 60][random.int(below: 4)])
            let back = 1_000_000_000_000 + 5000 + absence
            let notifiers = [Self.mail("ops"), Self.mail("hook"), OutboxTests.ping()]
            var fixture = ReceiverSimulation(notifiers) { _, begin in
                begin < back
                    ? (hangs, MessageResult(.failed("away")))
                    : (.milliseconds(10), MessageResult(.sent))
            }
            let parts = 1 + random.int(below: 6)
            for part in 0..<parts {
                for name in ["ops", "hook", "hc"] where random.int(below: 3) > 0 {
                    let kind: NotificationKind = name == "hc" ? .success : .output
                    fixture.fixture.add(1 + random.int(below: 6), kind, to: name)
                }
                if part > 0, random.int(below: 3) == 0 { fixture.fixture.restart() }
                fixture.pass(.nanoseconds((back - fixture.fixture.awake) / Int64(parts - part)))
            }
            #expect(fixture.sentAt.isEmpty)
            fixture.pass(.seconds(620))
            let messages = fixture.fixture.messages
            #expect(messages.values.allSatisfy { $0.state == .sent })
            for id in messages.keys {
                longest = max(longest, Double((fixture.sentAt[id] ?? .max) - back) / 1e9)
            }
        }
        // Each message takes 10 ms.
        #expect(longest <= 601)
        print("after at most \(longest) s all messages had come")
    }

    @Test func notifiersWhoseReceiversHangDelayNoOther() {
        let names = (0..<9).map { "hung\($0)" }
        var fixture = ReceiverSimulation((names + ["well"]).map { Self.mail($0) }) { message, _ in
            message.notifier.description == "well"
                ? (.milliseconds(10), MessageResult(.sent))
                : (.seconds(60), MessageResult(.failed("no answer in time")))
        }
        for name in names { fixture.fixture.add(20, .output, to: name) }
        // By then each of them has hung once.
        fixture.pass(.seconds(240))
        for _ in 0..<200 {
            fixture.fixture.add(to: "well")
            fixture.pass(.seconds(7))
        }
        let delays = fixture.fixture.messages.values.filter { $0.notifier.description == "well" }
            .map { message in
                (fixture.sentAt[message.id] ?? .max) / 1000
                    - (message.created.microsecondsSinceEpoch
                        - (fixture.fixture.wall - fixture.fixture.awake / 1000))
            }
        #expect(delays.count == 200 && delays.allSatisfy { $0 <= 11_000 }, "\(delays)")
        // And the others have their turns.
        for name in names {
            #expect(
                fixture.fixture.messages.values.contains {
                    $0.notifier.description == name && $0.attempts > 1
                })
        }
    }

    @Test func aMessageThatTheReceiverCannotProcessDelaysTheOthersLittle() {
        var fixture = ReceiverSimulation([Self.mail("ops")]) { message, _ in
            message.id == 1
                ? (.zero, MessageResult(.failed("HTTP status 500")))
                : (.zero, MessageResult(.sent))
        }
        fixture.fixture.add(50, .output, to: "ops")
        fixture.pass(.seconds(60))
        #expect(fixture.sentAt.count == 49)
        // It is tried less and less often, and not after each of the others.
        fixture.pass(.seconds(86_400))
        for _ in 0..<100 {
            fixture.fixture.add(to: "ops")
            fixture.pass(.seconds(1))
        }
        fixture.pass(.seconds(600))
        #expect(fixture.sentAt.count == 149 && fixture.fixture.messages[1]?.state == .dead)
        #expect((fixture.fixture.messages[1]?.attempts ?? 0) < 160)
    }

    /// While a receiver is away, the attempts are as few for ten thousand messages as for one.
    @Test func thousandsOfMessagesWaitWithFewAttempts() {
        let back: Int64 = 1_000_000_000_000 + 3600 * 1_000_000_000
        var fixture = ReceiverSimulation([Self.mail("ops"), OutboxTests.ping()]) { _, begin in
            begin < back
                ? (.seconds(1), MessageResult(.failed("away")))
                : (.milliseconds(1), MessageResult(.sent))
        }
        for (name, kind) in [("ops", NotificationKind.output), ("hc", .success)] {
            for _ in 0..<300 {
                let row = Int64(fixture.fixture.rows.count) + 1
                fixture.fixture.rows[row] = (Notifier.Name(name)!, kind, nil)
            }
        }
        fixture.fixture.restart()
        fixture.fixture.restart()
        // Of the pings only a few are messages before they can be sent.
        #expect(fixture.fixture.messages.count == 300 + Outbox.pingsAhead)
        #expect(fixture.fixture.outbox.waiting.values.reduce(0, +) == 600)
        fixture.pass(.seconds(3500))
        // After 0, 10, 30, 70, 150, 310, 630, … 3030 s; the first ones twice.
        #expect(fixture.fixture.requested.count <= 2 * 13, "\(fixture.fixture.requested.count)")
        fixture.pass(.seconds(100 + 601 + 2))
        #expect(fixture.sentAt.count == 600)
    }

    @Test func aNotifierThatIsChangedSendsWhatWaitsAtOnce() {
        var fixture = OutboxFixture([Self.mail("ops"), Self.mail("other")])
        fixture.answersAtOnce = MessageResult(.failed("no such host"))
        fixture.add(3, .output, to: "ops")
        fixture.add(3, .output, to: "other")
        fixture.pass(.seconds(3600))
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.handle(.reload([Self.mail("ops"), OutboxTests.mail("other", batch: .zero)]))
        #expect(fixture.sent.map(\.notifier.description) == ["other", "other", "other"])
    }

    @Test func aRetryOfAUserIsMadeAtOnce() {
        var fixture = OutboxFixture([Self.mail("ops")])
        fixture.answersAtOnce = MessageResult(.failed("away"))
        fixture.add(3, .output, to: "ops")
        fixture.pass(.seconds(3000))
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.handle(.retry(fixture.messages[2]!))
        #expect(fixture.sent.map(\.id) == [1, 2, 3])
    }

    /// A machine may be off for days, and its network comes after the daemon.
    @Test func anHourAfterAStartNoMessageIsGivenUp() {
        var fixture = OutboxFixture([Self.mail("ops")])
        fixture.answersAtOnce = MessageResult(.failed("no such host"))
        fixture.add(3, .output, to: "ops")
        fixture.pass(.seconds(60))
        fixture.wall += 3 * 86_400 * 1_000_000
        fixture.restart()
        fixture.pass(.seconds(3500))
        #expect(fixture.messages.values.allSatisfy { $0.state == .waiting })
        fixture.pass(.seconds(1000))
        // The last attempt of one tells as much about the others.
        #expect(fixture.messages.values.allSatisfy { $0.state == .dead })
        #expect(fixture.messages.values.allSatisfy { $0.error == "no such host" })
    }

    @Test func afterTheClockWasSetBackMessagesHaveTheRightDates() {
        var fixture = OutboxFixture([OutboxTests.mail("ops", batch: .zero, perHour: 8)])
        let year: Int64 = 365 * 86_400_000_000
        for step: Int64 in [year, 7_200_000_000, -7_200_000_000, -year] {
            fixture.wall += step
            for _ in 0..<3 {
                fixture.add(to: "ops")
                let created = fixture.messages.values.max { $0.id < $1.id }?.created
                #expect(abs((created?.microsecondsSinceEpoch ?? 0) - fixture.wall) < 1_000_000)
                fixture.pass(.milliseconds(10))
            }
            fixture.pass(.seconds(3600))
        }
        #expect(fixture.sent.count == 12)
        // What was created in the future does not count for the limit, however often it starts.
        fixture.restart()
        fixture.add(to: "ops")
        #expect(fixture.sent.count == 13)
    }

    /// Two messages of one instant of the wall clock are told apart, even if it comes again.
    @Test func anInstantThatComesAgainIsNotUsedAgain() {
        var fixture = OutboxFixture([Self.mail("ops")])
        fixture.answersAtOnce = nil
        fixture.add(3, .output, to: "ops")
        fixture.wall += 3_600_000_000
        fixture.add(3, .output, to: "ops")
        fixture.wall -= 3_600_000_000
        fixture.add(6, .output, to: "ops")
        #expect(fixture.messages.count == 12)
        #expect(Set(fixture.messages.values.map(\.created)).count == fixture.messages.count)
    }
}
