// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// What a daemon instance restores of the state of the previous one.
@Suite struct RecoveryTests {
    /// The runner reports the start again to a daemon that starts later.
    @Test func aRunIsActiveSinceItsStart_wheneverThatIsReported() {
        var world = World()
        world.load([Job.every(.seconds(10))])
        world.pass(.seconds(10))
        let run = world.started[0].id
        let began = world.now.wall
        world.pass(.seconds(5))
        world.handle(.began(run, at: began))
        #expect(world.show("backup").live.map(\.began) == [began])
    }

    private let job = Job.every(.seconds(60))

    @Test func theVeryFirstStartMissesNothing() {
        var world = World()
        world.load([job])
        #expect(
            world.notices.first == .daemonStarted(.firstStart, away: nil, jobs: 1, wereCounting: 0))
        #expect(world.started.isEmpty && world.show("backup").remaining == .seconds(60))
    }

    @Test func aCleanStopLosesNothing_andDowntimeDoesNotCount() {
        var world = World()
        world.load([job])
        world.pass(.seconds(20))
        world.stopCleanly()
        world.pass(.seconds(3600))
        world.load([job])
        #expect(world.show("backup").accrued == .seconds(20))
        #expect(
            world.notices.last { if case .daemonStarted = $0 { true } else { false } }
                == .daemonStarted(.clean, away: .seconds(3600), jobs: 1, wereCounting: 0))
        #expect(!world.notices.contains { if case .recovered = $0 { true } else { false } })
    }

    /// What the next start writes about jobs that a clean stop left.
    private func saved(
        by world: inout World, _ jobs: [Job], isDamaged: Bool = false
    ) throws -> JobSetChange {
        world.stopCleanly()
        world.pass(.seconds(3600))
        var past = world.past(of: world.lives[world.instance])
        past.instance += 1
        past.isDamaged = isDamaged
        let actions = Agenda.load(
            JobSet(jobs), past, concurrentRunsMax: 64, seed: 0, at: world.now
        ).actions
        guard case .storeJobSet(let change, durable: true)? = actions.first else {
            throw NothingSaved()
        }
        return change
    }

    private struct NothingSaved: Error {}

    @Test func aStartAfterACleanStopTakesTheRecordsOfMostJobsTogether() throws {
        var world = World()
        let jobs = [
            job, Job.every(.seconds(60), "paused"), Job.every(.seconds(60), "also"),
            Job.every(.seconds(60), "uptime").counting(.boottime),
        ]
        world.load(jobs)
        world.pass(.seconds(20))
        _ = world.command(.pause, "paused")
        let change = try saved(by: &world, jobs)
        #expect(change.records.map(\.job) == ["paused", "uptime"])
        #expect(change.renewal?.at == world.now)
        #expect(change.renewal?.jobs == 4)
        world.load(jobs)
        #expect(world.show("backup").accrued == .seconds(20))
        #expect(world.records["also"]?.isCounting == true)
    }

    @Test func aDamagedStoreIsWrittenRecordByRecord() throws {
        var world = World()
        world.load([job])
        let change = try saved(by: &world, [job], isDamaged: true)
        #expect(change.renewal == nil)
        #expect(change.records.map(\.job) == ["backup"])
    }

    @Test func aKillLosesTheTimeSinceTheLastHeartbeat_andIsReported() {
        var world = World()
        world.load([job])
        world.pass(.seconds(20))
        world.beat()
        world.pass(.milliseconds(400))
        world.kill()
        world.pass(.seconds(100))
        world.load([job])
        #expect(world.show("backup").accrued == .seconds(20))
        let recovered = Notice.recovered(
            "backup", accrued: .seconds(20), credited: .seconds(20), maxLoss: .seconds(1),
            .active)
        #expect(world.notices.contains(recovered))
        #expect(
            world.notices.contains(
                .daemonStarted(
                    .killed, away: .seconds(100) + .milliseconds(400), jobs: 1, wereCounting: 1,
                    lostAtMost: .seconds(1))))
        world.pass(.seconds(40))
        #expect(world.started.count == 1)
    }

    @Test func aPowerFailureLosesTheTimeSinceTheLastCheckpoint() {
        var world = World()
        world.load([job])
        world.pass(.seconds(25))
        world.handle(.checkpoint())
        world.pass(.seconds(20))
        world.beat()
        world.reboot(away: .seconds(500))
        world.load([job])
        #expect(world.show("backup").accrued == .seconds(25))
        #expect(
            world.notices.contains(
                .recovered(
                    "backup", accrued: .seconds(25), credited: .zero, maxLoss: .seconds(30),
                    .active)
            ))
        guard
            case .daemonStarted(.reboot, let away, _, 1, _)? = world.notices.last(where: {
                if case .daemonStarted = $0 { true } else { false }
            })
        else {
            Issue.record("\(world.notices)")
            return
        }
        #expect(away == .seconds(520))
    }

    /// An instance that dies before its first heartbeat must not use the heartbeat of the previous
    /// instance to count its downtime, and must not count a credit twice.
    @Test func aHeartbeatCountsOnlyForItsOwnInstance() {
        var world = World()
        world.load([job])
        world.pass(.seconds(20))
        world.beat()
        world.kill()
        world.pass(.seconds(10))
        world.load([job])
        world.kill()
        world.load([job])
        #expect(world.show("backup").accrued == .seconds(20))
    }

    /// Each instance writes heartbeats, but another process has locked the store, or the disk is
    /// full.
    @Test(arguments: [1, 2, 5])
    func killsBeforeAnythingIsSaved_loseOneHeartbeatEach(kills: Int) {
        var world = World()
        world.load([Job.every(.seconds(3600))])
        world.pass(.seconds(20))
        world.beat()
        world.pass(.milliseconds(400))
        world.kill()
        for _ in 0..<kills {
            world.pass(.seconds(7))
            world.load([Job.every(.seconds(3600))], canSave: false)
            world.beat()
            world.pass(.seconds(30))
            world.beat()
            world.pass(.milliseconds(400))
            world.kill()
        }
        world.pass(.seconds(7))
        world.load([Job.every(.seconds(3600))])
        #expect(world.show("backup").accrued == .seconds(20 + 30 * kills))
        let recovered = world.notices.compactMap { notice in
            if case .recovered(_, _, _, let loss, _) = notice { loss } else { nil }
        }
        #expect(recovered.last == .seconds(1 + kills))
    }

    @Test func killsDirectlyAfterTheStart_loseNothingMore() {
        var world = World()
        world.load([Job.every(.seconds(3600))])
        world.pass(.seconds(20))
        world.beat()
        world.kill()
        // The daemon is killed before its first heartbeat, and after it.
        world.load([Job.every(.seconds(3600))], canSave: false)
        world.kill()
        world.load([Job.every(.seconds(3600))], canSave: false)
        world.beat()
        world.kill()
        world.load([Job.every(.seconds(3600))])
        #expect(world.show("backup").accrued == .seconds(20))
    }

    @Test func afterACleanStop_theTimeOfAnInstanceThatSavedNothingCounts() {
        var world = World()
        world.load([Job.every(.seconds(3600))])
        world.pass(.seconds(20))
        world.beat()
        world.stopCleanly()
        world.pass(.seconds(100))
        world.load([Job.every(.seconds(3600))], canSave: false)
        world.pass(.seconds(30))
        world.beat()
        world.kill()
        world.pass(.seconds(100))
        world.load([Job.every(.seconds(3600))])
        #expect(world.show("backup").accrued == .seconds(50))
        guard
            case .daemonStarted(.killed, away: .seconds(100), _, _, _)? = world.notices.last(
                where: {
                    if case .daemonStarted = $0 { true } else { false }
                })
        else {
            Issue.record("\(world.notices)")
            return
        }
    }

    @Test func whatIsDueAtTheStartFiresAtOnce() {
        var world = World()
        world.load([job])
        world.pass(.seconds(59))
        world.beat()
        world.kill()
        world.load([.every(.seconds(30))])
        world.pass(.zero)
        #expect(world.started.count == 1 && world.started[0].firing.missed == 0)
        #expect(world.show("backup").accrued == .seconds(29))
    }

    @Test func aStartedRunIsLost_andNeverStartedAgain() {
        var world = World()
        world.load([job])
        world.pass(.seconds(60))
        let run = world.started[0].id
        world.kill()
        world.load([job])
        #expect(world.closed[run] == .lost(.daemon) && world.started.count == 1)
        #expect(world.show("backup").lastRun?.outcome == .lost(.daemon))
    }

    @Test func aRunThatWasActiveAtAPowerFailureIsLost() {
        var world = World()
        world.load([job])
        world.pass(.seconds(60))
        let run = world.started[0].id
        world.reboot(away: .seconds(10))
        world.load([job])
        #expect(world.closed[run] == .lost(.reboot))
    }

    @Test func aRecordedRunThatNeverStartedStartsNow() {
        var world = World(concurrentRunsMax: 1)
        world.load([.every(.seconds(5), "a"), .every(.seconds(5), "b")])
        world.pass(.seconds(5))
        #expect(world.started.map(\.id.firing.job) == ["a"])
        world.kill()
        world.load([.every(.seconds(5), "a"), .every(.seconds(5), "b")])
        #expect(world.started.map(\.id.firing.job) == ["a", "b"])
        #expect(world.notices.contains(.runRecovered(world.started[1].id)))
    }

    @Test func aRunOfARemovedJobIsLost() {
        var world = World(concurrentRunsMax: 1)
        world.load([.every(.seconds(5), "a"), .every(.seconds(5), "b")])
        world.pass(.seconds(5))
        world.kill()
        world.load([.every(.seconds(5), "a")])
        #expect(world.closed.count == 2 && world.openRuns.isEmpty)
    }

    /// No sequence of instances, however they end, counts more than the time that really passed, or
    /// loses more than the kills may cost.
    @Test func elapsedTimeStaysWithinItsBounds_overRandomInstances() {
        var random = SeededRandom()
        for _ in 0..<500 {
            var world = World()
            var counted = Duration.zero
            var lossMax = Duration.zero
            var sinceSign = Duration.zero
            world.load([.every(.seconds(100_000))])
            for _ in 0..<40 {
                let span = Duration.milliseconds(random.int(below: 3000))
                switch random.int(below: 12) {
                case 0:
                    world.kill()
                    lossMax += sinceSign
                    world.pass(span)
                    world.load([.every(.seconds(100_000))])
                    sinceSign = .zero
                case 1:
                    world.stopCleanly()
                    world.pass(span)
                    world.load([.every(.seconds(100_000))])
                    sinceSign = .zero
                case 2:
                    _ = world.command(.pause, "backup")
                    world.pass(span)
                    world.beat()
                    _ = world.command(.resume, "backup")
                    sinceSign = .zero
                case 3: world.sleep(span)
                case 4:
                    world.handle(.checkpoint())
                    sinceSign = .zero
                case 5, 6, 7:
                    world.beat()
                    sinceSign = .zero
                default:
                    world.pass(span)
                    counted += span
                    sinceSign += span
                }
                let shown = world.show("backup").active
                #expect(shown <= counted, "gained: \(shown) of \(counted)")
                #expect(shown >= counted - lossMax, "lost: \(shown) of \(counted)")
            }
        }
    }
}
