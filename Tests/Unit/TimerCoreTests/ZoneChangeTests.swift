// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Zones whose rules change while a daemon is running.
@Suite struct ZoneChangeTests {
    private func job(_ name: Job.Name, _ zone: ZoneRules) throws -> Job {
        let schedule = WallSchedule([.cron(try CronSpec("0 12 * * *"), zone)])
        return Job(name: name, command: .arguments(["true"]), schedule: .wall(schedule))
    }

    @Test func onlyJobsOfTheZoneAreCalculatedAgain() throws {
        let old = try ZoneRules(posix: "CET-1")
        let new = try ZoneRules(posix: "CET-2")
        var renamed = try ZoneRules(posix: "XXX5")
        renamed.isLocal = true
        var world = World()
        world.load([try job("a", old), try job("b", .utc), .every(.seconds(60), "c")])
        let before = world.timers
        let slot = try #require(world.wallTimers["a"])
        let actions = world.handle(.zonesChanged(["CET-1": new, "UTC": .utc], local: renamed))
        #expect(world.wallTimers["a"] == slot - .seconds(3600))
        #expect(actions == [.armAt("a", slot - .seconds(3600)), .log(.zonesChanged(["a"]))])
        #expect(world.timers == before)
        #expect(world.handle(.zonesChanged([:], local: nil)).isEmpty)
    }

    @Test func theZoneOfTheMachineIsFollowed_evenToAnotherName() throws {
        var local = try ZoneRules(posix: "CET-1")
        local.isLocal = true
        var other = try ZoneRules(posix: "EST5")
        other.isLocal = true
        var world = World()
        world.load([try job("a", local), try job("b", try ZoneRules(posix: "CET-1"))])
        let slot = try #require(world.wallTimers["b"])
        #expect(world.wallTimers["a"] == slot)
        world.handle(.zonesChanged([:], local: other))
        #expect(world.wallTimers["b"] == slot)
        let moved = try #require(world.wallTimers["a"])
        // Noon in the new zone has not passed today; noon in the old zone has.
        #expect(moved - slot == .seconds(-18 * 3600))
        #expect(world.show("a").next == moved)
    }
}
