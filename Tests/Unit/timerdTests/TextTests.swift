// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore
import TimerZones

@testable import timerctl

/// The texts of `timerctl` for answers of the daemon.
@Suite struct TextTests {
    private static let now = Now(
        wall: WallInstant(rfc3339: "2026-11-18T11:07:00Z")!,
        awake: AwakeInstant(nanoseconds: 10_000_000_000_000),
        boot: BootInstant(nanoseconds: 10_000_000_000_000),
        bootID: BootID(String(repeating: "0", count: 32))!)

    /// A job as the daemon shows it, this long after it was loaded.
    private func status(
        _ schedule: Schedule, after seconds: Int64 = 0, _ commands: [JobCommand.Verb] = [],
        until: JobCommand.PauseEnd? = nil, _ change: (inout Policy) -> Void = { _ in }
    ) -> JobStatus {
        let name = Job.Name("backup")!
        var job = Job(name: name, command: .arguments(["true"]), schedule: schedule)
        change(&job.policy)
        var (agenda, _) = Agenda.load(
            JobSet([job]), RecoveredState(instance: 1), concurrentRunsMax: 64, at: Self.now)
        var now = Self.now
        now.wall = now.wall + .seconds(seconds)
        now.awake = now.awake + .seconds(seconds)
        now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + seconds * 1_000_000_000)
        _ = agenda.handle(.wake(name), at: now)
        for verb in commands {
            _ = agenda.handle(
                .command(JobCommand(verb, name, by: .user("ada"), until: until)), at: now)
        }
        return JobStatus(agenda.snapshot(of: name, at: now)!)
    }

    private func next(_ status: JobStatus) throws -> String {
        let verb = try NextVerb.parse(["backup", "--timezone", "UTC", "-n", "2"])
        let preview = try verb.preview(of: status)
        return Text.preview(preview, zone: .utc)
    }

    private static let end = JobCommand.PauseEnd.after(.seconds(3600))

    /// The answer has the end of the pause as an instant.
    /// Of very many jobs the sum is printed, and the first of those for which nothing was to do.
    @Test func aCommandForManyJobsHasASum() {
        func results(_ changed: Int, _ others: Int) -> [String] {
            let changed = (0..<changed).map {
                CommandsReply.Result(job: "job-\($0)", changed: true)
            }
            let others = (0..<others).map {
                CommandsReply.Result(job: "other-\($0)", changed: false, reason: "already paused")
            }
            return Text.commands(changed + others, done: "paused")
        }
        #expect(results(18, 2).count == 20 && results(18, 2)[0].hasPrefix("job-0: paused"))
        #expect(results(21, 0) == ["21 jobs: paused"])
        let mixed = results(1, 30)
        #expect(mixed.count == 22 && mixed[0] == "1 job: paused")
        #expect(mixed[20].hasPrefix("other-19: ") && mixed[21] == "10 more jobs: nothing to do")
        #expect(results(0, 21).count == 21)
    }

    @Test func anAnswerSaysUntilWhen() throws {
        let until = Terminal.now + .seconds(7 * 86_400 + 90)
        let pause = PauseStatus(Pause(since: Terminal.now, by: .user("ada"), until: until))
        let result = CommandsReply.Result(job: "backup", changed: true, paused: pause)
        let line = Text.command(result, done: "paused")
        let words = TimeParser(now: Terminal.now).shortText(of: until)
        #expect(line.hasPrefix("backup: paused until \(words) (in 1 w "), "\(line)")
        var longer = result
        longer.formerPause = pause
        longer.paused?.until = (until + .seconds(3600)).rfc3339
        #expect(Text.command(longer, done: "paused").contains("(was: until "))
    }

    // MARK: - next

    @Test func nextOfAPausedJobSaysWhatIsLeft() throws {
        let hour = Schedule.every(.seconds(3600))
        #expect(
            try next(status(hour, after: 600, [.pause]))
                == "       Next: paused; 50 min left after it is resumed")
        let slots = Schedule.wall(WallSchedule([.cron(try CronSpec("0 * * * *"), .utc)]))
        #expect(
            try next(status(slots, [.pause]))
                == "       Next: paused; waits for its next scheduled time after it is resumed")
        let atOnce = status(slots, [.pause]) { $0.onResume = .fireIfDue }
        #expect(
            try next(atOnce)
                == "       Next: paused; runs when it is resumed, if a run became due during the pause"
        )
    }

    /// For a pause with an end, the first firing comes after the end, and the others follow from
    /// there.
    @Test func nextOfAJobThatIsPausedForAWhile() throws {
        let hour = Schedule.every(.seconds(3600))
        let interval = try next(status(hour, after: 600, [.pause], until: Self.end))
        #expect(interval.contains("Next: Wed 2026-11-18 13:07:00 +00:00  2026-11-18T13:07:00Z\n"))
        #expect(interval.contains("2026-11-18T14:07:00Z, 1 h later"))
        let slots = Schedule.wall(WallSchedule([.cron(try CronSpec("0 * * * *"), .utc)]))
        let slot = try next(status(slots, [.pause], until: Self.end))
        #expect(
            slot.contains("2026-11-18T13:00:00Z\n") && slot.contains("2026-11-18T14:00:00Z, 1 h"))
        let atOnce = try next(
            status(slots, [.pause], until: Self.end) { $0.onResume = .fireIfDue })
        #expect(atOnce.contains("2026-11-18T12:07:00Z\n") && atOnce.contains("T13:00:00Z, 53 min"))
    }

    @Test func nextOfAJobThatFiresOnceInEachBoot() throws {
        let later = Schedule.onBoot(.seconds(10_060))
        #expect(
            try next(status(later))
                == """
                       Next: Wed 2026-11-18 11:08:00 +00:00  2026-11-18T11:08:00Z
                       Next: 2 h 47 min 40 s after the next boot of the machine
                """)
        #expect(
            try next(status(later, after: 60))
                == "       Next: 2 h 47 min 40 s after the next boot of the machine")
        #expect(
            try next(status(later, [.pause])).contains("paused; 1 min left after it is resumed\n"))
        let reboot = Schedule.wall(WallSchedule([.cron(try CronSpec("@reboot"), .utc)]))
        #expect(
            try next(status(reboot, after: 1)).hasSuffix("Next: at the next boot of the machine"))
        #expect(
            Text.details(status(later)).contains("2 h 47 min 40 s after each boot of the machine"))
        var defined = status(later)
        defined.settings = ["umask": "0027", "timeout": "2h", "description": "x"]
        (defined.file, defined.line) = ("/etc/timerd/jobs.d/a.toml", 12)
        let lines = Text.details(defined).split(separator: "\n")
        #expect(lines.contains("  Settings: timeout 2h; umask 0027"))
        #expect(lines.contains("Defined in: /etc/timerd/jobs.d/a.toml:12"))
    }

    // MARK: - list

    /// If a job runs, LAST is the start of that run, and RESULT says so; otherwise both are about
    /// the last ended run.
    @Test(arguments: [
        (true, true, "07:30:00", "running"), (true, false, "07:30:00", "running"),
        (false, true, "06:00:00", "exit 3"), (false, false, "-", "-"),
    ])
    func lastOfAJob(isRunning: Bool, hasRun: Bool, last: String, result: String) throws {
        func instant(_ time: String) -> String {
            // The table is in the zone of the test.
            Text.when("2026-11-18T\(time)Z")
        }
        let ended =
            #"{"id":"a:1:1","job":"a","scheduled":"2026-11-18T06:00:00Z","began":"2026-11-18T06:00:00Z","outcome":"exited(3)"}"#
        let running =
            #"{"id":"a:2:1","job":"a","scheduled":"2026-11-18T07:29:00Z","began":"2026-11-18T07:30:00Z"}"#
        let waiting =
            #"{"id":"a:3:1","job":"a","scheduled":"2026-11-18T07:31:00Z","waits":"previous-run"}"#
        let table = try ControlJSON.decode(
            JobTable.self,
            from: Array(
                """
                {"config":"/c","rejected":[],"jobs":[{"job":"a","state":"armed","active_usec":0,
                "running":[\(isRunning ? "\(running),\(waiting)" : "")]\(hasRun ? ",\"last\":\(ended)" : "")}]}
                """.utf8))
        let row = Text.table(table, table.jobs).split(separator: "\n")[1]
        let cells =
            [
                "a", isRunning ? "running" : "armed", "-", last == "-" ? "-" : instant(last),
                result,
            ]
        let words = cells.joined(separator: " ").split(separator: " ")
        #expect(Array(row.split(separator: " ").prefix(words.count)) == words, "\(row)")
    }
}
