// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Testing
import TimerCore

@testable import TimerDaemon

/// When a loop that starts is ready.
@Suite struct LoopReadinessTests {
    private let jobs = ["a", "b"].map {
        Job(name: Job.Name($0)!, command: .shell("true"), schedule: .every(.seconds(3600)))
    }

    @Test func aLoopIsReadyOnceTheRunnerIs_andWorksBefore() async throws {
        let fixture = try LoopFixture(jobs, preparationMax: .seconds(3600))
        await fixture.waitUntilBegun()
        #expect(await fixture.snapshot().jobs.count == 2)
        #expect(fixture.reportsOfReadiness == [])
        fixture.launcher.release()
        await fixture.waitUntilReady()
        #expect(fixture.reportsOfReadiness == [true])
    }

    /// With very many jobs, setting their timers takes a while.
    @Test func aLoopIsReadyBeforeAllTimersAreSet() async throws {
        let jobs = (0..<3 * JobTimers<JobTimer>.perPortion).map {
            Job(
                name: Job.Name("job-\($0)")!, command: .shell("true"),
                schedule: .every(.seconds(3600)))
        }
        let fixture = try LoopFixture(jobs)
        await fixture.waitUntilReady()
        await fixture.waitUntilBegun()
        #expect(fixture.wasReadyBeforeTimers)
        let timers = await withCheckedContinuation { continuation in
            fixture.loop.later { continuation.resume(returning: $0.timers.count) }
        }
        #expect(timers == jobs.count)
    }

    @Test func aJobThatIsDueFiresWhileTimersAreStillToBeSet() async throws {
        let due = Job(
            name: Job.Name("due")!, command: .shell("true"), schedule: .every(.milliseconds(50)))
        let fixture = try LoopFixture(jobs + [due])
        let loop = fixture.loop
        fixture.launcher.onStart { run in
            loop.later { $0.receive(.ended(run.id, .exited(0), RunUsage())) }
        }
        await fixture.waitUntilReady()
        let names = jobs.map(\.name)
        var left: Duration?
        while left == nil {
            left = await withCheckedContinuation { continuation in
                loop.later { loop in
                    // A firing that waits for the store has no timer.
                    guard loop.agenda.alarm(of: due.name) != nil else {
                        return continuation.resume(returning: nil)
                    }
                    // Its own timer may fire; that is handled after this.
                    while Self.timeLeft(in: loop) > .zero {}
                    var room = 0
                    for name in names { loop.setTimer(of: name, room: &room) }
                    loop.takeTurn()
                    continuation.resume(returning: Self.timeLeft(in: loop))
                }
            }
        }
        #expect(left.map { $0 > .zero } == true)
    }

    /// The time until a job is due.
    private static func timeLeft(in loop: isolated Loop) -> Duration {
        loop.agenda.nextRing(at: loop.clocks.now())!.after
    }

    /// Others do not wait for a runner that hangs. What it answers later has no effect.
    @Test func aLoopIsReadyWithoutARunnerThatHangs() async throws {
        let fixture = try LoopFixture(jobs, preparationMax: .zero)
        await fixture.waitUntilReady()
        fixture.launcher.release()
        _ = await fixture.snapshot()
        #expect(fixture.reportsOfReadiness == [false])
    }

    /// READY after STOPPING would make the service manager take the daemon for one that runs.
    @Test func aLoopThatIsShutDownBeforeIsNeverReady() async throws {
        let fixture = try LoopFixture(jobs, preparationMax: .seconds(3600))
        await fixture.waitUntilBegun()
        await withCheckedContinuation { continuation in
            fixture.loop.later { loop in
                loop.shutDown(closed: { _ in }, drained: { continuation.resume() })
            }
        }
        fixture.launcher.release()
        _ = await fixture.snapshot()
        #expect(fixture.reportsOfReadiness == [])
    }
}
