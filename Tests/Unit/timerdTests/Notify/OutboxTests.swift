// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore
@testable import TimerDaemon

@Suite struct OutboxTests {
    static func mail(
        _ name: String = "ops", batch: Duration = .seconds(30), perHour: Int = 20
    ) -> Notifier {
        Notifier(
            name: Notifier.Name(name)!,
            transport: .mail(to: ["root"], from: nil, contentType: nil), batch: batch,
            perHour: perHour)
    }

    static func ping(_ name: String = "hc") -> Notifier {
        Notifier(
            name: Notifier.Name(name)!,
            transport: .ping(.url("https://example.org/x"), .healthchecks))
    }

    @Test func whatComesWithinTheBatchIsOneMessage() {
        var fixture = OutboxFixture([Self.mail()])
        for _ in 0..<500 {
            fixture.add(to: "ops")
            fixture.pass(.milliseconds(10))
        }
        #expect(fixture.messages.isEmpty)
        fixture.pass(.seconds(25))
        #expect(fixture.sent.map(\.count) == [500])
        fixture.add(to: "ops")
        fixture.pass(.seconds(29))
        #expect(fixture.sent.count == 1)
        fixture.pass(.seconds(1))
        #expect(fixture.sent.count == 2)
    }

    @Test func manyAreFewMessages() {
        var fixture = OutboxFixture([Self.mail()])
        fixture.add(1200, to: "ops")
        fixture.pass(.seconds(30))
        #expect(fixture.sent.map(\.count) == [500, 500, 200])
    }

    @Test func beyondTheLimitOfAnHourNotificationsWaitAndAreSentTogether() {
        var fixture = OutboxFixture([
            Self.mail(batch: .zero, perHour: 3), Self.mail("other", batch: .zero, perHour: 100),
        ])
        for _ in 0..<10 {
            fixture.add(to: "ops")
            fixture.add(to: "other")
            fixture.pass(.seconds(60))
        }
        #expect(fixture.sent.count { $0.notifier.description == "other" } == 10)
        let counts = fixture.sent.filter { $0.notifier.description == "ops" }.map(\.count)
        // The other two are for incidents, or for half an hour later.
        #expect(counts == [1])
        // The limit is kept across a restart.
        fixture.restart()
        fixture.pass(.seconds(1200 - 1))
        #expect(fixture.sent.count == 11)
        fixture.pass(.seconds(1))
        #expect(fixture.sent.last?.count == 9 && fixture.sent.count == 12)
    }

    /// Mails of output are separate, as long as the limit allows it.
    @Test func eachOutputIsAMailOfItsOwn() {
        var fixture = OutboxFixture([Self.mail(perHour: 20)])
        fixture.add(3, .output, to: "ops")
        #expect(fixture.sent.map(\.count) == [1, 1, 1])
        fixture.add(2, .failure, to: "ops")
        fixture.add(1, .output, to: "ops")
        fixture.pass(.seconds(30))
        #expect(fixture.sent.map(\.count) == [1, 1, 1, 2, 1])
        fixture.add(4, .output, to: "ops")
        fixture.pass(.seconds(4000))
        #expect(fixture.sent.reduce(0) { $0 + $1.count } == 10)
        #expect(fixture.rows.values.allSatisfy { $0.message != nil })
    }

    @Test func pingsAreSentOneByOneInTheirOrder_withoutALimit() {
        var fixture = OutboxFixture([Self.ping()])
        fixture.answersAtOnce = nil
        fixture.add(50, .start, to: "hc")
        // Only a few are created before they can be sent.
        #expect(fixture.messages.count == Outbox.pingsAhead)
        #expect(fixture.requested.map(\.message) == [1])
        #expect(fixture.outbox.waiting[Self.ping().name] == 50)
        fixture.end(1, MessageResult(.failed("x")))
        // Later ones wait for it.
        fixture.pass(.seconds(9))
        #expect(fixture.requested.count == 1)
        fixture.pass(.seconds(1))
        #expect(fixture.requested.map(\.message) == [1, 1])
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.end(1, MessageResult(.sent))
        #expect(fixture.requested.dropFirst(2).map(\.message) == Array(2...50))
        #expect(fixture.outbox.waiting[Self.ping().name] ?? 0 == 0)
    }

