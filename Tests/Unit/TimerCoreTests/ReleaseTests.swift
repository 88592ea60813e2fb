// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// A run whose row is released never starts again, whatever is forgotten. One that waits is never
/// lost.
@Suite struct ReleaseTests {
    private let job = Job.every(.seconds(60))

    /// How an instance ends, and what becomes of a run that the next runner does not know.
    enum Ending: CaseIterable {
        case cleanStop, kill, reboot

        var loss: RunOutcome {
            switch self {
            case .cleanStop: .lost(.runner)
            case .kill: .lost(.daemon)
            case .reboot: .lost(.reboot)
            }
        }

        func apply(to world: inout World) {
            switch self {
            case .cleanStop: world.stopCleanly()
            case .kill: world.kill()
            case .reboot: world.reboot(away: .seconds(5))
            }
        }
    }

    /// The runtime directory was emptied, or the runner was stopped after the scheduler.
    @Test(arguments: Ending.allCases)
    func aStartedRunThatNoRunnerKnowsIsLost_andNeverStartsAgain(ending: Ending) {
        var world = World()
        world.load([job])
        world.pass(.seconds(60))
        let run = world.started[0].id
        ending.apply(to: &world)
        world.load([job])
        #expect(world.closed[run] == ending.loss)
        world.pass(.seconds(300))
        #expect(world.started.filter { $0.id == run }.count == 1)
    }

    /// The row was on the disk, and the instance ended before the start was sent.
    @Test(arguments: Ending.allCases)
    func aReleasedRunThatWasNeverSentIsLost(ending: Ending) {
        var world = World()
        world.hasRunner = true
        world.load([job])
        world.pass(.seconds(60))
        let run = world.started[0].id
        world.openRuns[run]?.begun = false
        world.released.insert(run)
        ending.apply(to: &world)
        world.load([job])
        #expect(world.closed[run] == ending.loss && world.started.count == 1)
    }

    @Test(arguments: Ending.allCases)
    func aRunThatWaitsIsTakenUpAfterAnyRestart(ending: Ending) {
        let job = self.job.with { $0.concurrency = .queue }
        var world = World()
        world.load([job])
        world.pass(.seconds(120))
        #expect(world.started.count == 1 && world.openRuns.count == 2)
        ending.apply(to: &world)
        world.load([job])
        #expect(world.started.count == 2, "the run before it is lost, so that it starts")
        let second = world.started[1].id
        #expect(world.openRuns[second]?.begun == true)
        // It belongs to the boot in which it started.
        world.kill()
        world.load([job])
        #expect(world.closed[second] == .lost(.daemon))
    }

    @Test(arguments: Ending.allCases) func aRetryThatWaitsIsMadeAfterAnyRestart(ending: Ending) {
        let job = self.job.with { $0.retry.retries = 1 }
        var world = World()
        world.load([job])
        world.pass(.seconds(60))
        world.endRuns(.exited(1))
        ending.apply(to: &world)
        world.load([job])
        world.pass(.seconds(11))
        #expect(world.attempts == [1, 2])
    }

    /// The store wrote the row late, and the job was paused meanwhile: the row says again that the
    /// run waits, so that an instance after this one starts it.
    @Test func aRunThatIsReleasedTooLateWaitsAgain() {
        var world = World()
        world.load([job])
        world.breakStore()
        world.pass(.seconds(60))
        let run = Run.ID(world.unwritten)
        world.pass(.seconds(5))
        _ = world.command(.pause, "backup")
        world.restoreStore()
        #expect(world.started.isEmpty && world.released.isEmpty && world.openRuns.count == 1)
        world.kill()
        world.load([job])
        #expect(world.closed.isEmpty && world.started.isEmpty)
        _ = world.command(.resume, "backup")
        #expect(world.started.map(\.id) == [run])
    }

    @Test func aDaemonThatStopsWithdrawsWhatWasReleasedTooLate() {
        var world = World()
        world.load([job])
        world.breakStore()
        world.pass(.seconds(60))
        world.pass(.seconds(5))
        world.handle(.shutdown)
        world.restoreStore()
        #expect(world.started.isEmpty && world.released.isEmpty && world.openRuns.count == 1)
    }

    /// The last good copy is from before the run: what was due since may have run.
    @Test func afterARestoreNothingStartsThatMayHaveStartedBefore() throws {
        let jobs = [
            try Job.cron("*/5 * * * *", "often"), try Job.cron("@reboot", "boot"),
            job.with { $0.concurrency = .queue },
        ]
        var world = World()
        world.load(jobs)
        world.pass(.seconds(120))
        world.kill()
        var copy = world.past(of: world.lives[world.instance])
        copy.instance += 1
        copy.isRestored = true
        world.pass(.seconds(3600))
        let before = Set(world.openRuns.keys)
        let actions = Agenda.load(
            JobSet(jobs), copy, concurrentRunsMax: 64, seed: 0, at: world.now
        ).actions
        var closed: Set<Run.ID> = []
        for action in actions {
            switch action {
            case .begin(let runs, _, _): #expect(runs.isEmpty, "\(runs.map(\.id))")
            case .start(let runs): #expect(runs.isEmpty, "\(runs.map(\.id))")
            case .close(let summary): closed.insert(summary.id)
            default: break
            }
        }
        #expect(closed == before && !before.isEmpty)
    }
}

extension Run.ID {
    /// The first run that the store has not written.
    fileprivate init?(_ unwritten: [(action: Action, event: UInt64, at: AwakeInstant)]) {
        for entry in unwritten {
            if case .begin(let runs, _, _) = entry.action, let run = runs.first {
                self = run.id
                return
            }
        }
        return nil
    }
}
