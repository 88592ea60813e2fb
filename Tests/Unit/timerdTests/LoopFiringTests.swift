// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Testing
import TimerCore

@testable import TimerDaemon

/// Firings that are decided a moment before they are due.
@Suite struct LoopFiringTests {
    private func job(_ name: String, every span: Duration = .seconds(3600)) -> Job {
        Job(name: Job.Name(name)!, command: .shell("true"), schedule: .every(span))
    }

    /// A run is ordered a moment before it is due, and its program must not start before that.
    @Test func runsAreOrderedBeforeTheyAreDue_andWaitUntilThen() async throws {
        let calendar = WallSchedule([.calendar(try CalendarSpec("*:*:0/0.05"), .utc)])
        let jobs = [
            job("a", every: .milliseconds(70)), job("b", every: .milliseconds(71)),
            Job(name: Job.Name("c")!, command: .shell("true"), schedule: .wall(calendar)),
        ]
        let fixture = try LoopFixture(jobs)
        let loop = fixture.loop
        fixture.launcher.onStart { run in
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        await fixture.waitUntilReady()
        for job in jobs {
            try await fixture.wait {
                fixture.launcher.started.count { $0.run.id.firing.job == job.name } > 10
            }
        }
        for (run, before, now, instant) in fixture.launcher.started {
            #expect(
                instant - now.awake <= EarlyFiring.lead + EarlyFiring.gathering
                    + EarlyFiring.readingNoise)
            // The clocks are read one after the other, and this test's reading is another one. The
            // thread may have been interrupted between its clocks, so the earlier one counts.
            #expect(
                now.wall + (instant - before) + .microseconds(10) >= run.id.firing.scheduled)
        }
    }

    /// One message requests the runs that are decided in one wake-up.
    @Test func runsOfAWakeUpAreOrderedTogether() async throws {
        let jobs = (0..<8).map { job("job-\($0)", every: .milliseconds(300 + $0)) }
        let fixture = try LoopFixture(jobs)
        await fixture.waitUntilReady()
        try await fixture.wait { fixture.launcher.started.count >= jobs.count }
        #expect(fixture.launcher.startMessages <= jobs.count / 2)
        #expect(Set(fixture.launcher.started.map(\.run.id.firing.job)).count == jobs.count)
    }

    /// The first of many runs that start together do not wait for the rows of the last.
    @Test func manyRunsOfAnInstantAreOrderedInParts() async throws {
        let schedule = WallSchedule([.at(try Clocks().wall + .seconds(1))])
        let jobs = (0..<200).map {
            Job(name: Job.Name("job-\($0)")!, command: .shell("true"), schedule: .wall(schedule))
        }
        let fixture = try LoopFixture(jobs, concurrentRunsMax: jobs.count)
        await fixture.waitUntilReady()
        try await fixture.wait { fixture.launcher.started.count >= jobs.count }
        let messages = (jobs.count + CommitBatch.jobsMax - 1) / CommitBatch.jobsMax
        #expect(fixture.launcher.startMessages >= messages)
        #expect(fixture.launcher.mostInAMessage <= CommitBatch.jobsMax)
        #expect(Set(fixture.launcher.started.map(\.run.id.firing.job)).count == jobs.count)
    }

    /// A process that waits would only take the place of one that works. With as many runs that sleep,
    /// a job still starts on time.
    @Test func aDaemonDoesNotLookAheadWhileManyRunsStart() async throws {
        let others = (0..<EarlyFiring.busyRuns).map { job("other-\($0)", every: .milliseconds(30)) }
        let last = job("last", every: .milliseconds(50))
        let fixture = try LoopFixture(others + [last])
        let loop = fixture.loop
        fixture.launcher.onStart { run in
            guard run.id.firing.job == last.name else { return }
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        await fixture.waitUntilReady()
        var fired: (busy: Bool, idle: Bool)?
        while fired == nil {
            fired = await withCheckedContinuation { continuation in
                loop.later { loop in
                    // A firing that waits for the store has no timer.
                    let isAlone =
                        loop.agenda.liveRuns == others.count
                        && loop.agenda.alarm(of: last.name) != nil
                    continuation.resume(
                        returning: isAlone ? Self.firings(of: last.name, in: loop) : nil)
                }
            }
        }
        #expect(fired?.busy == false && fired?.idle == true)
    }

    private static func timeLeft(of job: Job.Name, in loop: isolated Loop) -> Duration {
        loop.agenda.alarm(of: job)!.left(at: loop.clocks.now())
    }

    /// Whether a job fires a moment before it is due while many runs start, and then while none does.
    /// Nil if it was late by then.
    private static func firings(
        of job: Job.Name, in loop: isolated Loop
    ) -> (busy: Bool, idle: Bool)? {
        // Its own timer may fire; that is handled after this.
        while timeLeft(of: job, in: loop) > EarlyFiring.lead {}
        let due = loop.agenda.alarm(of: job)
        // They count for as long as this test takes.
        loop.early.note(starts: EarlyFiring.busyRuns, at: loop.clocks.awake + .seconds(3600))
        let isBusy = loop.isBusy
        #expect(isBusy)
        loop.timerFired(job)
        let firesBusy = loop.agenda.alarm(of: job) != due
        guard let due, due.left(at: loop.clocks.now()) > .zero else { return nil }
        loop.early = EarlyFiring()
        let isStillBusy = loop.isBusy
        #expect(!isStillBusy)
        loop.timerFired(job)
        return (firesBusy, loop.agenda.alarm(of: job) != due)
    }

    /// What decides how the time of a job counts is not dated ahead, and stays in its order.
    @Test func commandsWaitUntilTheClocksAreThere() async throws {
        let fixture = try LoopFixture([job("a"), job("b")])
        await fixture.waitUntilReady()
        let due = await withCheckedContinuation { done in
            fixture.loop.later { loop in
                let due = loop.clocks.now().advanced(by: .seconds(2))
                loop.early = EarlyFiring(until: due.awake)
                #expect(loop.reading().awake == due.awake)
                for name in ["a", "b"] {
                    loop.handle(JobCommand(.pause, Job.Name(name)!, by: .user("ann"))) {
                        answer, _ in
                        #expect(answer == .done)
                    }
                }
                loop.reload(.init(JobSet([self.job("b"), self.job("c")]), rejected: [])) { _ in
                    done.resume(returning: due)
                }
                #expect(loop.gate.isWaiting(for: .clocks))
            }
        }
        let jobs = await fixture.snapshot().jobs
        #expect(jobs.map(\.job.name.description) == ["b", "c"])
        guard case .paused(let pause) = jobs[0].phase else {
            Issue.record("\(jobs[0].phase)")
            return
        }
        #expect(pause.since >= due.wall - .microseconds(10))
        #expect(fixture.clocks.awake >= due.awake)
    }

    @Test func aStopWaitsToo_andNothingIsDecidedAheadMeanwhile() async throws {
        let fixture = try LoopFixture([job("a", every: .milliseconds(20))])
        await fixture.waitUntilReady()
        let (due, closed) = await withCheckedContinuation { done in
            fixture.loop.later { loop in
                let now = loop.clocks.now().advanced(by: .milliseconds(300))
                loop.early = EarlyFiring(until: now.awake)
                loop.shutDown(
                    closed: { done.resume(returning: (now, $0)) }, drained: {})
            }
        }
        #expect(closed.awake >= due.awake)
        await withCheckedContinuation { done in
            fixture.loop.later { loop in
                #expect(
                    !loop.early.isAhead(at: due.awake) && !loop.gate.isWaiting(for: .clocks))
                done.resume()
            }
        }
    }
}
