// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Why runs are made, and `retry`.
@Suite struct RunCauseTests {
    private static let ada = Firing.Cause.requested(by: .user("ada"))

    @Test(arguments: [
        (Firing.Cause.schedule, "schedule"), (.catchUp, "catch-up"), (.resume, "resume"),
        (ada, "requested(ada)"),
        (.requested(by: .user("a) (b")), "requested(a) (b)"),
        (.requested(by: .user("ada"), variables: .lost), "requested-with-variables(ada)"),
        (
            .requested(
                by: .user("a] (b"), arguments: RunArguments(["full", "a b"]), isForced: true),
            "requested-forced[full a%20b](a] (b)"
        ),
    ])
    func isReadAsItWasWritten(cause: Firing.Cause, text: String) {
        #expect(cause.description == text && Firing.Cause(text) == cause)
    }

    @Test(arguments: ["", "Schedule", "requested", "requested(ada", "schedule "])
    func readsNothingElse(text: String) { #expect(Firing.Cause(text) == nil) }

    @Test func aRunSaysWhyItWasMade_andItsFurtherAttemptsSayTheSame() {
        var world = World()
        world.load([
            Job.every(.seconds(60)).with {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(5)
            }
        ])
        world.pass(.seconds(60))
        world.endRuns()
        #expect(world.started.last?.firing.cause == .schedule)
        #expect(world.command(.run, "backup")?.run == world.started.last?.id)
        let cause = world.started.last?.firing.cause
        #expect(cause?.word == "requested" && cause?.requester != nil)
        world.endRuns(.exited(1))
        world.pass(.seconds(5))
        #expect(world.started.last?.id.attempt == 2 && world.started.last?.firing.cause == cause)
    }

    @Test func whatWasMissedIsCaughtUp_andOnlyThat() throws {
        for policy in [Policy.Missed.runOnce, .runAll] {
            var world = World()
            world.load([try Job.cron("* * * * *").with { $0.onMissed = policy }])
            world.sleep(.seconds(150))
            world.handle(.clockChanged)
            world.pass(.zero)
            while let run = world.show("backup").live.first?.id,
                let started = world.started.last(where: { $0.id == run })
            {
                world.end(started)
            }
            let late = world.started
            #expect(late.allSatisfy { $0.firing.cause == .catchUp } && !late.isEmpty)
            world.pass(.seconds(60))
            #expect(world.started.count == late.count + 1)
            #expect(world.started.last?.firing.cause == .schedule)
        }
    }

    @Test func whatAPauseHeldUpSaysSo() throws {
        for job in [
            Job.every(.seconds(60)).with { $0.onResume = .fireIfDue },
            try Job.cron("* * * * *").with { $0.onResume = .fireIfDue },
        ] {
            var world = World()
            world.load([job])
            _ = world.command(.pause, "backup")
            world.pass(.seconds(100))
            _ = world.command(.resume, "backup")
            #expect(world.started.map(\.firing.cause) == [.resume])
        }
    }

    // MARK: - retry

    @Test(
        arguments: [
            (RunOutcome.exited(0), "its last run succeeded"),
            (.stopped, "its last run did not fail: it was stopped on request"),
            (
                .skipped(.condition("ac-power")),
                "its last run did not fail: it was skipped (condition ac-power)"
            ),
            (.exited(1), nil), (.signalled("SIGSEGV"), nil), (.timedOut, nil),
            (.spawnFailed(errno: "ENOENT", what: "exec /bin/x"), nil), (.lost(.runner), nil),
        ] as [(RunOutcome, String?)])
    func retryRunsAgainWhatFailed(outcome: RunOutcome, reason: String?) {
        var world = World()
        world.load([.every(.seconds(60))])
        #expect(world.command(.retry, "backup") == .unchanged("it has never run"))
        world.pass(.seconds(60))
        let first = world.started[0]
        #expect(
            world.command(.retry, "backup")
                == .unchanged("its first run, \(first.id), has not ended"))
        world.end(first, outcome)
        let answer = world.command(.retry, "backup")
        guard let reason else {
            #expect(world.started.count == 2 && answer?.run == world.started[1].id)
            #expect(world.started[1].firing.cause.word == "requested")
            // It runs, and the one before it is still the last one.
            let again = world.command(.retry, "backup")
            if case .refused = again {} else { Issue.record("\(String(describing: again))") }
            world.endRuns()
            #expect(world.command(.retry, "backup") == .unchanged("its last run succeeded"))
            return
        }
        #expect(answer == .unchanged(reason) && world.started.count == 1)
    }

    /// A cancelled retry did nothing: what failed is the attempt before it.
    @Test func retryRunsAgainWhatFailed_alsoAfterItsRetryWasCancelled() throws {
        for startsRetry in [false, true] {
            var world = World()
            world.load([
                Job.every(.seconds(60)).with {
                    $0.retry.retries = 2
                    $0.retry.delay = .seconds(5)
                }
            ])
            world.pass(.seconds(60))
            world.endRuns(.exited(1))
            if startsRetry { world.pass(.seconds(5)) }
            let retry = try #require(world.show("backup").live.first?.id)
            #expect(retry.attempt == 2)
            if startsRetry {
                let now = WallInstant(microsecondsSinceEpoch: world.wall)
                world.handle(.began(retry, at: now))
            }
            _ = world.command(.kill, "backup")
            if startsRetry { world.endRuns(.stopped) }
            #expect(world.closed[retry] == .stopped)
            let answer = world.command(.retry, "backup")
            // One that was running was ended on purpose.
            #expect((answer?.run != nil) == !startsRetry, "\(String(describing: answer))")
        }
    }

