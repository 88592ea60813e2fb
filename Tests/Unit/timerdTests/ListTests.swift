// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// The output of `timerctl list` and `timerctl upcoming` for many jobs.
@Suite struct ListTests {
    private static let now = WallInstant(rfc3339: "2026-11-18T11:07:00Z")!

    /// Four jobs: one that failed, one that is paused, one that runs, and one with a long name of
    /// wide characters.
    private let table: JobTable

    init() throws {
        table = try ControlJSON.decode(
            JobTable.self,
            from: Array(
                """
                {"config":"/c","rejected":[],"jobs":[
                {"job":"backup","state":"armed","active_usec":5000000,"running":[],
                 "next":"2026-11-18T11:10:00.5Z","remaining_usec":180500000,"last":{"id":"backup:1:1","job":"backup",
                 "scheduled":"2026-11-18T11:00:00Z","began":"2026-11-18T11:00:00Z","outcome":"exited(3)","failed":true}},
                {"job":"report","state":"paused","active_usec":0,"running":[],"skips":2,
                 "paused":{"since":"2026-11-18T10:00:00Z","by":"ada","note":"disk, \\"sdb\\" swap"}},
                {"job":"sync","state":"armed","active_usec":0,"next":"2026-11-18T11:10:00Z","remaining_usec":180000000,
                 "running":[{"id":"sync:1:1","job":"sync","scheduled":"2026-11-18T11:05:00Z","began":"2026-11-18T11:05:00Z"}]},
                {"job":"日次バックアップと月次レポートの作成","state":"finished","active_usec":1,"running":[],
                 "last":{"id":"x:1:1","job":"x","scheduled":"2025-01-02T03:04:05Z","outcome":"exited(0)","failed":false}}
                ]}
                """.utf8))
    }

    private func names(_ arguments: [String]) throws -> [String] {
        try ListFilter.parse(arguments).apply(to: table.jobs).map {
            $0.job.utf8.allSatisfy { $0 < 0x80 } ? $0.job : "wide"
        }
    }

    @Test(arguments: [
        ([], ["backup", "report", "sync", "wide"]), (["--failed"], ["backup"]),
        (["--paused"], ["report"]), (["--state", "running"], ["sync"]),
        (["--state", "running", "--paused"], ["report", "sync"]),
        (["--match", "*r*"], ["report"]),
        (["--match", "b*", "--match", "s*"], ["backup", "sync"]),
        (["--by", "ada"], ["report"]), (["--by", "ad"], []), (["--note", "swap"], ["report"]),
        (["--sort", "name"], ["backup", "report", "sync", "wide"]),
        // The instants are written with different numbers of digits.
        (["--sort", "next"], ["sync", "backup", "report", "wide"]),
        (["--sort", "last"], ["sync", "backup", "wide", "report"]),
        (["--sort", "state"], ["backup", "sync", "report", "wide"]),
    ])
    func showsWhatIsAskedForInThatOrder(arguments: [String], expected: [String]) throws {
        #expect(try names(arguments) == expected)
    }

