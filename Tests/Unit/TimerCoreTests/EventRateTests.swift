// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@Suite struct EventRateTests {
    private static let count = 32

    private func instant(_ milliseconds: Int64) -> AwakeInstant {
        AwakeInstant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test func itIsFastOnceSoManyEventsAreWithinTheSpan() {
        var rate = EventRate(Self.count, within: .milliseconds(100))
        #expect(!rate.isFast(at: instant(0)))
        for number in 0..<Int64(Self.count) {
            #expect(!rate.isFast(at: instant(number)))
            rate.note(at: instant(number))
        }
        #expect(rate.isFast(at: instant(31)) && rate.isFast(at: instant(100)))
        #expect(!rate.isFast(at: instant(101)))
        // The oldest one does not count any more.
        rate.note(at: instant(101))
        #expect(rate.isFast(at: instant(101)) && !rate.isFast(at: instant(102)))
    }

    @Test(arguments: [(count - 1, false), (count, true), (1_000_000, true)])
    func manyMayHappenAtOnce(count: Int, isFast: Bool) {
        var rate = EventRate(Self.count, within: .milliseconds(100))
        rate.note(count, at: instant(5))
        #expect(rate.isFast(at: instant(5)) == isFast)
        #expect(!rate.isFast(at: instant(106)))
        rate.note(0, at: instant(106))
        #expect(!rate.isFast(at: instant(106)))
    }
}