    @Test func retryTakesThePlaceOfAnAttemptThatWaits() {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.retry.retries = 2 }])
        world.pass(.seconds(60))
        world.endRuns(.exited(1))
        let waiting = world.show("backup").live.first?.id
        #expect(waiting?.attempt == 2)
        #expect(world.command(.retry, "backup")?.run?.attempt == 1)
        #expect(waiting.flatMap { world.closed[$0] } == .replaced)
        // A paused job can be run again as well.
        world.endRuns(.exited(1))
        for verb in [JobCommand.Verb.pause, .resume] {
            _ = world.command(verb, "backup")
            #expect(world.command(.retry, "backup")?.run != nil)
            world.endRuns(.exited(1))
        }
    }

    @Test func aRunIsFoundWhileItHasNotEnded() throws {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.concurrency = .queue }])
        let first = try #require(world.command(.run, "backup")?.run)
        let second = try #require(world.command(.run, "backup")?.run)
        #expect(world.agenda.activeRun(first)?.state == .starting)
        #expect(world.agenda.activeRun(second)?.wait == .previousRun)
        // Its job is gone, and it is not.
        world.handle(.reload(JobSet([])))
        #expect(world.agenda.activeRun(first)?.id == first)
        world.endRuns()
        #expect(world.agenda.activeRun(first) == nil)
    }

    // MARK: - Variables of one run

    private func settable(_ change: (inout Policy) -> Void = { _ in }) -> Job {
        var job = Job.every(.seconds(60)).with(change)
        job.execution.runVariables = ["A", "LD_PRELOAD"]
        return job
    }

    private func request(
        _ values: [String: String], _ world: inout World
    ) -> Answer? {
        world.handle(
            .command(
                JobCommand(.run, "backup", by: .user("ada"), variables: RunVariables(values))))
        return world.answers.last
    }

    @Test func onlyWhatTheJobAllowsIsSet_andNoTextHasIt() {
        var world = World()
        world.load([settable()])
        for values in [
            ["B": "1"], ["LD_PRELOAD": "/x"], ["A": "\0"], ["A": "1", "B": "2"],
            ["A": String(repeating: "x", count: RunVariables.bytesMax)],
        ] {
            let answer = request(values, &world)
            if case .refused = answer {} else { Issue.record("\(values) \(answer as Any)") }
        }
        #expect(world.started.isEmpty)
        #expect(request(["A": "secret"], &world)?.run != nil)
        let run = world.started[0]
        #expect(run.firing.cause.variables.values == ["A": "secret"])
        var dumped = ""
        dump(run, to: &dumped)
        for text in ["\(run)", dumped, "\(world.notices)", "\(run.firing.cause)"] {
            #expect(!text.contains("secret"))
        }
    }

    /// They are not saved, so that the run must not wait for anything.
    @Test(arguments: [Policy.Concurrency.queue, .replace])
    func aRunWithVariablesDoesNotWait(policy: Policy.Concurrency) {
        var world = World()
        world.load([settable { $0.concurrency = policy }])
        #expect(request(["A": "1"], &world)?.run != nil)
        guard case .refused(let reason) = request(["A": "1"], &world) else {
            Issue.record("\(world.answers)")
            return
        }
        #expect(reason.contains("cannot wait") && world.started.count == 1)
        world.endRuns()
        #expect(request(["A": "1"], &world)?.run != nil)
    }

    /// A further attempt has them as well, but none is made by a daemon that does not know them any more.
    @Test func furtherAttemptsHaveThem_andAreNotMadeWithoutThem() throws {
        for isRestarted in [false, true] {
            var world = World()
            world.load([
                settable {
                    $0.retry.retries = 1
                    $0.retry.delay = .seconds(5)
                }
            ])
            #expect(request(["A": "1"], &world)?.run != nil)
            world.endRuns(.exited(1))
            let attempt = try #require(world.show("backup").live.first?.id)
            if isRestarted {
                // What the store gives back.
                for (id, open) in world.openRuns {
                    var run = open.0
                    run.firing.cause = try #require(Firing.Cause(run.firing.cause.description))
                    world.openRuns[id] = (run, open.begun, open.2)
                }
                world.stopCleanly()
                world.load([settable { $0.retry.retries = 1 }])
            }
            world.pass(.seconds(5))
            if isRestarted {
                #expect(world.started.count == 1 && world.closed[attempt] == .lost(.daemon))
            } else {
                #expect(world.started.last?.id == attempt)
                #expect(world.started.last?.firing.cause.variables.values == ["A": "1"])
            }
        }
    }
}
