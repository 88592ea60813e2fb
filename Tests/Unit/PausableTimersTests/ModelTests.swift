// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PausableTimers
import SeededRandom
import Testing

/// Random operations at random instants, compared with a model in whole nanoseconds that was
/// written from the documentation.
@Suite struct TimerModelTests {
    private struct Model {
        var state = TimerState.running
        var accrued = 0
        var active = 0
        var passed = 0
        var ticks = 0
        var missed = 0
        /// The part of the elapsed time that was passed or discarded.
        var spent = 0
        var span: Int
        var first: Int
        var hasOwnFirst: Bool
        var pausedFor = 0
        var isDueNow = false

        var target: Int { passed == 0 ? first : span }

        /// Lets time pass without handling anything.
        mutating func stall(_ time: Int) {
            if state == .running {
                accrued += time
                active += time
            } else if state == .paused {
                pausedFor += time
            }
        }

        /// Handles the due ticks.
        mutating func serve() {
            guard state == .running else { return }
            if isDueNow {
                isDueNow = false
                spent += accrued
                accrued = 0
                passed += 1
                ticks += 1
            }
            guard accrued >= target else { return }
            ticks += 1
            accrued -= target
            spent += target
            passed += 1
            missed += accrued / span
            passed += accrued / span
            spent += accrued / span * span
            accrued %= span
        }

        mutating func advance(_ time: Int) {
            serve()
            var rest = time
            while state == .running, target - accrued <= rest {
                let step = target - accrued
                stall(step)
                rest -= step
                serve()
            }
            stall(rest)
        }

        mutating func pause() {
            guard state == .running else { return }
            state = .paused
            pausedFor = 0
        }

        mutating func resume(_ policy: ResumePolicy) {
            guard state == .paused else { return }
            state = .running
            switch policy {
            case .keepRemaining: break
            case .restartInterval:
                spent += accrued
                accrued = 0
            case .tickIfDue: if accrued + pausedFor >= target { isDueNow = true }
            }
        }

        mutating func restart() {
            guard state != .cancelled else { return }
            self = Model(span: span, first: first, hasOwnFirst: hasOwnFirst)
        }

        mutating func setInterval(_ span: Int) {
            self.span = span
            if !hasOwnFirst { first = span }
            spent += max(0, accrued - target)
            accrued = min(accrued, target)
        }
    }

    private static let cases =
        ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) } ?? 5000

    private static func new(
        _ random: inout SeededRandom, on queue: TimerQueue, _ log: Counter
    ) throws -> (PausableTimer, Model) {
        let span = 1 + random.int(below: 1_000_000)
        let first = random.int(below: 3) == 0 ? random.int(below: 2_000_000) : nil
        let timer = try PausableTimer.every(
            .nanoseconds(span), first: first.map { .after(.nanoseconds($0)) }, on: queue
        ) { log.add($0) }
        return (timer, Model(span: span, first: first ?? span, hasOwnFirst: first != nil))
    }

    private final class Counter: @unchecked Sendable {
        // Unchecked because the test reads it only when no handler runs.
        var ticks = 0
        var missed = 0

        func add(_ tick: Tick) {
            ticks += 1
            missed += tick.missed
        }
    }

    /// To the nanosecond: the active time is the passed time plus the elapsed time since the last
    /// point.
    @Test func theLawHoldsAndTheModelAgrees() throws {
        var random = SeededRandom()
        let time = ManualTime()
        let queue = TimerQueue(time: time)
        var log = Counter()
        var (timer, model) = try Self.new(&random, on: queue, log)
        var total = (ticks: 0, missed: 0)
        for command in 0..<Self.cases {
            let past = (model.ticks, model.missed)
            var isNew = false
            switch random.int(below: 40) {
            case 0..<16:
                let span = random.int(below: 3_000_000)
                time.advance(by: .nanoseconds(span))
                model.advance(span)
            case 16..<22:
                let span = random.int(below: 5_000_000)
                time.stall(for: .nanoseconds(span))
                model.stall(span)
            case 22..<28:
                timer.pause()
                model.pause()
            case 28..<35:
                let policies = [ResumePolicy.keepRemaining, .restartInterval, .tickIfDue]
                let policy = policies[max(0, random.int(below: 6) - 3)]
                timer.resume(policy)
                model.resume(policy)
            case 35:
                timer.restart()
                model.restart()
                isNew = true
            case 36, 37:
                let span = 1 + random.int(below: 1_000_000)
                try timer.setInterval(.nanoseconds(span))
                model.setInterval(span)
            case 38:
                let account = timer.account
                log = Counter()
                timer = try .every(
                    timer.interval, first: .after(.nanoseconds(model.first)), restoring: account,
                    on: queue
                ) { [log] in log.add($0) }
                model.hasOwnFirst = true
                model.pausedFor = 0
                model.isDueNow = false
                total = (0, 0)
            default:
                log = Counter()
                (timer, model) = try Self.new(&random, on: queue, log)
                total = (0, 0)
                isNew = true
            }
            if !isNew {
                total.ticks += model.ticks - past.0
                total.missed += model.missed - past.1
            }
            let account = timer.account
            let isRight =
                timer.state == model.state && account.active == .nanoseconds(model.active)
                && account.accrued == .nanoseconds(model.accrued)
                && account.passed == model.passed && account.ticks == model.ticks
                && account.active == .nanoseconds(model.spent) + account.accrued
                && log.ticks == total.ticks && log.missed == total.missed
                && (model.isDueNow
                    || timer.remaining == .nanoseconds(max(0, model.target - model.accrued)))
            try #require(isRight, "order \(command): \(account), \(model), \(total)")
        }
    }

    /// The same for spans that are not a whole number of nanoseconds, with one interval: by the
    /// definition only.
    @Test func activeIsSpanTimesPassedPlusAccrued() throws {
        var random = SeededRandom()
        let time = ManualTime()
        let queue = TimerQueue(time: time)
        for _ in 0..<Self.cases / 1000 {
            let span = Duration.seconds(1) / (1 + random.int(below: 5000))
            let timer = try PausableTimer.every(span, on: queue) { _ in }
            for _ in 0..<1000 {
                switch random.int(below: 4) {
                case 0: time.advance(by: .nanoseconds(random.int(below: 3_000_000)))
                case 1: time.stall(for: .nanoseconds(random.int(below: 3_000_000)))
                case 2: timer.pause()
                default: timer.resume()
                }
                let account = timer.account
                try #require(account.active == span * account.passed + account.accrued)
            }
        }
    }
}
