// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerStore
@testable import TimerDaemon

/// The limit `per-hour`, and receivers that ask for time.
@Suite struct OutboxLimitTests {
    private static let second: Int64 = 1_000_000_000

    private func message(about row: Int64, in fixture: OutboxFixture) -> Store.Message? {
        fixture.rows[row]?.message.flatMap { fixture.messages[$0] }
    }

    /// A job that is skipped each minute does not delay the first failure of another one.
    @Test func aFirstFailureGoesBeforeRepeatsAndSkips() {
        for minutes in [9, 30, 200] {
            var fixture = OutboxFixture([OutboxTests.mail()])
            for _ in 0..<minutes {
                fixture.add(1, .skipped, to: "ops")
                fixture.add(1, .failure, to: "ops")
                fixture.pass(.seconds(60))
            }
            let count = fixture.messages.count
            fixture.add(1, .failure, isUrgent: true, to: "ops")
            let row = Int64(fixture.rows.count)
            fixture.pass(.seconds(30))
            #expect(message(about: row, in: fixture)?.state == .sent, "after \(minutes) min")
            // What was held back came along, so that nothing waits any more.
            #expect(fixture.messages.count <= count + 2)
            #expect(fixture.rows.values.allSatisfy { $0.message != nil })
        }
    }

    /// However many incidents there are, each is told after the time of one token.
    @Test func eachIncidentIsToldAfterTheTimeOfOneToken() {
        var fixture = OutboxFixture([OutboxTests.mail()])
        let tokens = MessageTokens(perHour: 20, at: fixture.now.awake)
        #expect(tokens.most == 10 && tokens.reserve == 2)
        for _ in 0..<180 {
            fixture.add(1, .failure, isUrgent: true, to: "ops")
            fixture.add(1, .skipped, to: "ops")
            fixture.pass(.seconds(60))
        }
        fixture.pass(.seconds(400))
        for (row, value) in fixture.rows where value.kind == .failure {
            let delay =
                fixture.messages[value.message ?? 0].map { $0.created - fixture.times[row]! }
                ?? .seconds(1_000_000)
            #expect(delay <= tokens.interval + .seconds(31))
        }
    }

    @Test(arguments: [1, 2, 3, 5, 20, 500])
    func neverMoreThanTheLimitInAnyHour(perHour: Int) {
        var random = SeededRandom()
        let kinds: [NotificationKind] = [.failure, .output, .skipped]
        for hasRestarts in [false, true] {
            var fixture = OutboxFixture([OutboxTests.mail(batch: .zero, perHour: perHour)])
            for _ in 0..<600 {
                fixture.add(
                    1 + random.int(below: 3), kinds[random.int(below: 3)],
                    isUrgent: random.int(below: 4) == 0, to: "ops")
                fixture.pass(.seconds(Int64(1 + random.int(below: 90))))
                if hasRestarts, random.int(below: 20) == 0 { fixture.restart() }
            }
            fixture.pass(.seconds(4 * 3600))
            #expect(fixture.rows.values.allSatisfy { $0.message != nil })
            let times = fixture.messages.values.map { $0.created.microsecondsSinceEpoch }.sorted()
            for (index, time) in times.enumerated() where index >= perHour {
                // A restart takes 5 µs.
                #expect(time - times[index - perHour] >= 3_600_000_000 - 1000)
            }
        }
    }

    /// After the first ones, messages come evenly and not all after an hour.
    @Test func tokensComeBackEvenly() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .zero)])
        for _ in 0..<720 {
            fixture.add(1, .skipped, to: "ops")
            fixture.pass(.seconds(10))
        }
        let times = fixture.messages.values.map { $0.created.microsecondsSinceEpoch }.sorted()
        let gaps = zip(times, times.dropFirst()).map { ($1 - $0) / 1_000_000 }
        #expect(gaps.prefix(7).allSatisfy { $0 <= 10 })
        #expect(gaps.dropFirst(8).allSatisfy { (320...340).contains($0) }, "\(gaps)")
    }

    @Test func whatIsHeldBackIsKnown_untilItIsSent() throws {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .seconds(30), perHour: 1)])
        let name = OutboxTests.mail().name
        fixture.add(to: "ops")
        #expect(fixture.outbox.held(at: fixture.now).isEmpty, "it is only collected")
        fixture.pass(.seconds(30))
        #expect(fixture.sent.count == 1)
        fixture.add(3, to: "ops")
        fixture.pass(.seconds(29))
        #expect(fixture.outbox.held(at: fixture.now).isEmpty)
        fixture.pass(.seconds(1))
        let held = try #require(fixture.outbox.held(at: fixture.now)[name])
        #expect(held.count == 3 && held.until - fixture.now.wall == .seconds(3570))
        // The same after a restart.
        fixture.restart()
        let again = try #require(fixture.outbox.held(at: fixture.now)[name])
        #expect(again.count == 3 && again.until - held.until < .seconds(1))
        fixture.pass(.seconds(3570))
        #expect(fixture.outbox.held(at: fixture.now).isEmpty)
        #expect(fixture.sent.map(\.count) == [1, 3])
    }

    /// A notifier that runs a job cannot send several at once, so that the order decides.
    @Test func ofSeparateMessagesThoseWithWhichAnIncidentBeginsGoFirst() {
        let notifier = Notifier(
            name: Notifier.Name("ops")!, transport: .job(Job.Name("page")!), perHour: 4)
        var fixture = OutboxFixture([notifier])
        fixture.add(10, .skipped, to: "ops")
        fixture.add(1, .failure, isUrgent: true, to: "ops")
        fixture.pass(.seconds(1))
        #expect(message(about: 11, in: fixture) != nil)
        #expect(fixture.messages.count == 2)
    }

    // MARK: - Retry-After

    @Test func aReceiverSaysWhenToComeAgain() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .zero)])
        let begin = fixture.awake
        fixture.answersAtOnce = MessageResult(
            .failed("HTTP status 429"), status: 429, retryAfter: .seconds(3600))
        fixture.add(3, .output, to: "ops")
        fixture.pass(.seconds(3599))
        // None of its messages is tried before.
        #expect(fixture.requested.count == 1)
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.pass(.seconds(1))
        #expect(fixture.sent.count == fixture.messages.count)
        #expect(fixture.requested.dropFirst().allSatisfy { $0.at - begin == 3600 * Self.second })
        // A shorter time than that of the next attempt changes nothing.
        fixture.answersAtOnce = MessageResult(.failed("x"), status: 503, retryAfter: .seconds(1))
        fixture.add(1, .output, to: "ops")
        let count = fixture.requested.count
        fixture.pass(.seconds(9))
        #expect(fixture.requested.count == count)
        fixture.pass(.seconds(1))
        #expect(fixture.requested.count == count + 1)
    }

    @Test func aUserWhoRequestsAMessageAgainDoesNotWait() {
        var fixture = OutboxFixture([OutboxTests.mail(batch: .zero)])
        fixture.answersAtOnce = MessageResult(
            .failed("HTTP status 503"), status: 503, retryAfter: .seconds(86_400))
        fixture.add(to: "ops")
        fixture.answersAtOnce = MessageResult(.sent)
        fixture.handle(.retry(fixture.messages[1]!))
        #expect(fixture.messages[1]?.state == .sent)
    }
}
