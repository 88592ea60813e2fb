// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What was skipped latest is known after a restart as well, but counted only once.
@Suite struct LastSkipTests {
    private let job = Job.every(.seconds(10)).with { $0.concurrency = .forbid }

    /// A world in which the first run still runs and the second one was skipped because of it.
    private func world() -> World {
        var world = World()
        world.load([job])
        world.pass(.seconds(21))
        return world
    }

    @Test(arguments: [false, true]) func itIsKnownAfterARestart(isKilled: Bool) throws {
        var world = world()
        let before = try #require(world.show("backup").lastSkip)
        #expect(before.reason == .stillRunning && before.count == 1)
        if isKilled { world.kill() } else { world.reboot(away: .zero) }
        world.load([job])
        #expect(world.show("backup").lastSkip == before)
        #expect(world.agenda.counts.skips[.stillRunning] == 0)
        // The next one takes its place.
        world.pass(.seconds(40))
        #expect(try #require(world.show("backup").lastSkip).at > before.at)
    }

    @Test func aFiringThatWasTooLateForItsDeadlineIsKnownByItsRun() throws {
        let job = Job.every(.seconds(10)).with {
            $0.concurrency = .queue
            $0.startingDeadline = .seconds(5)
        }
        var world = World()
        world.load([job])
        world.pass(.seconds(28))
        world.end(world.started[0])
        let before = try #require(world.show("backup").lastSkip)
        #expect(before.reason == .deadline)
        world.kill()
        world.load([job])
        let after = try #require(world.show("backup").lastSkip)
        #expect(after.reason == .deadline && after.scheduled == before.scheduled)
    }

    @Test func itMovesWithTheJob_andComesBackWithIt() throws {
        var world = world()
        let before = try #require(world.show("backup").lastSkip)
        var renamed = job
        renamed.name = "saving"
        renamed.renamedFrom = "backup"
        world.kill()
        world.load([renamed])
        #expect(world.show("saving").lastSkip == before)
        world.handle(.reload(JobSet([])))
        world.handle(.reload(JobSet([renamed])))
        #expect(world.show("saving").lastSkip == before)
    }
}
