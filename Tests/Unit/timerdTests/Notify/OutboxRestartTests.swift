// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore
@testable import TimerDaemon

/// What happens in the outbox when the daemon is restarted, the configuration is changed, or the
/// clock is set.
@Suite struct OutboxRestartTests {
    @Test func theSameAttemptIsRequestedAfterAKill_andItsResultCounts() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .zero)])
        fixture.answersAtOnce = nil
        fixture.add(to: "ops")
        // The receiver got it, and the daemon was killed before it knew.
        fixture.results[[1, 1]] = MessageResult(.sent)
        fixture.restart()
        #expect(fixture.requested.map(\.attempt) == [1, 1] && fixture.messages[1]?.state == .sent)
        fixture.add(to: "ops")
        fixture.restart()
        #expect(fixture.requested.map(\.message) == [1, 1, 2, 2])
        fixture.end(2, MessageResult(.failed("x")))
        fixture.restart()
        fixture.pass(.seconds(10))
        #expect(fixture.requested.last?.attempt == 2)
    }

    /// It may be missing because of an error in a file.
    @Test func messagesOfARemovedNotifierWaitForItADay_andThoseOfTheOthersAreSent() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .zero), OutboxTests.mail("other")])
        fixture.answersAtOnce = nil
        for _ in 0..<3 { fixture.add(to: "ops") }
        fixture.add(to: "other")
        fixture.handle(.reload([OutboxTests.mail("other", batch: .zero)]))
        #expect(fixture.messages[2]?.state == .waiting && fixture.messages[3]?.state == .waiting)
        #expect(fixture.messages[3]?.error == "the notifier ops is not in the configuration")
        // The first is being sent, and its result counts.
        fixture.end(1, MessageResult(.sent))
        #expect(fixture.messages[1]?.state == .sent)
        #expect(fixture.requested.last?.message == 4)
        fixture.end(4, MessageResult(.sent))
        fixture.add(to: "ops")
        fixture.notifiers = [OutboxTests.mail("other", batch: .zero)]
        fixture.restart()
        fixture.pass(.seconds(3600))
        fixture.answersAtOnce = MessageResult(.sent)
        #expect(fixture.messages[5]?.state == .waiting && fixture.requested.count == 2)
        fixture.handle(.reload([OutboxTests.mail(batch: .zero), OutboxTests.mail("other")]))
        #expect(fixture.sent.map(\.id) == [1, 2, 3, 4, 5])
        fixture.handle(.reload([]))
        fixture.add(2, to: "ops")
        fixture.pass(.seconds(86_399))
        #expect(fixture.messages[6]?.state == .waiting)
        fixture.pass(.seconds(2))
        #expect(fixture.messages[6]?.state == .dead && fixture.messages[6]?.attempts == 0)
        // If a user requests it, it waits another day.
        fixture.messages[6]?.state = .waiting
        fixture.handle(.retry(fixture.messages[6]!))
        #expect(fixture.messages[6]?.state == .waiting)
        fixture.handle(.reload([OutboxTests.mail(batch: .zero)]))
        #expect(fixture.messages[6]?.state == .sent)
    }

    @Test func aBatchContinuesAfterARestart() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .seconds(3600))])
        fixture.add(to: "ops")
        for _ in 0..<5 {
            fixture.pass(.seconds(600))
            fixture.restart()
        }
        fixture.add(to: "ops")
        #expect(fixture.messages.isEmpty)
        fixture.pass(.seconds(600))
        #expect(fixture.sent.map(\.count) == [2])
    }

    @Test func aClockThatWasSetDelaysNothing() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .zero, perHour: 2)])
        fixture.answersAtOnce = MessageResult(.failed("x"))
        fixture.add(to: "ops")
        fixture.wall -= 365 * 86_400_000_000
        fixture.restart()
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.pass(Outbox.retryMax)
        #expect(fixture.messages[1]?.state == .sent)
        fixture.wall += 2 * 365 * 86_400_000_000
        fixture.add(2, to: "ops")
        fixture.restart()
        fixture.pass(.seconds(1))
        #expect(fixture.rows.values.allSatisfy { $0.message != nil })
    }

    /// Whatever happens, each notification is in one message, each message is sent or given up for
    /// a reason, and no attempt is made twice unless the daemon was killed.
    @Test func nothingIsLostWhateverHappens() {
        var random = SeededRandom()
        for _ in 0..<60 {
            let perHour = 1 + random.int(below: 5)
            var fixture = OutboxFixture([
                OutboxTests.mail(perHour: perHour),
                OutboxTests.mail("web", batch: .zero, perHour: 50),
                OutboxTests.ping(),
            ])
            fixture.answersAtOnce = nil
            var kills = 0
            for _ in 0..<200 {
                switch random.int(below: 10) {
                case 0...3:
                    let name = ["ops", "web", "hc"][random.int(below: 3)]
                    let kind: NotificationKind = random.int(below: 4) == 0 ? .output : .failure
                    fixture.add(1 + random.int(below: 3), name == "hc" ? .start : kind, to: name)
                case 4...6:
                    guard let id = fixture.sending.keys.sorted().first else { continue }
                    let results: [MessageResult] = [
                        .init(.sent), .init(.failed("x")), .init(.sent), .init(.refused("y")),
                    ]
                    fixture.end(id, results[random.int(below: 4)])
                case 7, 8: fixture.pass(.seconds(random.int(below: 900)))
                default:
                    kills += 1
                    fixture.restart()
                }
            }
            fixture.answersAtOnce = MessageResult(.sent)
            for id in fixture.sending.keys.sorted() { fixture.end(id, MessageResult(.sent)) }
            fixture.pass(.seconds(7200))
            #expect(fixture.rows.values.allSatisfy { $0.message != nil })
            #expect(!fixture.messages.values.contains { $0.state == .waiting })
            var attempts: [[Int64]: Int] = [:]
            for one in fixture.requested {
                attempts[[one.message, Int64(one.attempt)], default: 0] += 1
            }
            #expect(attempts.values.reduce(0) { $0 + $1 - 1 } <= kills * Outbox.activeMax)
            let created = fixture.messages.values.filter { $0.notifier.description == "ops" }
                .map(\.created).sorted()
            for (first, last) in zip(created, created.dropFirst(perHour)) {
                // Messages that are created at one instant get different ones, a microsecond apart.
                #expect(last - first >= Outbox.hour - .milliseconds(1))
            }
        }
    }
}
