// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// What is shown of conditions, and of runs that wait for them.
@Suite struct ConditionTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_800_000_000),
        awake: AwakeInstant(nanoseconds: 1_000_000_000_000),
        boot: BootInstant(nanoseconds: 1_000_000_000_000),
        bootID: BootID(String(repeating: "0", count: 32))!)

    private func job(waits: Bool = true) throws -> Job {
        var condition = Condition()
        condition.mounted = [.init("/mnt/backup")]
        condition.loadBelow = 4
        if waits {
            condition.otherwise = .wait
            condition.waitMax = .seconds(7200)
        }
        var job = Job(
            name: try #require(Job.Name("backup")), command: .arguments(["true"]),
            schedule: .every(.seconds(3600)))
        job.execution.condition = condition
        return job
    }

    /// A run of the job was requested, and its condition is being checked.
    private func agenda(
        _ job: Job, isForced: Bool = false, _ words: [String] = []
    ) throws -> Agenda {
        var (agenda, _) = Agenda.load(
            JobSet([job]), RecoveredState(instance: 1), concurrentRunsMax: 64, at: now)
        _ = agenda.handle(
            .command(
                JobCommand(
                    .run, job.name, by: .user("ada"), arguments: RunArguments(words),
                    isForced: isForced)), at: now)
        return agenda
    }

    private func status(_ job: Job, _ agenda: Agenda) throws -> JobStatus {
        JobStatus(try #require(agenda.snapshot(of: job.name, at: now)))
    }

    private func reasons(_ job: Job, _ agenda: Agenda) throws -> [WhyReply.Reason] {
        let reply = WhyReply(
            job: "backup", now: now.wall.rfc3339, status: try status(job, agenda), rejection: nil,
            activeRuns: 0, maxConcurrent: 64)
        return Explanation(reply) { _ in "03:10" }.reasons
    }

    @Test func theConditionOfAJobIsShown() throws {
        let waiting = try #require(try status(try job(), try agenda(try job())).condition)
        #expect(waiting.checks == ["mounted /mnt/backup", "load-below 4.0"])
        #expect(waiting.otherwise == "wait" && waiting.waitMaxUsec == 7_200_000_000)
        let skipping = ConditionStatus(
            try #require(try job(waits: false).execution.condition))
        #expect(skipping.otherwise == "skip" && skipping.waitMaxUsec == nil)
    }

    @Test func aRunThatIsCheckedOrWaitsSaysSo() throws {
        let job = try job()
        var agenda = try agenda(job)
        let checked = try #require(try status(job, agenda).running.first)
        #expect(checked.waits == "check" && checked.unmet == nil)
        #expect(RunWords.wait(checked) { _ in "" } == "waits for the check of its condition")
        #expect(
            try reasons(job, agenda).contains {
                $0.code == "waits-for-condition" && $0.run == checked.id
                    && $0.text
                        == "Run \(checked.id) is about to start, and its condition is being checked."
            })
        let run = try #require(Run.ID(checked.id))
        let number = agenda.eventNumber
        _ = agenda.handle(.checked(run, number: number, .no("mounted /mnt/backup")), at: now)
        let waiting = try #require(try status(job, agenda).running.first)
        #expect(waiting.waits == "condition" && waiting.unmet == "mounted /mnt/backup")
        #expect(waiting.checkedAgain == (now.wall + .seconds(1)).rfc3339Micros)
        #expect(waiting.waitsUntil == (now.wall + .seconds(7200)).rfc3339Micros)
        #expect(
            RunWords.wait(waiting) { _ in "03:10" }
                == "waits for its condition: mounted /mnt/backup, until 03:10")
        let found = try reasons(job, agenda)
        #expect(
            found.contains {
                $0.text
                    == "Run \(checked.id) waits for its condition: mounted /mnt/backup is not met; it is checked again at 03:10 (in 1 s), and skipped at 03:10 (in 2 h)."
            }, "\(found)")
    }

    @Test func whatARunWasRequestedWithIsShown() throws {
        var job = try job()
        job.execution.runArguments = ["full"]
        let agenda = try agenda(job, ["full"])
        let run = try #require(try status(job, agenda).running.first)
        #expect(run.arguments == ["full"])
        #expect(
            try reasons(job, agenda).contains {
                $0.text
                    == "Run \(run.id), with full, is about to start, and its condition is being checked."
            })
    }

    @Test func aForcedRunSaysSo() throws {
        let job = try job()
        let run = try #require(
            try status(job, try agenda(job, isForced: true)).running.first)
        #expect(run.forced == true && run.waits == nil)
        #expect(RunWords.cause(of: run) == "requested by ada, whatever its condition says")
    }

    @Test(arguments: [
        (
            RunOutcome.skipped(.condition("mounted /mnt/backup")),
            "skipped: condition not met: mounted /mnt/backup"
        ),
        (
            .spawnFailed(errno: "ETIMEDOUT", what: "condition: command: no answer within 10 s"),
            "its condition was not checked: command: no answer within 10 s (connection timed out)"
        ),
    ])
    func theEndOfARunIsInWords(outcome: RunOutcome, words: String) {
        #expect(outcome.words(failed: true) == words)
    }
}
