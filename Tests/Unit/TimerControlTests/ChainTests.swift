// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// What is shown of jobs that follow others.
@Suite struct ChainTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_800_000_000), awake: AwakeInstant(nanoseconds: 1),
        boot: BootInstant(nanoseconds: 1), bootID: BootID(String(repeating: "0", count: 32))!)

    private func name(_ text: String) throws -> Job.Name { try #require(Job.Name(text)) }

    private func job(_ text: String, _ causes: Follows.Cause...) throws -> Job {
        var job = Job(
            name: try name(text), command: .arguments(["true"]),
            schedule: causes.isEmpty ? .every(.seconds(3600)) : .onDemand)
        if !causes.isEmpty { job.follows = Follows(causes) }
        return job
    }

    /// `backup` has run and succeeded.
    private func agenda(_ jobs: Job...) throws -> Agenda {
        let backup = try job("backup")
        var (agenda, _) = Agenda.load(
            JobSet([backup] + jobs), RecoveredState(instance: 1), concurrentRunsMax: 64, at: now)
        _ = agenda.handle(.command(JobCommand(.run, backup.name, by: .user("ada"))), at: now)
        let run = try #require(agenda.snapshot(of: backup.name, at: now)?.live.first?.id)
        _ = agenda.handle(.ended(run, .exited(0), RunUsage()), at: now)
        return agenda
    }

    private func status(_ text: String, _ agenda: Agenda) throws -> JobStatus {
        JobStatus(try #require(agenda.snapshot(of: try name(text), at: now)))
    }

    private func sentences(_ text: String, _ agenda: Agenda) throws -> [String] {
        let reply = WhyReply(
            job: text, now: now.wall.rfc3339, status: try status(text, agenda), rejection: nil,
            activeRuns: 0, maxConcurrent: 64)
        return Explanation(reply) { _ in "02:10" }.sentences
    }

    @Test func aFollowerNamesItsCause() throws {
        let agenda = try agenda(try job("upload", .init(try name("backup"))))
        let upload = try status("upload", agenda)
        #expect(upload.onDemand == true && upload.follows?.map(\.job) == ["backup"])
        #expect(upload.follows?.first?.run == nil, "the end is used up")
        let run = try #require(upload.running.first)
        #expect(run.cause == "chain" && run.causeResult == "success")
        #expect(run.causeRun?.hasPrefix("backup:") == true)
        #expect(RunWords.cause(of: run) == "after \(run.causeRun ?? "") (success)")
        #expect(try status("backup", agenda).followers == ["upload"])
        #expect(
            try sentences("upload", agenda).contains(
                "It runs after each run of backup that succeeds."))
    }

    @Test func aDelayAndOtherEndsAreAwaited() throws {
        let agenda = try agenda(
            try job("late", .init(try name("backup"), on: .end, delay: .seconds(300))),
            try job("both", .init(try name("backup")), .init(try name("late"), on: .failure)))
        #expect(try status("late", agenda).next == (now.wall + .seconds(300)).rfc3339Micros)
        #expect(try status("late", agenda).remainingUsec == 300_000_000)
        let late = try sentences("late", agenda)
        #expect(late.contains("It runs after each run of backup that ends, and 5 min more."))
        #expect(late.contains { $0.hasSuffix("; the job runs after it at 02:10.") }, "\(late)")
        let both = try sentences("both", agenda)
        #expect(
            both.contains(
                "It runs after one of each: a run of backup that succeeds and a run of late that fails."
            ))
        #expect(both.contains { $0.hasSuffix("which counts for 1 d.") }, "\(both)")
        #expect(both.contains("It waits for a run of late."))
    }

    @Test func aPausedFollowerSaysThatItRunsLater() throws {
        let upload = try job("upload", .init(try name("backup")))
        let backup = try job("backup")
        var (agenda, _) = Agenda.load(
            JobSet([backup, upload]), RecoveredState(instance: 1), concurrentRunsMax: 64, at: now)
        for (verb, job) in [(JobCommand.Verb.pause, upload), (.run, backup)] {
            _ = agenda.handle(.command(JobCommand(verb, job.name, by: .user("ada"))), at: now)
        }
        let run = try #require(agenda.snapshot(of: backup.name, at: now)?.live.first?.id)
        _ = agenda.handle(.ended(run, .exited(0), RunUsage()), at: now)
        let why = try sentences("upload", agenda)
        #expect(why.contains { $0.hasSuffix("; the job runs when it is resumed.") }, "\(why)")
        #expect(try status("upload", agenda).follows?.first?.run == run.description)
    }

    @Test func aJobWithoutAScheduleSaysHowItRuns() throws {
        let job = Job(name: try name("dump"), command: .arguments(["true"]), schedule: .onDemand)
        let agenda = try agenda(job)
        #expect(
            try sentences("dump", agenda).first
                == "It has no schedule: it runs only on request, with `timerctl run dump`.")
    }
}
