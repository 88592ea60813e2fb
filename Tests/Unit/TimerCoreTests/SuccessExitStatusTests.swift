// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What the end of a run means by `success-exit-codes`, `success-signals` and `skip-exit-codes`.
@Suite struct SuccessExitStatusTests {
    private var job: Job {
        var job = Job.every(.seconds(3600), first: .zero).with {
            $0.notify = ["ops"]
            $0.retry.retries = 1
            $0.retry.delay = .seconds(10)
        }
        job.execution.success = SuccessExitStatus(exitCodes: [0, 3], signals: ["SIGTERM"])
        job.execution.skipExitCodes = [75]
        return job
    }

    private func world(_ job: Job, _ notifiers: [Notifier] = []) -> World {
        var world = World()
        world.notifiers = notifiers
        world.load([job])
        world.pass(.zero)
        return world
    }

    private func mail(_ on: Set<NotificationKind>, after: Int = 1) -> Notifier {
        Notifier(
            name: "ops", transport: .mail(to: ["root"], from: nil, contentType: nil), on: on,
            after: after)
    }

    /// What a run reports: what is recorded of it, the result by which it is counted, and whether it
    /// is retried.
    @Test(
        arguments: [
            (.exited(0), .exited(0), .success, false), (.exited(3), .exited(3), .success, false),
            (.exited(75), .skipped(.exit(75)), .skipped, false),
            (.exited(1), .exited(1), .failed, true),
            (.signalled("SIGTERM"), .signalled("SIGTERM"), .success, false),
            (.signalled("SIGKILL"), .signalled("SIGKILL"), .failed, true),
            (.timedOut, .timedOut, .timedOut, true),
            (
                .skipped(.condition("ac-power")), .skipped(.condition("ac-power")), .skipped, false
            ),
        ] as [(RunOutcome, RunOutcome, RunResult, Bool)])
    func whatTheEndOfARunMeans(
        reported: RunOutcome, recorded: RunOutcome, result: RunResult, isRetried: Bool
    ) throws {
        var world = world(job)
        world.end(world.started[0], reported)
        let last = try #require(world.show("backup").lastRun)
        #expect(last.outcome == recorded && last.result == result)
        #expect(last.failed == (result == .failed || result == .timedOut))
        #expect((world.retryTimers["backup"] != nil) == isRetried)
        let notice = world.notices.contains {
            if case .runEnded(_, recorded, _, failed: last.failed) = $0 { true } else { false }
        }
        #expect(notice)
    }

    @Test func aStoppedRunWasNotSkipped_whateverItsExitCodeIs() {
        var world = world(job)
        #expect(world.command(.kill, "backup") != nil)
        world.end(world.started[0], .exited(75))
        #expect(world.show("backup").lastRun?.outcome == .stopped)
    }

    /// The signal is the one that a stop or a timeout sends.
    @Test func aStoppedRunDidNotSucceed_whateverEndedIt() {
        var world = world(job)
        #expect(world.command(.kill, "backup") != nil)
        world.end(world.started[0], .signalled("SIGTERM"))
        #expect(world.show("backup").lastRun?.result == .stopped)
    }

    @Test func aRunWithNothingToDoIsNotTheLastSuccess_alsoAfterARestart() {
        var world = world(job)
        world.end(world.started[0])
        let succeeded = world.now.wall
        func lastSuccess(_ world: World) -> WallInstant? {
            world.agenda.measures(from: 0, count: .max, at: world.now).first?.lastSuccess
        }
        world.pass(.seconds(3600))
        world.end(world.started[1], .exited(75))
        #expect(lastSuccess(world) == succeeded)
        world.kill()
        world.load([job])
        #expect(lastSuccess(world) == succeeded)
        #expect(world.show("backup").lastRun?.outcome == .skipped(.exit(75)))
    }

    @Test func aSuccessBySignalIsTheLastSuccess_alsoAfterARestart() {
        var world = world(job)
        world.end(world.started[0], .signalled("SIGTERM"))
        let succeeded = world.now.wall
        world.kill()
        world.load([job])
        let measures = world.agenda.measures(from: 0, count: .max, at: world.now).first
        #expect(measures?.lastSuccess == succeeded)
    }

    // MARK: - Incidents

    @Test func aRunWithNothingToDoChangesNoCountOfFailures() {
        var job = job
        job.policy.retry.retries = 0
        var world = world(job, [mail([.failure, .recovery, .success, .skipped], after: 2)])
        for (index, code) in [1, 75, 1, 75, 0].enumerated() {
            world.end(world.started[index], .exited(Int32(code)))
            world.pass(.seconds(3600))
            #expect(world.kinds == (index < 2 ? [] : index < 4 ? [.failure] : world.kinds))
        }
        #expect(world.kinds == [.failure, .success, .recovery])
        #expect(world.outbox[0].failedInARow == 2)
    }

    @Test func aJobThatOnlyHadNothingToDoBecomesStale() {
        var job = job
        job.policy.staleAfter = .seconds(7000)
        var world = world(job, [mail([.stale, .recovery])])
        world.end(world.started[0])
        for index in 1...2 {
            world.pass(.seconds(3600))
            world.end(world.started[index], .exited(75))
        }
        #expect(world.kinds == [.stale])
    }

    // MARK: - Others

    @Test func anIntervalFromTheEndCountsFromIt() {
        var job = Job.every(.seconds(60), first: .zero)
        job.from = .end
        job.execution.skipExitCodes = [75]
        var world = world(job)
        world.pass(.seconds(30))
        world.end(world.started[0], .exited(75))
        world.pass(.seconds(59))
        #expect(world.started.count == 1)
        world.pass(.seconds(1))
        #expect(world.started.count == 2)
    }

    @Test func thereIsNothingToRetryAfterIt() {
        var world = world(job)
        world.end(world.started[0], .exited(75))
        #expect(
            world.command(.retry, "backup")
                == .unchanged("its last run did not fail: it was skipped (exit 75)"))
    }

    @Test(
        arguments: [
            ("SIGTERM", "SIGTERM"), ("TERM", "SIGTERM"), ("SIGIO", "SIGPOLL"), ("IO", "SIGPOLL"),
            ("SIGCHLD", nil), ("term", nil), ("15", nil), ("", nil), ("SIG", nil),
        ] as [(String, String?)])
    func aSignalHasTheNameThatSystemdWrites(text: String, name: String?) {
        #expect(SuccessExitStatus.signal(named: text) == name)
    }
}
