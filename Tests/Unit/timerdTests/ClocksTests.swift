// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerDaemon

@Suite struct ClocksTests {
    /// Clocks that advance by 100 ns with each read, and by more before some of them.
    private final class Reads {
        private var time: Int64 = 1_000_000_000_000
        private var stops: [Int: Int64]
        private(set) var count = 0

        init(stops: [Int: Int64]) { self.stops = stops }

        func read(_ clock: Int32) -> timespec {
            time += 100 + (stops[count] ?? 0)
            count += 1
            // The wall clock is a million seconds ahead.
            let offset = clock == CLOCK_REALTIME ? 1_000_000 : 0
            return timespec(
                tv_sec: Int(time / 1_000_000_000) + offset, tv_nsec: Int(time % 1_000_000_000))
        }
    }

    /// SIGSTOP, or a machine that sleeps, between two reads. Without the repeated reading it would
    /// look like a wall clock that was set, and runs that were due meanwhile would not count as
    /// missed.
    @Test(arguments: 0..<8) func aStopBetweenTwoReadsIsNoClockThatWasSet(place: Int) throws {
        let clocks = try Clocks()
        let before = clocks.now(reading: Reads(stops: [:]).read)
        let now = clocks.now(reading: Reads(stops: [place: 700_000_000]).read)
        let step = (now.wall - before.wall) - (now.boot - before.boot)
        #expect(step >= .microseconds(-5) && step <= .microseconds(5), "\(step)")
    }

    @Test func readingEndsOnAMachineThatStopsAllTheTime() throws {
        let stops = Dictionary(
            uniqueKeysWithValues: (0..<1000).map { ($0, Int64($0 == 20 ? 2_000_000 : 5_000_000)) })
        let reads = Reads(stops: stops)
        _ = try Clocks().now(reading: reads.read)
        #expect(reads.count < 100)
    }
}