    @Test func theLineBelowSaysHowManyAndWhatIsNext() throws {
        #expect(
            Text.summary(table, shown: table.jobs, now: Self.now)
                == "4 jobs: 1 failed, 1 paused, 1 running; next is backup in 3 min")
        // It counts what is shown.
        #expect(
            Text.summary(table, shown: [table.jobs[1]], now: Self.now) == "1 of 4 jobs: 1 paused")
        let none = try ControlJSON.decode(
            JobTable.self,
            from: Array(#"{"config":"/c","rejected":["a\u001b","b"],"jobs":[]}"#.utf8))
        #expect(
            Text.summary(none, shown: [], now: Self.now)
                == "0 jobs\n2 jobs not loaded (a\\x1b, b); `timerd check /c` shows the errors")
    }

    @Test func theLinesBelowSayWhichNotificationsAreHeldBack() throws {
        let held = try ControlJSON.decode(
            JobTable.self,
            from: Array(
                #"""
                {"config":"/c","rejected":[],"jobs":[],"held_notifications":[
                {"notifier":"ops","held_count":3,"until":"2026-11-29T12:00:00Z"}]}
                """#.utf8))
        let lines = Text.summary(held, shown: [], now: Self.now).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.last?.hasPrefix("ops holds 3 notifications back until ") == true)
    }

    @Test func aTableFitsTheTerminal() throws {
        let full = Text.table(table, table.jobs, now: Self.now)
        #expect(full.split(separator: "\n")[0].hasSuffix("RESULT"))
        #expect(full.contains("日次バックアップと月次レポートの作成"))
        for columns in [120, 100, 80, 60, 50] {
            let text = Text.table(
                table, table.jobs, on: Screen(columns: columns), now: Self.now)
            let widest = text.split(separator: "\n").map { Screen.width(of: String($0)) }.max()
            #expect(widest! <= columns, "\(columns): \(text)")
            for word in ["backup", "exit 3", "日次バックアップと月次レポートの作成"] {
                #expect(text.contains(word), "\(text)")
            }
        }
        // Requested columns are shown even if they do not fit.
        let wanted = Text.table(
            table, table.jobs, columns: [.job, .last, .active, .note],
            on: Screen(columns: 20), now: Self.now)
        #expect(wanted.split(separator: "\n")[0].hasSuffix("NOTE"))
    }

    /// A name is never cut: one that is too long for its column has a line of its own.
    @Test func aLongNameIsWhole() throws {
        var jobs = table.jobs
        jobs[0].job = "database-vacuum-of-the-large-customer-database-in-the-north"
        let lines = Text.table(table, jobs, on: Screen(columns: 80), now: Self.now)
            .split(separator: "\n")
        #expect(lines[0].split(separator: " ") == ["JOB", "STATE", "NEXT", "LAST", "RESULT"])
        #expect(lines[1] == jobs[0].job && lines[2].hasPrefix("   ") && lines[2].contains("armed"))
        let narrow = Text.table(table, jobs, on: Screen(columns: 44), now: Self.now)
            .split(separator: "\n")
        #expect(narrow[0].split(separator: " ") == ["JOB", "STATE", "RESULT"])
    }

    @Test(arguments: [
        ("ab", 1, ["a", "b"]), ("日本", 3, ["日", "本"]), ("日a", 1, ["a"]), ("", 3, [""]),
        ("abc", 3, ["abc"]),
    ])
    func longLinesGoOnInTheNextRow(text: String, columns: Int, rows: [String]) {
        #expect(Screen.wrapped(text, to: columns) == rows)
    }

    @Test func tabsAreSpaces() {
        #expect(Screen.expanded("a\tb\t\tc") == "a       b               c")
        #expect(Screen.expanded("日\tb") == "日      b" && Screen.expanded("a\tb", tab: 1) == "a b")
    }

    @Test func aTerminalIsFilledWithWhatIsNext() {
        #expect(UpcomingVerb.standardCount(on: Screen()) == 50)
        #expect(UpcomingVerb.standardCount(on: Screen(columns: 80, rows: 24)) == 17)
        #expect(UpcomingVerb.standardCount(on: Screen(columns: 80, rows: 5)) == 5)
    }

    @Test func widthsAreThoseOfATerminal() {
        for (text, width) in [
            ("", 0), ("abc", 3), ("größer", 6), ("日本", 4), ("e\u{301}", 1), ("👩‍💻", 2),
        ] {
            #expect(Screen.width(of: text) == width, "\(text)")
        }
        #expect(Screen.shortened("日本語", to: 6) == "日本語")
        #expect(Screen.shortened("日本語", to: 5) == "日本…")
        #expect(Screen.shortened("日本語", to: 4) == "日…")
        #expect(Screen.shortened("abc", to: 1) == "…")
    }

    @Test func colorsSayWhatFailedAndNeverComeFromAJob() throws {
        let text = Text.table(
            table, table.jobs, on: Screen(hasColor: true), now: Self.now)
        #expect(text.contains("\u{1b}[31mexit 3\u{1b}[0m"))
        #expect(text.contains("\u{1b}[33mpaused\u{1b}[0m"))
        #expect(text.contains("\u{1b}[32mrunning\u{1b}[0m"))
        #expect(!Text.table(table, table.jobs, now: Self.now).contains("\u{1b}"))
        #expect(TextTable.Cell("a\u{1b}[31mb").text == "a\\x1b[31mb")
    }

    @Test func csvHasAFieldForEachColumn() throws {
        let columns: [JobColumn] = [.job, .state, .next, .left, .note, .skips]
        #expect(CSV.line(columns.map(\.field)) == "job,state,next,left_usec,note,skips")
        let report = table.jobs[1]
        #expect(
            CSV.line(columns.map { $0.value(report) })
                == #"report,paused,,,"disk, ""sdb"" swap",2"#)
    }

    @Test(arguments: [
        ["--names", "--json"], ["-o", "csv", "--json"], ["--columns", "job,size"],
        ["--columns", ""], ["-o", "json", "--columns", "job"], ["--watch", "-o", "csv"],
        ["--sort", "size"], ["--state", "asleep"],
    ])
    func contradictoryOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try ListVerb.parse(arguments) }
    }

    // MARK: - failures

    /// An ended run of a job, this many minutes ago.
    private func run(_ minutes: Int64, failed: Bool, _ output: String = "") throws -> RunStatus {
        let ended = Self.now - .seconds(minutes * 60)
        let outcome = failed ? "exited(3)" : "exited(0)"
        var run = try ControlJSON.decode(
            RunStatus.self,
            from: Array(
                #"{"id":"backup:\#(minutes):1","job":"backup","scheduled":"\#(ended.rfc3339)","outcome":"\#(outcome)","failed":\#(failed)}"#
                    .utf8))
        run.ended = ended.rfc3339Micros
        run.output = output
        return run
    }

    @Test func failuresSaySinceWhenAndHowOften() throws {
        let job = table.jobs[0]
        let runs = [
            try run(5, failed: true, "one\n\ntwo\nthree\n"), try run(65, failed: true),
            try run(125, failed: false), try run(185, failed: true),
        ]
        let failure = try #require(JobFailure(job, runs))
        #expect(failure.inARow == 2 && failure.since == runs[1].ended)
        let text = Text.failures(
            [failure], others: 0, rejected: table, lines: 2, at: Self.now)
        let since = Text.instant(runs[1].ended)
        let hint =
            "\n`timerctl log JOB` shows the output, `timerctl retry --failed` runs them again"
        #expect(
            text
                == "backup: exit 3, 5 min ago; failed 2 times in a row, since \(since)\n"
                + "    | two\n    | three\n    run backup:5:1; armed, next run in 3 min\n" + hint)
        let once = try #require(JobFailure(job, [runs[0], runs[2]]))
        #expect(
            Text.failures([once], others: 2, rejected: table, lines: 0, at: Self.now)
                == "backup: exit 3, 5 min ago; failed once\n"
                + "    run backup:5:1; armed, next run in 3 min\n\(hint)\n"
                + "2 more jobs failed; --limit shows them")
        // On a terminal, the latest failures do not scroll away.
        for (rows, columns, expected) in [(24, 80, 4), (18, 80, 3), (12, 24, 1), (2, 80, 1)] {
            let some = Text.failures(
                Array(repeating: failure, count: 5), others: 2, rejected: table, lines: 2,
                on: Screen(columns: columns, rows: rows), at: Self.now)
            #expect(some.split(separator: "\n").count { $0.hasPrefix("backup:") } == expected)
            #expect(some.hasSuffix("\n\(7 - expected) more jobs failed; --limit shows them"))
        }
        // If there is no output, the text says so, unless the run never started.
        for began in [nil, "2026-11-18T11:00:00Z"] {
            var silent = try run(5, failed: true)
            silent.began = began
            let text = Text.failures(
                [try #require(JobFailure(job, [silent]))], others: 0, rejected: table, lines: 2,
                at: Self.now)
            #expect(text.contains("printed nothing") == (began != nil))
        }
        // It has succeeded since the list was made.
        #expect(JobFailure(job, [runs[2], runs[0]]) == nil && JobFailure(job, []) == nil)
        let many = try (1...Int64(JobFailure.runsMax)).map { try run($0, failed: true) }
        let long = try #require(JobFailure(job, many))
        #expect(
            Text.failures([long], others: 0, rejected: table, lines: 0, at: Self.now)
                .contains("failed at least 100 times in a row"))
        #expect(
            Text.failures([], others: 0, rejected: table, lines: 3, at: Self.now)
                == "No job's last run failed")
    }

    // MARK: - upcoming

    @Test func upcomingShowsEachRunOnALine() throws {
        func text(_ json: String, range: String = "within 1 h") throws -> [Substring] {
            let reply = try ControlJSON.decode(UpcomingReply.self, from: Array(json.utf8))
            return Text.upcoming(reply, range: range, at: Self.now)
                .split(separator: "\n", omittingEmptySubsequences: false)
        }
        let lines = try text(
            """
            {"upcoming":[
            {"at":"2026-11-18T11:08:00.000000Z","job":"again","kind":"retry"},
            {"at":"2026-11-18T11:10:00.000000Z","job":"busy","kind":"run","further_count":59},
            {"at":"2026-11-18T11:11:00.000000Z","job":"mad","kind":"run","further_count":199,"has_more":true}],
            "has_more":true,"paused_jobs":["paused"],"now":"2026-11-18T11:07:00.000000Z"}
            """)
        #expect(
            lines[1].split(separator: " ").joined(separator: " ") == "in 1 min again retry")
        #expect(lines[2].hasSuffix("  busy   run, and 59 more"))
        #expect(lines[3].hasSuffix("  mad    run, and at least 199 more"))
        #expect(lines[5] == "There are more within 1 h; -n shows more of them")
        #expect(lines[7] == "1 job is paused without an end")
        let nothing = try text(
            """
            {"upcoming":[],"has_more":false,"paused_jobs":[],"now":"2026-11-18T11:07:00.000000Z"}
            """, range: "within 1 min")
        #expect(nothing == ["Nothing is due within 1 min"])
    }
}
