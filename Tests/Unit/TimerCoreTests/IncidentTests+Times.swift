// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Incidents that depend on time: late, long and stale jobs, and long pauses.
extension IncidentTests {
    @Test func aRunThatWaitsIsLate_untilItStarts() {
        let late = job { $0.lateAfter = .seconds(900) }
        var world = world(
            [Job.every(.seconds(86_400), "other", first: .zero), late], [mail()],
            concurrentRunsMax: 1)
        let (other, start) = (world.started[0], world.now.wall)
        #expect(other.id.firing.job == "other")
        world.pass(.seconds(899))
        #expect(world.kinds.isEmpty)
        world.pass(.seconds(2))
        #expect(world.kinds == [.late] && world.outbox[0].since == start)
        #expect(world.show("backup").incidents.map(\.id.kind) == [.late])
        world.pass(.seconds(300))
        world.end(other)
        #expect(world.kinds == [.late], "it is not over before the process started")
        world.handle(.began(world.started[1].id, at: world.now.wall))
        #expect(world.kinds == [.late, .recovery] && world.incidents.isEmpty)
    }

    @Test func aPausedJobIsNotLate() {
        let late = job { $0.lateAfter = .seconds(900) }
        var world = world(
            [Job.every(.seconds(86_400), "other", first: .zero), late], [mail()],
            concurrentRunsMax: 1)
        _ = world.command(.pause, "backup")
        world.pass(.seconds(2000))
        #expect(world.kinds.isEmpty)
        _ = world.command(.resume, "backup")
        #expect(world.kinds == [.late])
    }

    @Test func aRunIsLong_untilItEnds_alsoIfTheClockIsSet() {
        let long = job { $0.longAfter = .seconds(600) }
        var world = world([long], [mail()])
        world.handle(.began(world.started[0].id, at: world.now.wall))
        world.pass(.seconds(10))
        world.step(.seconds(7200))
        world.pass(.seconds(580))
        #expect(world.kinds.isEmpty, "the clock was set, and only 590 s have passed")
        world.step(.seconds(-9000))
        world.pass(.seconds(11))
        #expect(world.kinds == [.long] && world.outbox[0].run == world.started[0].id)
        #expect(world.outbox[0].since.map { $0 + .seconds(600) } == world.outbox[0].at)
        world.end(world.started[0])
        #expect(world.kinds == [.long, .recovery])
    }

    @Test func aLongRunThatFailsCausesNoRecovery() {
        let long = job { $0.longAfter = .seconds(600) }
        var world = world([long], [mail()])
        world.handle(.began(world.started[0].id, at: world.now.wall))
        world.pass(.seconds(700))
        world.end(world.started[0], .exited(1))
        #expect(world.kinds == [.long, .failure])
        #expect(world.incidents.values.map(\.id.kind) == [.failure])
    }

    @Test(arguments: [RunOutcome.stopped, .replaced])
    func aLongRunThatIsStoppedIsNoRecovery(outcome: RunOutcome) {
        let long = job { $0.longAfter = .seconds(600) }
        var world = world([long], [mail()])
        world.handle(.began(world.started[0].id, at: world.now.wall))
        world.pass(.seconds(700))
        world.end(world.started[0], outcome)
        #expect(world.kinds == [.long])
        #expect(world.incidents.isEmpty)
    }

