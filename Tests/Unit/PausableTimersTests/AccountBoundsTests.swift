// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PausableTimers
import SeededRandom
import Testing

/// Accounts that somebody else wrote: whatever their numbers are, they are refused or continued.
@Suite struct AccountBoundsTests {
    private static let cases =
        ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) } ?? 4000

    private static let boundaries: [Int128] = [
        0, 1, -1, Int128(Int64.max), Int128(Int64.max) - 1, Int128(Int64.min),
        Int128(Int64.max) * 1_000_000_000, Int128(Int64.max) * 1_000_000_000 + 1,
        Int128(UInt64.max), .max, .min, .max - 1, 1_000_000_000_000_000_000,
    ]

    /// The account as text, with these numbers.
    private func decode(_ words: [String]) -> TimerAccount? {
        let json = Data("\"\(words.joined(separator: " "))\"".utf8)
        return try? JSONDecoder().decode(TimerAccount.self, from: json)
    }

    /// The words of an account that is valid.
    private func words(_ state: TimerAccount.State, _ basis: TimeBasis) throws -> [String] {
        let account = TimerAccount(
            state: state, active: .seconds(50), accrued: .seconds(3), next: .seconds(7), passed: 12,
            ticks: 7, basis: basis, savedAt: ManualTime.start)
        let json = try JSONEncoder().encode(account)
        return String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
            .split(separator: " ").map(String.init)
    }

    /// Everything that a timer does with its account.
    private func use(_ account: TimerAccount, _ random: inout SeededRandom) throws {
        let fixture = Fixture()
        let timer: PausableTimer
        do {
            timer =
                try random.int(below: 4) == 0
                ? fixture.after(100, restoring: account)
                : fixture.every(1 + random.int(below: 1000), times: 40, restoring: account)
        } catch is TimerArgumentError {
            try #require(!account.isValid)
            return
        }
        try #require(account.isValid)
        fixture.advance(30)
        timer.pause()
        fixture.stall(100)
        timer.resume(random.int(below: 2) == 0 ? .tickIfDue : .keepRemaining)
        fixture.advance(30)
        timer.addTime(.seconds(random.int(below: 3) - 1))
        _ = (timer.remaining, timer.activeTime)
        let after = timer.account
        try #require(after.isValid)
        let json = try JSONEncoder().encode(after)
        try #require(try JSONDecoder().decode(TimerAccount.self, from: json) == after)
    }

    @Test(arguments: [
        "9223372036854775807", "99999999999999999999999999999999999999",
        "170141183460469231731687303715884105727",
    ])
    func anEnormousNumberDoesNotTrap(number: String) throws {
        var random = SeededRandom()
        for state in [TimerAccount.State.running, .paused, .finished] {
            for place in 3..<13 {
                var words = try words(state, .wall)
                words[place] = number
                // The time since the last point may not be more than the total.
                if place == 4 { words[3] = number }
                if place == 6 { words[5] = number }
                if let account = decode(words) { try use(account, &random) }
            }
        }
    }

    @Test func anyNumbersAreRefusedOrContinued() throws {
        var random = SeededRandom()
        var accepted = 0
        for _ in 0..<Self.cases {
            let bases = TimeBasis.allCases
            let states = [TimerAccount.State.running, .paused, .finished]
            var words = try words(states[random.int(below: 3)], bases[random.int(below: 4)])
            for _ in 0...random.int(below: 3) {
                let place = 3 + random.int(below: 10)
                let boundary = Self.boundaries[random.int(below: Self.boundaries.count)]
                let near = boundary.addingReportingOverflow(Int128(random.int(below: 5) - 2))
                words[place] = "\(near.overflow ? boundary : near.partialValue)"
                if place == 4, random.int(below: 2) == 0 { words[3] = words[4] }
            }
            guard let account = decode(words) else { continue }
            accepted += 1
            try use(account, &random)
        }
        #expect(accepted > Self.cases / 20)
    }

    /// Points that are closer together than a nanosecond are counted as far as a number goes.
    @Test func anIntervalOfAnAttosecondDoesNotTrap() throws {
        let fixture = Fixture()
        let timer = try PausableTimer.every(
            Duration(attoseconds: 1), on: fixture.queue, handler: { fixture.log.append($0) })
        var ticks = timer.ticks.makeAsyncIterator()
        for _ in 0..<3 {
            fixture.stall(20_000)
            timer.pause()
            timer.resume()
            fixture.time.advance(by: .zero)
        }
        #expect(timer.account.passed == .max && fixture.log.count >= 3)
        timer.cancel()
        _ = ticks
        ticks = timer.ticks.makeAsyncIterator()
    }
}
