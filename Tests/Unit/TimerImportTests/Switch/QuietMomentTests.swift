// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerImport

/// When a source may be changed: when neither side decides about a run.
@Suite struct QuietMomentTests {
    private func at(_ seconds: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 600 + seconds)
    }

    /// The seconds to wait, rounded up; nil: too long.
    private func wait(_ busy: [QuietMoment.Busy], from seconds: Int64 = 0) -> Int64? {
        QuietMoment.first(from: at(seconds), outside: busy).map {
            let wait = $0 - at(seconds)
            return wait == .zero ? 0 : Int64(wait.components.seconds)
        }
    }

    @Test(arguments: [(0, 5), (5, 0), (6, 0), (49, 0), (50, 15), (59, 6), (65, 0), (115, 10)])
    func cronHasTheMiddleOfEachMinute(second: Int64, expected: Int64) {
        #expect(
            wait(QuietMoment.minutes(around: at(second)), from: second)
                == (second == 5 ? 0 : expected))
    }

    @Test func spansThatTouchAreOne() {
        #expect(wait([]) == 0)
        #expect(wait([at(1)...at(2)]) == 0)
        #expect(wait([at(-1)...at(2), at(2)...at(7), at(5)...at(6), at(9)...at(20)]) == 7)
        #expect(wait([at(-1)...at(601)]) == nil)
        #expect(wait([at(-1)...at(599)]) == 599)
    }

    private func spans(
        _ times: [Int64], systemd: Int64 = 0, timerd: Int64 = 0, last: Int64? = nil,
        next: Int64? = nil
    ) -> [QuietMoment.Busy] {
        QuietMoment.spans(
            of: times.map(at),
            .init(
                systemd: .seconds(systemd), timerd: .seconds(timerd), lastStart: last.map(at),
                nextStart: next.map(at)))
    }

    /// Seconds from now of the times, the delays of both sides, when systemd started the service last, and the wait.
    @Test(
        arguments: [
            ([-4, 6], 0, 0, nil, 0), ([-2, 8], 0, 0, nil, 1), ([2], 0, 0, nil, 5),
            // AccuracySec= of a minute: systemd may still be waiting, or has started it.
            ([-30], 60, 0, nil, 33), ([-30], 60, 0, -90, 33), ([-30], 60, 0, -20, 0),
            // timerd has not told when it starts the run.
            ([-30], 60, 60, -20, 33), ([-30], 0, 900, nil, nil),
            // Each minute, with a delay of up to a minute.
            ([-50, 10, 70, 130, 190, 250, 310, 370, 430, 490, 550, 610], 60, 0, -60, nil),
            ([-50, 10], 60, 0, -5, 0),
        ] as [([Int64], Int64, Int64, Int64?, Int64?)])
    func aRunIsOverOnBothSides(
        times: [Int64], systemd: Int64, timerd: Int64, last: Int64?, expected: Int64?
    ) {
        #expect(wait(spans(times, systemd: systemd, timerd: timerd, last: last)) == expected)
    }

    /// A job with a delay of up to 12 h, whose next run is that of tomorrow, or still that of today.
    @Test func aRunThatTimerdHasMadeIsOver() {
        let last: Int64 = -6 * 3600
        let hours = (systemd: Int64(12 * 3600), timerd: Int64(12 * 3600))
        for (next, started, expected) in [
            (20 * 3600, last + 60, 0), (20 * 3600, nil, nil), (3600, last + 60, nil),
            (nil, last + 60, nil),
        ] as [(Int64?, Int64?, Int64?)] {
            let busy = spans(
                [last], systemd: hours.systemd, timerd: hours.timerd, last: started, next: next)
            #expect(wait(busy) == expected, "\(next ?? 0)")
        }
    }

    @Test func theDelaysSayHowFarToLookBack() {
        let delays = QuietMoment.Delays(
            systemd: .seconds(60), timerd: .seconds(90), lastStart: nil, nextStart: nil)
        #expect(delays.longest == .seconds(93))
        #expect(wait([QuietMoment.span(around: at(1))]) == 4)
    }
}
