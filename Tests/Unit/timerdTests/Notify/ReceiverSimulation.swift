// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerRunnerProtocol

@testable import TimerDaemon
@testable import TimerStore

/// An outbox in simulated time whose attempts take some time.
struct ReceiverSimulation {
    var fixture: OutboxFixture
    /// What comes of an attempt that begins now: how long it takes, and its result. If it takes
    /// longer than it may, it fails.
    var attempt: (_ message: Store.Message, _ begin: Int64) -> (Duration, MessageResult)
    private var ends: [(at: Int64, id: Int64, attempt: Int, result: MessageResult)] = []
    private var handled = 0
    /// When each message was sent.
    private(set) var sentAt: [Int64: Int64] = [:]

    init(
        _ notifiers: [Notifier],
        _ attempt: @escaping (Store.Message, Int64) -> (Duration, MessageResult)
    ) {
        fixture = OutboxFixture(notifiers)
        fixture.answersAtOnce = nil
        self.attempt = attempt
    }

    mutating func pass(_ span: Duration) {
        let until = fixture.awake + span.wholeNanoseconds
        var steps = 0
        while true {
            startAttempts()
            let wake = fixture.outbox.nextWake(at: fixture.now.awake)?.nanoseconds
            let end = ends.map(\.at).min()
            let next = max(fixture.awake, min(wake ?? .max, end ?? .max))
            steps = next == fixture.awake ? steps + 1 : 0
            guard next <= until, steps < 50_000 else { break }
            advance(to: next)
            if let end, end <= next { endAttempt(at: end) } else { fixture.handle(.wake) }
        }
        #expect(steps < 50_000, "the outbox asks to be woken again and again")
        advance(to: until)
    }

    private mutating func advance(to instant: Int64) {
        fixture.wall += (instant - fixture.awake) / 1000
        fixture.awake = instant
    }

    /// The runner starts an attempt once, even if it is requested again.
    private mutating func startAttempts() {
        while handled < fixture.requested.count {
            let one = fixture.requested[handled]
            handled += 1
            guard !ends.contains(where: { $0.id == one.message && $0.attempt == one.attempt }),
                let message = fixture.messages[one.message]
            else { continue }
            var (span, result) = attempt(message, one.at)
            if span > one.timeout {
                (span, result) = (one.timeout, MessageResult(.failed("no answer in time")))
            }
            ends.append((one.at + span.wholeNanoseconds, one.message, one.attempt, result))
        }
    }

    private mutating func endAttempt(at instant: Int64) {
        guard let index = ends.firstIndex(where: { $0.at == instant }) else { return }
        let one = ends.remove(at: index)
        if one.result.verdict == .sent { sentAt[one.id] = instant }
        fixture.end(one.id, one.result)
    }
}
