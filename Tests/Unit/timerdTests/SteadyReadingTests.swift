// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerDaemon

/// Readings of the clocks for what is shown.
@Suite struct SteadyReadingTests {
    private func now(_ awake: Int64, wall: Int64, boot: Int64) -> Now {
        Now(
            wall: WallInstant(microsecondsSinceEpoch: wall),
            awake: AwakeInstant(nanoseconds: awake),
            boot: BootInstant(nanoseconds: boot), bootID: .unknown)
    }

    /// Between the reads of two clocks some time passes, each time another one.
    @Test func anInstantOfOneClockIsTheSameByTheOther_howeverTheReadsAreDelayed() {
        var random = SeededRandom()
        var readings = SteadyReading()
        let due = AwakeInstant(nanoseconds: 3_600_000_123_456)
        let dueByBoot: Int64 = 3_700_000_123_456
        var walls: Set<Int64> = []
        var spans: Set<Int64> = []
        for step in 0..<1000 {
            let awake = 1_000_000_000_000 + Int64(step) * 1_234_567
            let delays = (0..<2).map { _ in Int64.random(in: 0..<900_000, using: &random) }
            let read = readings.steady(
                now(
                    awake + delays[0], wall: 1_795_000_000_000_000 + awake / 1000,
                    boot: awake + delays[0] + delays[1] + 100_000_000_000))
            #expect(awake + delays[0] - read.awake.nanoseconds < 1000)
            walls.insert((read.wall + (due - read.awake)).microsecondsSinceEpoch)
            let left = dueByBoot - read.boot.nanoseconds
            spans.insert(left + read.awake.nanoseconds)
        }
        #expect(walls.count == 1 && spans.count == 1, "\(walls) \(spans)")
    }

    @Test func aClockThatIsSet_orAMachineThatSleeps_isSeen() {
        var readings = SteadyReading()
        let first = readings.steady(now(1_000_000, wall: 5_000_000, boot: 1_000_000))
        #expect(first == now(1_000_000, wall: 5_000_000, boot: 1_000_000))
        // The wall clock is a little ahead, and then by more than a delay could be.
        #expect(readings.steady(now(1_000_000, wall: 5_001_900, boot: 1_000_000)) == first)
        let set = readings.steady(now(1_000_000, wall: 5_002_100, boot: 1_000_000))
        #expect(set.wall.microsecondsSinceEpoch == 5_002_100)
        let slept = readings.steady(now(2_000_000, wall: 9_003_100, boot: 4_000_002_000_000))
        #expect(slept.boot.nanoseconds == 4_000_002_000_000)
        // Little steps add up.
        for step in 1...30 {
            let wall = 9_003_100 + Int64(step) * 1000
            let read = readings.steady(now(2_000_000, wall: wall, boot: 4_000_002_000_000))
            #expect(abs(read.wall.microsecondsSinceEpoch - wall) <= 2000)
        }
    }

    @Test func theEndsOfTheClocksAreNoTrouble() {
        for value in [Int64.min, -1, 0, 1, .max] {
            var readings = SteadyReading()
            for other in [Int64.min, -1, 0, 1, .max] {
                _ = readings.steady(now(value, wall: other, boot: other))
            }
        }
    }
}
