// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// When the timers of jobs expire, and which job is due.
@Suite struct JobAlarmsTests {
    private static func awake(_ second: Int64) -> AwakeInstant {
        AwakeInstant(nanoseconds: second * 1_000_000_000)
    }

    private static func wall(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private static func now(_ second: Int64) -> Now {
        Now(
            wall: wall(second), awake: awake(second),
            boot: BootInstant(nanoseconds: second * 1_000_000_000), bootID: World.bootID(1))
    }

    @Test func aJobHasATimerByOneClock() {
        var alarms = JobAlarms()
        #expect(alarms[3] == nil && alarms.nextDue(at: Self.now(100)) == nil)
        alarms.set(3, to: .awake(Self.awake(10)), due: nil)
        #expect(alarms[3] == .awake(Self.awake(10)))
        alarms.set(3, to: .wall(Self.wall(20)), due: nil)
        #expect(alarms[3] == .wall(Self.wall(20)) && alarms.firstAwake == nil)
        #expect(alarms.nextDue(at: Self.now(19)) == nil && alarms.nextDue(at: Self.now(20)) == 3)
        alarms.set(3, to: .awake(Self.awake(30)), due: nil)
        #expect(alarms.firstWall == nil && alarms.firstAwake?.slot == 3)
        alarms.set(3, to: nil, due: nil)
        #expect(alarms[3] == nil && alarms.nextDue(at: Self.now(100)) == nil)
    }

    /// First the jobs whose timers have expired, then those that could still wait.
    @Test func aWakeUpServesTheMostUrgentJobFirst_andThoseThatCouldWait() {
        var alarms = JobAlarms()
        alarms.set(0, to: .awake(Self.awake(50)), due: .awake(Self.awake(5)))
        alarms.set(1, to: .wall(Self.wall(60)), due: .wall(Self.wall(6)))
        alarms.set(2, to: .awake(Self.awake(10)), due: nil)
        alarms.set(3, to: .wall(Self.wall(9)), due: nil)
        alarms.set(4, to: .wall(Self.wall(11)), due: nil)
        #expect(alarms.lateness(at: Self.now(9)) == nil)
        #expect(alarms.lateness(at: Self.now(12)) == .seconds(3))
        var command: [Int] = []
        while let slot = alarms.nextDue(at: Self.now(10)) {
            command.append(slot)
            alarms.remove(slot)
        }
        #expect(command == [2, 3, 0, 1])
        #expect(alarms[4] == .wall(Self.wall(11)))
    }

    @Test func aRetryHasATimerOfItsOwn() throws {
        var alarms = JobAlarms()
        alarms.set(1, to: .wall(Self.wall(20)), due: nil)
        alarms.setRetry(1, to: Self.awake(5))
        #expect(alarms.retry(of: 1) == Self.awake(5) && alarms[1] == .wall(Self.wall(20)))
        let ring = try #require(alarms.nextRing(at: Self.now(2)))
        #expect(ring.slot == 1 && ring.left == .seconds(3))
        #expect(alarms.nextRetry(at: Self.now(4)) == nil && alarms.nextRetry(at: Self.now(5)) == 1)
        // What is due does not depend on the retries.
        #expect(alarms.nextDue(at: Self.now(5)) == nil)
        alarms.remove(1)
        #expect(alarms.retry(of: 1) == Self.awake(5))
        alarms.setRetry(1, to: nil)
        #expect(alarms.nextRing(at: Self.now(2)) == nil)
    }

    @Test func anAlarmSetsTheTimerOfItsClock() {
        let awake = Alarm.awake(Self.awake(10))
        let wall = Alarm.wall(Self.wall(10))
        #expect(awake.action(for: "a") == .arm("a", Self.awake(10)))
        #expect(wall.action(for: "a") == .armAt("a", Self.wall(10)))
        #expect(awake.left(at: Self.now(4)) == .seconds(6))
        #expect(wall.left(at: Self.now(14)) == .seconds(-4))
    }
}