    @Test func aJobIsStale_fromItsFirstLoadOn_untilARunSucceeds() {
        let stale = job { $0.staleAfter = .seconds(7000) }
        var world = world([stale], [mail([.stale, .recovery])])
        let start = world.now.wall
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(3600))
        world.kill()
        world.load([stale])
        world.pass(.seconds(3399))
        #expect(world.kinds.isEmpty)
        world.pass(.seconds(2))
        #expect(world.kinds == [.stale] && world.outbox[0].since == start)
        world.pass(.seconds(20_000))
        world.endRuns(.exited(1))
        world.pass(.seconds(3600))
        #expect(world.kinds == [.stale])
        world.endRuns()
        #expect(world.kinds == [.stale, .recovery])
        world.pass(.seconds(6999))
        #expect(world.kinds.count == 2)
        world.pass(.seconds(2))
        #expect(world.kinds.last == .stale)
    }

    /// A job whose run succeeded 1000 s ago, and that is stale 7000 s after a success.
    private func staleWorld() -> (World, Job) {
        let stale = job { $0.staleAfter = .seconds(7000) }
        var world = world([stale], [mail([.stale, .recovery])])
        world.endRuns()
        world.pass(.seconds(1000))
        return (world, stale)
    }

    /// Nothing is told for so many seconds, and then that the job is stale.
    private func expectStale(
        after seconds: Int, _ world: inout World, _ location: SourceLocation = #_sourceLocation
    ) {
        world.pass(.seconds(seconds))
        #expect(world.kinds.isEmpty, sourceLocation: location)
        world.pass(.seconds(2))
        #expect(world.kinds == [.stale], sourceLocation: location)
    }

    /// By 2000 s or more the last success is in the future then; with less than 6000 s the clock comes
    /// to it once more.
    @Test(arguments: [10, 2000, 100_000])
    func theTimeWithoutASuccessGoesOnIfTheClockIsSetBack(by seconds: Int) {
        var (world, _) = staleWorld()
        world.step(.seconds(-seconds))
        world.endRuns(.exited(1))
        expectStale(after: 5999, &world)
        // A success counts although it is earlier, by the clock, than the one before it.
        world.pass(.seconds(3600))
        world.endRuns()
        #expect(world.kinds == [.stale, .recovery])
        world.pass(.seconds(6999))
        #expect(world.kinds.count == 2)
        world.pass(.seconds(2))
        #expect(world.kinds.last == .stale)
    }

    @Test func aClockThatWasWrongForAMomentMakesNoJobStale() {
        var (world, _) = staleWorld()
        world.step(.seconds(-100_000))
        world.pass(.seconds(10))
        world.step(.seconds(100_000))
        expectStale(after: 5989, &world)
    }

    /// With the next start it is only known that the last success is in the future.
    @Test func theTimeWithoutASuccessBeginsAgainIfTheClockWasSetBackWithoutTheDaemon() {
        var (world, stale) = staleWorld()
        world.stopCleanly()
        world.wall -= 100_000_000_000
        world.load([stale])
        expectStale(after: 6999, &world)
    }

    @Test func aPauseWhileTheClockIsSetBackDoesNotMakeAJobStale() {
        var (world, _) = staleWorld()
        _ = world.command(.pause, "backup")
        world.pass(.seconds(1000))
        world.step(.seconds(-100_000))
        world.pass(.seconds(50_000))
        _ = world.command(.resume, "backup")
        expectStale(after: 5999, &world)
    }

    @Test func theTimeOfAPauseDoesNotMakeAJobStale() {
        var (world, stale) = staleWorld()
        _ = world.command(.pause, "backup")
        world.pass(.seconds(50_000))
        world.kill()
        world.load([stale])
        world.pass(.seconds(50_000))
        _ = world.command(.resume, "backup")
        #expect(world.kinds.isEmpty)
        expectStale(after: 5999, &world)
    }

    /// A pause that the configuration begins while no daemon runs begins when it is read: the time
    /// before counts, as it does while the machine is off.
    @Test func aPauseThatBeginsWithTheNextStartDoesNotEndTheTimeBeforeIt() {
        var (world, stale) = staleWorld()
        world.stopCleanly()
        world.pass(.seconds(2000))
        var paused = stale
        paused.paused = true
        world.load([paused])
        world.pass(.seconds(50_000))
        _ = world.command(.resume, "backup")
        expectStale(after: 3999, &world)
    }

    /// The daemon starts again 2500 s after it stopped. The job has 500 s of a pause in between.
    private func staleJobPausedWithoutTheDaemon() -> (World, Job) {
        var (world, stale) = staleWorld()
        world.handle(
            .command(
                JobCommand(.pause, "backup", by: .user("ada"), until: .after(.seconds(500)))))
        world.stopCleanly()
        world.pass(.seconds(2500))
        world.load([stale])
        return (world, stale)
    }

    @Test func aPauseThatEndsWithoutTheDaemonEndsOnTimeForAStaleJob() {
        var (world, _) = staleJobPausedWithoutTheDaemon()
        expectStale(after: 3999, &world)
    }

    @Test func aPauseThatAUserEndsAfterItsEndEndedOnTimeForAStaleJob() {
        var (world, _) = staleJobPausedWithoutTheDaemon()
        _ = world.command(.resume, "backup")
        expectStale(after: 3999, &world)
    }

    @Test func aPauseThatEndedCountsNoLongerForAStaleJob_alsoIfADaemonStopsBeforeItNotices() {
        var (world, stale) = staleJobPausedWithoutTheDaemon()
        world.stopCleanly()
        world.pass(.seconds(1000))
        world.load([stale])
        expectStale(after: 2999, &world)
    }

    @Test func aJobIsStaleAfterAWhileWithoutAMachine() {
        let stale = job { $0.staleAfter = .seconds(7000) }
        var world = world([stale], [mail([.stale])])
        world.endRuns()
        world.reboot(away: .seconds(8000))
        world.load([stale])
        #expect(world.kinds == [.stale])
    }

    @Test func aLongPauseIsTold() {
        let paused = job { $0.pausedAfter = .seconds(86_400) }
        var world = world([paused], [mail()])
        world.endRuns()
        let start = world.now.wall
        _ = world.command(.pause, "backup")
        world.pass(.seconds(86_399))
        #expect(world.kinds.isEmpty)
        world.pass(.seconds(2))
        #expect(world.kinds == [.pausedLong] && world.outbox[0].since == start)
        _ = world.command(.resume, "backup")
        #expect(world.kinds == [.pausedLong, .recovery])
    }

    @Test func skippedFiringsAreOneIncident_untilARunStarts() {
        let frequent = Job.every(.seconds(60), first: .zero).with { $0.notify = ["ops"] }
        var world = world([frequent], [mail()])
        world.pass(.seconds(301))
        #expect(world.kinds == [.skipped] && world.outbox[0].skipReason == "still-running")
        #expect(world.incidents.values.map(\.count) == [5])
        world.endRuns()
        #expect(world.kinds == [.skipped])
        world.pass(.seconds(60))
        #expect(world.kinds == [.skipped, .recovery])
        world.handle(.command(JobCommand(.skipNext, "backup", by: .user("ada"), count: 1)))
        world.endRuns()
        world.pass(.seconds(60))
        #expect(world.kinds.count == 2, "a user requested it")
    }

    @Test func anIncidentIsRepeated_whileItIsNotOver() {
        var world = world([job()], [mail([.failure, .recovery], repeating: .seconds(86_400))])
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(86_399))
        #expect(world.outbox.count == 1)
        world.pass(.seconds(2))
        #expect(world.outbox.map(\.isRepeat) == [false, true])
        world.kill()
        world.pass(.seconds(90_000))
        world.load([job()])
        #expect(world.outbox.map(\.isRepeat) == [false, true, true])
        world.pass(.seconds(3600))
        world.endRuns()
        world.pass(.seconds(200_000))
        #expect(world.kinds == [.failure, .failure, .failure, .recovery])
    }
}