    @Test func pingsThatWaitedForOthersAreTriedForADayFromWhenTheyHappened() {
        var fixture = OutboxFixture([Self.ping()])
        fixture.answersAtOnce = MessageResult(.failed("no answer"))
        fixture.add(50, .start, to: "hc")
        fixture.pass(.seconds(86_400 + 2 * 600 + 50 * 600))
        #expect(fixture.messages.count == 50)
        #expect(fixture.messages.values.allSatisfy { $0.state == .dead })
        #expect(fixture.outbox.waiting[Self.ping().name] ?? 0 == 0)
        #expect(fixture.outbox.nextWake(at: fixture.now.awake) == nil)
    }

    @Test func attemptsComeAfterTenSecondsDoubledUpToTenMinutes_forADay() {
        var fixture = OutboxFixture([Self.mail(batch: .zero)])
        fixture.answersAtOnce = MessageResult(.failed("no answer"))
        let begin = fixture.awake
        fixture.add(to: "ops")
        fixture.pass(.seconds(2 * 86_400))
        let times = fixture.requested.map { ($0.at - begin) / 1_000_000_000 }
        #expect(Array(times.prefix(8)) == [0, 10, 30, 70, 150, 310, 630, 1230])
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 <= 600 })
        #expect(times.last! >= 86_400 && times.last! < 86_400 + 600)
        #expect(fixture.messages[1]?.state == .dead && fixture.messages[1]?.error == "no answer")
        #expect(fixture.messages[1]?.attempts == times.count)
        // A user may request it again, which is a day of attempts again.
        fixture.answersAtOnce = MessageResult(.sent)
        let dead = fixture.messages[1]!
        fixture.messages[1]?.state = .waiting
        fixture.handle(.retry(dead))
        #expect(fixture.messages[1]?.state == .sent)
    }

    @Test func aRefusedMessageIsDeadAtOnce_andTheNextIsSent() {
        var fixture = OutboxFixture([Self.mail(batch: .zero)])
        fixture.answersAtOnce = MessageResult(.refused("HTTP status 404"))
        fixture.add(to: "ops")
        #expect(fixture.messages[1]?.state == .dead, "\(fixture.messages)")
        #expect(fixture.requested.count == 1)
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.add(to: "ops")
        #expect(fixture.messages[2]?.state == .sent)
    }

    @Test func whenAReceiverIsBackAllItsMessagesAreSent() {
        var fixture = OutboxFixture([Self.mail(batch: .zero, perHour: 60)])
        fixture.answersAtOnce = MessageResult(.failed("away"))
        for _ in 0..<15 {
            fixture.add(to: "ops")
            fixture.pass(.seconds(60))
        }
        #expect(fixture.sent.isEmpty)
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.pass(Outbox.retryMax)
        #expect(fixture.sent.count == 15)
    }

    @Test func aReceiverThatHangsDelaysNoOther() {
        let names = ["a", "b", "c", "d", "e"]
        var fixture = OutboxFixture(names.map { Self.mail($0, batch: .zero) })
        fixture.answersAtOnce = nil
        for name in names { for _ in 0..<3 { fixture.add(to: name) } }
        #expect(fixture.sending.count == Outbox.activeMax)
        // The one without a place gets the next one, before a second message of another.
        fixture.end(1, MessageResult(.sent))
        #expect(fixture.requested.last?.message == 13)
    }

    /// With one message an hour, it contains everything.
    @Test func theLastMessageOfAnHourHasAllThatWaits() {
        var fixture = OutboxFixture([Self.mail(batch: .zero, perHour: 1)])
        fixture.add(to: "ops")
        fixture.pass(.seconds(1))
        fixture.add(3000, to: "ops")
        fixture.pass(.seconds(3600))
        fixture.add(3000, .output, to: "ops")
        fixture.pass(.seconds(3600))
        #expect(fixture.sent.map(\.count) == [1, 3000, 3000])
    }
}
