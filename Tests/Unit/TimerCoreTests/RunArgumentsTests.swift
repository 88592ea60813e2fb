// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// The words that a user appends to the command of a job for one run.
@Suite struct RunArgumentsTests {
    @Test(arguments: [
        ([], ""), (["full"], "full"), (["--full", "since=2026-12-24"], "--full since=2026-12-24"),
        (["a b", "100%", "(x)", "[y]"], "a%20b 100%25 %28x%29 %5By%5D"), (["ß"], "%C3%9F"),
    ])
    func isReadAsItWasWritten(words: [String], text: String) {
        let arguments = RunArguments(words)
        #expect(arguments.description == text && RunArguments(text) == arguments)
    }

    @Test(arguments: [
        " ", "a ", " a", "a  b", "%", "%2", "%2g", "%+1", "%61", "%c3%9f", "%00", "%0A", "%C3", "ß",
        "(",
        Array(repeating: "a", count: RunArguments.countMax + 1).joined(separator: " "),
        String(repeating: "a", count: RunArguments.wordBytesMax + 1),
    ])
    func readsNothingElse(text: String) {
        #expect(RunArguments(text) == nil)
        #expect(Firing.Cause("requested[\(text)](ada)") == nil)
    }

    @Test(arguments: [
        "requested[](ada)", "requested[a(ada)", "requesteda](ada)", "requested[a]b(ada)",
        "requested[a]-alone(ada)",
    ])
    func aCauseWithAnotherFormIsNotRead(text: String) { #expect(Firing.Cause(text) == nil) }

    @Test(arguments: [
        (["full"], nil), (["daily", "full"], nil), ([], nil),
        (
            ["ful"],
            "run-arguments of the job does not allow \"ful\" (did you mean \"full\"?); it allows \"full\", \"daily\", \"é\""
        ),
        (
            ["full", "x;y"],
            "run-arguments of the job does not allow \"x;y\"; it allows \"full\", \"daily\", \"é\""
        ),
        (["full", "full"], "has the argument \"full\" twice; each is given once"),
        // The same letter in other bytes: a program would get another word.
        (["\u{E9}"], nil),
        (
            ["e\u{301}"],
            "run-arguments of the job does not allow \"e\u{301}\"; it allows \"full\", \"daily\", \"é\""
        ),
    ])
    func onlyWhatTheJobNamesIsAllowed(words: [String], refusal: String?) {
        let allowed = ["full", "daily", "\u{E9}"]
        let arguments = RunArguments(words)
        #expect(arguments.refusal(allowed: allowed) == refusal)
        #expect((arguments.fault(allowed: allowed) == nil) == (refusal == nil))
        #expect(
            arguments.refusal(allowed: [])
                == (words.isEmpty ? nil : "takes no arguments: it has no run-arguments"))
    }

    @Test(arguments: [
        "", "a\nb", "\0", "\u{1B}[0m", "a\u{2028}b", String(repeating: "ä", count: 65),
    ])
    func aWordHasLimits(word: String) { #expect(RunArguments.fault(inWord: word) != nil) }

    @Test func aWordWithASpaceIsShownInQuotes() {
        #expect(RunArguments.shown(["full", "a b", "ß", "\""]) == #"full "a b" ß "\"""#)
        #expect(RunArguments.fault(inWord: String(repeating: "ä", count: 64)) == nil)
    }

    // MARK: - Runs

    private static func job(_ change: (inout Policy) -> Void = { _ in }) -> Job {
        var job = Job.every(.seconds(60)).with(change)
        job.execution.runArguments = ["full", "daily"]
        return job
    }

    private func request(_ words: [String], _ world: inout World) -> Answer? {
        world.handle(
            .command(JobCommand(.run, "backup", by: .user("ada"), arguments: RunArguments(words))))
        return world.answers.last
    }

    @Test func aRunHasThem_andNoOtherRunOfTheJob() throws {
        var world = World()
        world.load([Self.job()])
        guard case .refused(let reason) = request(["weekly"], &world) else {
            Issue.record("\(world.answers)")
            return
        }
        #expect(reason.contains("does not allow \"weekly\"") && world.started.isEmpty)
        #expect(request(["daily", "full"], &world)?.run != nil)
        let cause = world.started[0].firing.cause
        #expect(cause.description == "requested[daily full](ada)")
        #expect(cause.arguments.words == ["daily", "full"] && cause.requester == "ada")
        world.endRuns(.exited(1))
        // Another run of the job has none, also if it is requested because this one failed.
        #expect(world.command(.retry, "backup")?.run != nil)
        #expect(world.started[1].firing.cause.arguments.isEmpty)
        world.endRuns()
        world.pass(.seconds(60))
        #expect(world.started[2].firing.cause == .schedule)
    }

    @Test func aJobThatFollowsDoesNotGetThem() throws {
        var follower = Job(name: "upload", command: .arguments(["true"]), schedule: .onDemand)
        follower.follows = Follows([Follows.Cause("backup")])
        follower.execution.runArguments = ["full"]
        var world = World()
        world.load([Self.job(), follower])
        #expect(request(["full"], &world)?.run != nil)
        world.endRuns()
        let next = try #require(world.started.last)
        #expect(next.id.firing.job == "upload" && next.firing.cause.arguments.isEmpty)
    }

    /// They are in the row of the run, so that it can wait over a restart, and so can its retry.
    @Test(arguments: [false, true]) func waitingRunsKeepThemOverARestart(isRetry: Bool) throws {
        var world = World()
        let job = Self.job {
            $0.concurrency = .queue
            $0.retry.retries = 1
            $0.retry.delay = .seconds(5)
        }
        world.load([job])
        #expect(request(isRetry ? ["full"] : [], &world)?.run != nil)
        if !isRetry { #expect(request(["full"], &world)?.run != nil) }
        if isRetry { world.endRuns(.exited(1)) }
        for (id, open) in world.openRuns {
            var run = open.0
            run.firing.cause = try #require(Firing.Cause(run.firing.cause.description))
            world.openRuns[id] = (run, open.begun, open.2)
        }
        world.stopCleanly()
        world.load([job])
        if !isRetry { world.endRuns() }
        world.pass(.seconds(5))
        let last = try #require(world.started.last)
        #expect(last.firing.cause.arguments.words == ["full"])
        #expect(last.id.attempt == (isRetry ? 2 : 1))
    }
}
