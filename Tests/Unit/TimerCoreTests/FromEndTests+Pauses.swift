// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Intervals from the end of a run, and pauses.
extension FromEndTests {
    @Test func aRunThatEndsDuringAPauseLeavesTheWholeInterval() {
        for resume in [Policy.Resume.keepRemaining, .nextSlot, .restart, .fireIfDue] {
            var world = load(Self.job.with { $0.onResume = resume })
            world.pass(.seconds(60))
            _ = world.command(.pause, "backup")
            world.pass(.seconds(30))
            world.endRuns()
            #expect(world.show("backup").remaining == .seconds(60))
            world.pass(.seconds(50))
            _ = world.command(.resume, "backup")
            #expect(world.started.count == 1 && world.show("backup").remaining == .seconds(60))
            world.pass(.seconds(60))
            #expect(world.started.count == 2)
        }
    }

    /// With `fire-if-due`, a pause counts from the end of the run that ended in it.
    @Test(arguments: [59, 60])
    func resumingRunsAtOnce_ifAnIntervalPassedSinceTheEnd(seconds: Int) {
        var world = load(Self.job.with { $0.onResume = .fireIfDue })
        world.pass(.seconds(60))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(300))
        world.endRuns()
        world.pass(.seconds(seconds))
        _ = world.command(.resume, "backup")
        #expect(world.started.count == (seconds < 60 ? 1 : 2))
        #expect(world.show("backup").remaining == (seconds < 60 ? .seconds(60) : nil))
    }

    /// The interval restarted at the end, also if the job counts in another way since then.
    @Test(arguments: [59, 60], [false, true])
    func resumingCountsFromTheEnd_ifTheJobIsChangedAfterIt(seconds: Int, restarts: Bool) {
        var world = load(Self.job.with { $0.onResume = .fireIfDue })
        world.pass(.seconds(60))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(300))
        world.endRuns()
        let changed = Job.every(.seconds(60)).with { $0.onResume = .fireIfDue }
        world.handle(.reload(JobSet([changed])))
        if restarts {
            world.stopCleanly()
            world.load([changed])
        }
        world.pass(.seconds(seconds))
        _ = world.command(.resume, "backup")
        #expect(world.started.count == (seconds < 60 ? 1 : 2))
    }

    /// A run that is active counts by the new definition also for a pause that ends with the same reload.
    @Test func aReloadThatEndsThePauseWaitsForTheEnd() {
        var paused = Job.every(.seconds(60)).with {
            $0.onResume = .fireIfDue
            $0.concurrency = .allow
        }
        var world = load(paused)
        world.pass(.seconds(60))
        paused.paused = true
        world.handle(.reload(JobSet([paused])))
        world.pass(.seconds(300))
        var changed = paused
        changed.paused = false
        changed.from = .end
        world.handle(.reload(JobSet([changed])))
        #expect(world.started.count == 1 && world.show("backup").remaining == nil)
        world.pass(.seconds(300))
        world.endRuns()
        world.pass(.seconds(59))
        #expect(world.started.count == 1)
        world.pass(.seconds(1))
        #expect(world.started.count == 2)
    }

    /// A clock that was set back after the end, and a restart, change nothing of that.
    @Test(arguments: [-200_000, -30, 0, 30], [false, true])
    func theEndInAPauseIsKnownLater(step: Int, restarts: Bool) {
        let job = Self.job.with { $0.onResume = .fireIfDue }
        var world = load(job)
        world.pass(.seconds(60))
        world.endRuns()
        world.pass(.seconds(20))
        world.step(.seconds(step))
        _ = world.command(.pause, "backup")
        world.pass(.seconds(39))
        if restarts {
            world.stopCleanly()
            world.load([job])
        }
        _ = world.command(.resume, "backup")
        #expect(world.started.count == 1 && world.show("backup").remaining == .seconds(40))
        world.pass(.seconds(40))
        #expect(world.started.count == 2)
        _ = world.command(.pause, "backup")
        world.pass(.seconds(300))
        world.endRuns()
        world.pass(.seconds(59))
        if restarts {
            world.stopCleanly()
            world.load([job])
        }
        _ = world.command(.resume, "backup")
        #expect(world.started.count == 2)
    }

    @Test func aPauseAndResumeDuringARunChangeNothing() {
        var world = load()
        world.pass(.seconds(60))
        world.handle(.command(JobCommand(.pause, "backup", by: .user("ada"), withRun: true)))
        #expect(world.suspended.count == 1)
        world.pass(.seconds(500))
        _ = world.command(.resume, "backup")
        #expect(world.started.count == 1 && world.show("backup").remaining == nil)
        world.pass(.seconds(500))
        world.endRuns()
        #expect(world.show("backup").remaining == .seconds(60))
    }

    @Test func aStoppedJobThatIsStartedWhileItRunsWaitsForTheEnd() {
        var world = load()
        world.pass(.seconds(60))
        _ = world.command(.stop, "backup")
        world.pass(.seconds(60))
        _ = world.command(.start, "backup")
        world.pass(.seconds(600))
        #expect(world.started.count == 1)
        world.endRuns()
        world.pass(.seconds(60))
        #expect(world.started.count == 2)
    }
}
