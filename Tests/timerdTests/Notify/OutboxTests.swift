// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore
@testable import timerd

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
        var office = PostOffice([Self.mail()])
        for _ in 0..<500 {
            office.add(to: "ops")
            office.pass(.milliseconds(10))
        }
        #expect(office.messages.isEmpty)
        office.pass(.seconds(25))
        #expect(office.sent.map(\.count) == [500])
        office.add(to: "ops")
        office.pass(.seconds(29))
        #expect(office.sent.count == 1)
        office.pass(.seconds(1))
        #expect(office.sent.count == 2)
    }

    @Test func manyAreFewMessages() {
        var office = PostOffice([Self.mail()])
        office.add(1200, to: "ops")
        office.pass(.seconds(30))
        #expect(office.sent.map(\.count) == [500, 500, 200])
    }

    @Test func beyondTheLimitOfAnHourNotificationsWaitAndAreSentTogether() {
        var office = PostOffice([
            Self.mail(batch: .zero, perHour: 3), Self.mail("other", batch: .zero),
        ])
        for _ in 0..<10 {
            office.add(to: "ops")
            office.add(to: "other")
            office.pass(.seconds(60))
        }
        #expect(office.sent.count { $0.notifier.description == "other" } == 10)
        let counts = office.sent.filter { $0.notifier.description == "ops" }.map(\.count)
        #expect(counts == [1, 1, 1])
        // The limit is kept across a restart.
        office.restart()
        office.pass(.seconds(3000 - 1))
        #expect(office.sent.count == 13)
        office.pass(.seconds(1))
        #expect(office.sent.last?.count == 7 && office.sent.count == 14)
    }

    /// Mails of output are separate, as long as the limit allows it.
    @Test func eachOutputIsAMailOfItsOwn() {
        var office = PostOffice([Self.mail(perHour: 5)])
        office.add(3, .output, to: "ops")
        #expect(office.sent.map(\.count) == [1, 1, 1])
        office.add(2, .failure, to: "ops")
        office.add(1, .output, to: "ops")
        office.pass(.seconds(30))
        #expect(office.sent.map(\.count) == [1, 1, 1, 2, 1])
        office.add(4, .output, to: "ops")
        office.pass(.seconds(4000))
        #expect(office.sent.reduce(0) { $0 + $1.count } == 10)
        #expect(office.rows.values.allSatisfy { $0.message != nil })
    }

    @Test func pingsAreSentOneByOneInTheirOrder_withoutALimit() {
        var office = PostOffice([Self.ping()])
        office.answersAtOnce = nil
        office.add(50, .start, to: "hc")
        // Only a few are created before they can be sent.
        #expect(office.messages.count == Outbox.pingsAhead)
        #expect(office.requested.map(\.message) == [1])
        #expect(office.outbox.waiting[Self.ping().name] == 50)
        office.end(1, MessageResult(.failed("x")))
        // Later ones wait for it.
        office.pass(.seconds(9))
        #expect(office.requested.count == 1)
        office.pass(.seconds(1))
        #expect(office.requested.map(\.message) == [1, 1])
        office.answersAtOnce = MessageResult(.sent)
        office.end(1, MessageResult(.sent))
        #expect(office.requested.dropFirst(2).map(\.message) == Array(2...50))
        #expect(office.outbox.waiting[Self.ping().name] ?? 0 == 0)
    }

    @Test func pingsThatWaitedForOthersAreTriedForADayFromWhenTheyHappened() {
        var office = PostOffice([Self.ping()])
        office.answersAtOnce = MessageResult(.failed("no answer"))
        office.add(50, .start, to: "hc")
        office.pass(.seconds(86_400 + 2 * 600 + 50 * 600))
        #expect(office.messages.count == 50)
        #expect(office.messages.values.allSatisfy { $0.state == .dead })
        #expect(office.outbox.waiting[Self.ping().name] ?? 0 == 0)
        #expect(office.outbox.nextWake(at: office.now.awake) == nil)
    }

    @Test func attemptsComeAfterTenSecondsDoubledUpToTenMinutes_forADay() {
        var office = PostOffice([Self.mail(batch: .zero)])
        office.answersAtOnce = MessageResult(.failed("no answer"))
        let begin = office.awake
        office.add(to: "ops")
        office.pass(.seconds(2 * 86_400))
        let times = office.requested.map { ($0.at - begin) / 1_000_000_000 }
        #expect(Array(times.prefix(8)) == [0, 10, 30, 70, 150, 310, 630, 1230])
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 <= 600 })
        #expect(times.last! >= 86_400 && times.last! < 86_400 + 600)
        #expect(office.messages[1]?.state == .dead && office.messages[1]?.error == "no answer")
        #expect(office.messages[1]?.attempts == times.count)
        // A user may request it again, which is a day of attempts again.
        office.answersAtOnce = MessageResult(.sent)
        let dead = office.messages[1]!
        office.messages[1]?.state = .waiting
        office.handle(.retry(dead))
        #expect(office.messages[1]?.state == .sent)
    }

    @Test func aRefusedMessageIsDeadAtOnce_andTheNextIsSent() {
        var office = PostOffice([Self.mail(batch: .zero)])
        office.answersAtOnce = MessageResult(.refused("HTTP status 404"))
        office.add(to: "ops")
        #expect(office.messages[1]?.state == .dead, "\(office.messages)")
        #expect(office.requested.count == 1)
        office.answersAtOnce = MessageResult(.sent)
        office.add(to: "ops")
        #expect(office.messages[2]?.state == .sent)
    }

    @Test func whenAReceiverIsBackAllItsMessagesAreSent() {
        var office = PostOffice([Self.mail(batch: .zero)])
        office.answersAtOnce = MessageResult(.failed("away"))
        for _ in 0..<15 {
            office.add(to: "ops")
            office.pass(.seconds(60))
        }
        #expect(office.sent.isEmpty)
        office.answersAtOnce = MessageResult(.sent)
        office.pass(Outbox.retryMax)
        #expect(office.sent.count == 15)
    }

    @Test func aReceiverThatHangsDelaysNoOther() {
        let names = ["a", "b", "c", "d", "e"]
        var office = PostOffice(names.map { Self.mail($0, batch: .zero) })
        office.answersAtOnce = nil
        for name in names { for _ in 0..<3 { office.add(to: name) } }
        #expect(office.sending.count == Outbox.activeMax)
        // The one without a place gets the next one, before a second message of another.
        office.end(1, MessageResult(.sent))
        #expect(office.requested.last?.message == 13)
    }

    @Test func theSameAttemptIsRequestedAfterAKill_andItsResultCounts() {
        var office = PostOffice([Self.mail(batch: .zero)])
        office.answersAtOnce = nil
        office.add(to: "ops")
        // The receiver got it, and the daemon was killed before it knew.
        office.results[[1, 1]] = MessageResult(.sent)
        office.restart()
        #expect(office.requested.map(\.attempt) == [1, 1] && office.messages[1]?.state == .sent)
        office.add(to: "ops")
        office.restart()
        #expect(office.requested.map(\.message) == [1, 1, 2, 2])
        office.end(2, MessageResult(.failed("x")))
        office.restart()
        office.pass(.seconds(10))
        #expect(office.requested.last?.attempt == 2)
    }

    /// It may be missing because of an error in a file.
    @Test func messagesOfARemovedNotifierWaitForItADay_andThoseOfTheOthersAreSent() {
        var office = PostOffice([Self.mail(batch: .zero), Self.mail("other")])
        office.answersAtOnce = nil
        for _ in 0..<3 { office.add(to: "ops") }
        office.add(to: "other")
        office.handle(.reload([Self.mail("other", batch: .zero)]))
        #expect(office.messages[2]?.state == .waiting && office.messages[3]?.state == .waiting)
        #expect(office.messages[3]?.error == "the notifier ops is not in the configuration")
        // The first is being sent, and its result counts.
        office.end(1, MessageResult(.sent))
        #expect(office.messages[1]?.state == .sent)
        #expect(office.requested.last?.message == 4)
        office.end(4, MessageResult(.sent))
        office.add(to: "ops")
        office.notifiers = [Self.mail("other", batch: .zero)]
        office.restart()
        office.pass(.seconds(3600))
        office.answersAtOnce = MessageResult(.sent)
        #expect(office.messages[5]?.state == .waiting && office.requested.count == 2)
        office.handle(.reload([Self.mail(batch: .zero), Self.mail("other")]))
        #expect(office.sent.map(\.id) == [1, 2, 3, 4, 5])
        office.handle(.reload([]))
        office.add(2, to: "ops")
        office.pass(.seconds(86_399))
        #expect(office.messages[6]?.state == .waiting)
        office.pass(.seconds(2))
        #expect(office.messages[6]?.state == .dead && office.messages[6]?.attempts == 0)
        // If a user requests it, it waits another day.
        office.messages[6]?.state = .waiting
        office.handle(.retry(office.messages[6]!))
        #expect(office.messages[6]?.state == .waiting)
        office.handle(.reload([Self.mail(batch: .zero)]))
        #expect(office.messages[6]?.state == .sent)
    }

    @Test func aBatchDoesNotBeginAnewAtARestart() {
        var office = PostOffice([Self.mail(batch: .seconds(3600))])
        office.add(to: "ops")
        for _ in 0..<5 {
            office.pass(.seconds(600))
            office.restart()
        }
        office.add(to: "ops")
        #expect(office.messages.isEmpty)
        office.pass(.seconds(600))
        #expect(office.sent.map(\.count) == [2])
    }

    /// With one message an hour, it contains everything.
    @Test func theLastMessageOfAnHourHasAllThatWaits() {
        var office = PostOffice([Self.mail(batch: .zero, perHour: 1)])
        office.add(to: "ops")
        office.pass(.seconds(1))
        office.add(3000, to: "ops")
        office.pass(.seconds(3600))
        office.add(3000, .output, to: "ops")
        office.pass(.seconds(3600))
        #expect(office.sent.map(\.count) == [1, 3000, 3000])
    }

    @Test func aClockThatWasSetDelaysNothing() {
        var office = PostOffice([Self.mail(batch: .zero, perHour: 2)])
        office.answersAtOnce = MessageResult(.failed("x"))
        office.add(to: "ops")
        office.wall -= 365 * 86_400_000_000
        office.restart()
        office.answersAtOnce = MessageResult(.sent)
        office.pass(Outbox.retryMax)
        #expect(office.messages[1]?.state == .sent)
        office.wall += 2 * 365 * 86_400_000_000
        office.add(2, to: "ops")
        office.restart()
        office.pass(.seconds(1))
        #expect(office.rows.values.allSatisfy { $0.message != nil })
    }

    /// Whatever happens, each notification is in one message, each message is sent or given up for
    /// a reason, and no attempt is made twice unless the daemon was killed.
    @Test func nothingIsLostWhateverHappens() {
        var random = SeededRandom()
        for _ in 0..<60 {
            let perHour = 1 + random.int(below: 5)
            var office = PostOffice([
                Self.mail(perHour: perHour), Self.mail("web", batch: .zero, perHour: 50),
                Self.ping(),
            ])
            office.answersAtOnce = nil
            var kills = 0
            for _ in 0..<200 {
                switch random.int(below: 10) {
                case 0...3:
                    let name = ["ops", "web", "hc"][random.int(below: 3)]
                    let kind: NotificationKind = random.int(below: 4) == 0 ? .output : .failure
                    office.add(1 + random.int(below: 3), name == "hc" ? .start : kind, to: name)
                case 4...6:
                    guard let id = office.sending.keys.sorted().first else { continue }
                    let results: [MessageResult] = [
                        .init(.sent), .init(.failed("x")), .init(.sent), .init(.refused("y")),
                    ]
                    office.end(id, results[random.int(below: 4)])
                case 7, 8: office.pass(.seconds(random.int(below: 900)))
                default:
                    kills += 1
                    office.restart()
                }
            }
            office.answersAtOnce = MessageResult(.sent)
            for id in office.sending.keys.sorted() { office.end(id, MessageResult(.sent)) }
            office.pass(.seconds(7200))
            #expect(office.rows.values.allSatisfy { $0.message != nil })
            #expect(!office.messages.values.contains { $0.state == .waiting })
            var attempts: [[Int64]: Int] = [:]
            for one in office.requested {
                attempts[[one.message, Int64(one.attempt)], default: 0] += 1
            }
            #expect(attempts.values.reduce(0) { $0 + $1 - 1 } <= kills * Outbox.activeMax)
            let created = office.messages.values.filter { $0.notifier.description == "ops" }
                .map(\.created).sorted()
            for (first, last) in zip(created, created.dropFirst(perHour)) {
                // Messages that are created at one instant get different ones, a microsecond apart.
                #expect(last - first >= Outbox.hour - .milliseconds(1))
            }
        }
    }
}
