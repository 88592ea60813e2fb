// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import Testing

/// S17: the rate is the number of events in a window of at least a second, divided by the real
/// duration of the window.
@Suite struct RateMeterTests {
    @Test func s17_countsWholeWindowsOfAtLeastASecond() {
        var meter = RateMeter()
        var rates: [Double] = []
        for frame in 0...180 {
            let at = AwakeInstant(nanoseconds: Int64(frame) * 16_666_667)
            if let rate = meter.record(at: at) { rates.append(rate) }
        }
        #expect(rates.count == 3 && rates.allSatisfy { abs($0 - 60) < 0.001 })
        #expect(meter.rate == rates.last)
    }

    /// A stall makes the window longer; the rate is not zero for a second without events.
    @Test func s17_dividesByWhatReallyPassed() {
        var meter = RateMeter()
        meter.record(at: AwakeInstant(nanoseconds: 0))
        for frame in 1...9 {
            meter.record(at: AwakeInstant(nanoseconds: Int64(frame) * 100_000_000))
        }
        #expect(meter.rate == nil)
        #expect(meter.record(at: AwakeInstant(nanoseconds: 4_000_000_000)) == 2.5)
    }

    @Test func s17_aTickerMeasuresWhatItAchieves() throws {
        let fixture = Fixture()
        let ticker = try Ticker(preferredRate: 240, on: fixture.queue) { _ in }
        #expect(ticker.achievedRate == nil)
        fixture.advance(3000)
        #expect(abs((ticker.achievedRate ?? 0) / 240 - 1) < 0.001)
        // The time of a pause is not part of any window.
        ticker.isPaused = true
        fixture.advance(10_000)
        ticker.isPaused = false
        fixture.advance(1500)
        #expect(abs((ticker.achievedRate ?? 0) / 240 - 1) < 0.001)
    }

    @Test func nothingOrTheSameInstantDoesNotDivideByZero() {
        var meter = RateMeter(window: .zero)
        #expect(meter.rate == nil)
        for _ in 0..<3 { #expect(meter.record(at: AwakeInstant(nanoseconds: 7)) == nil) }
    }
}
