// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ProjectFiles
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// What the commands print on terminals of several widths and into a pipe, with long names, results and
/// lines: the file `Tests/Support/Layout/timerctl.txt` has it to look at.
@Suite struct LayoutTests {
    private static let now = WallInstant(rfc3339: "2026-11-18T11:07:00Z")!
    private static let file = "Tests/Support/Layout/timerctl.txt"
    private static let name = "vacuum-of-the-largest-table-in-the-database-of-the-north"
    /// The columns of a terminal; nil: a pipe.
    private static let widths: [Int?] = [80, 100, 140, 200, nil]

    private static func decode<Value: Decodable>(_: Value.Type, _ json: String) throws -> Value {
        try ControlJSON.decode(Value.self, from: Array(json.utf8))
    }

    private static func run(
        _ job: String, _ outcome: String, failed: Bool = true, minute: Int = 5, output: String = ""
    ) -> String {
        let time = "2026-11-18T11:0\(minute):00.000000Z"
        let text = output.replacing("\n", with: "\\n").replacing("\t", with: "\\t")
            .replacing("\"", with: "\\\"")
        return """
            {"id":"\(job):20261118T110\(minute)00.000000Z:1","job":"\(job)","scheduled":"\(time)","began":"\(time)",\
            "ended":"\(time)","outcome":"\(outcome)","failed":\(failed),"succeeded":\(!failed),\
            "elapsed_usec":12197000,"user_usec":4100,"system_usec":900,"peak_bytes":13000000,"output":"\(text)"}
            """
    }

    private static let output = """
        pg_dump: error: connection to server at "db.example.org" (192.0.2.7), port 5432 failed: FATAL: the database system is starting up
            with an indent\tand a tab
        """

    private static let ended = [
        run(name, "spawn-failed(ENOENT, exec /usr/local/libexec/maintenance/vacuum)", minute: 6),
        run("backup", "exited(3)", output: output), run("report", "exited(0)", failed: false),
        run("mirror", "signalled(SIGKILL)", minute: 2),
    ]

    private static func table() throws -> JobTable {
        let jobs = [name, "backup", "report", "mirror"].enumerated().map { index, job in
            """
            {"job":"\(job)","state":"armed","active_usec":0,"running":[],"last":\(ended[index]),\
            "next":"2026-11-18T11:1\(index):00.000000Z","remaining_usec":1}
            """
        }
        let paused = """
            {"job":"paused","state":"paused","active_usec":0,"running":[],"paused":{"since":"2026-11-18T10:59:00Z",\
            "by":"ada","note":"until the disks of the array are replaced, ask Bob"}}
            """
        return try decode(
            JobTable.self,
            #"{"config":"/etc/timerd/timerd.toml","rejected":["broken"],"jobs":[\#((jobs + [paused]).joined(separator: ","))]}"#
        )
    }

    /// The texts by the commands that print them.
    private static func texts(on screen: Screen) throws -> [(String, String)] {
        let table = try table()
        let history = try decode(
            HistoryReply.self,
            #"""
            {"runs":[\#(ended.joined(separator: ","))],"skipped_runs":[{"job":"backup","reason":"still-running","text":"x",
            "blocked_by":"backup:20261118T110500.000000Z:1","skipped_count":3,"at":"2026-11-18T11:06:30Z",
            "first_scheduled":"2026-11-18T11:06:10Z","last_scheduled":"2026-11-18T11:06:30Z"}]}
            """#)
        let failures = table.jobs.prefix(2).compactMap { row in
            row.last.flatMap { JobFailure(row, [$0]) }
        }
        let upcoming = try decode(
            UpcomingReply.self,
            #"""
            {"upcoming":[{"at":"2026-11-18T11:08:00Z","job":"\#(name)","kind":"run"},
            {"at":"2026-11-18T11:10:00Z","job":"backup","kind":"skipped","further_count":12}],
            "has_more":false,"paused_jobs":["paused"],"now":"2026-11-18T11:07:00Z"}
            """#)
        let event = try decode(
            EventStatus.self,
            #"""
            {"number":1,"time":"2026-11-18T11:05:12.197000Z","level":"error","event":"run-ended","id":"x","job":"backup",
            "message":"backup: run backup:20261118T110500.000000Z:1 failed: exit 3, after 12.197 s","fields":{}}
            """#)
        return [
            ("list", Text.table(table, table.jobs, on: screen, now: now)),
            (
                "list --columns job,by,note",
                Text.table(
                    table, table.jobs, columns: [.job, .by, .note], on: screen, now: now)
            ),
            ("history", Text.history(history, outputLines: 3, on: screen, now: now)),
            (
                "failures",
                Text.failures(
                    Array(failures), others: 0, rejected: table, lines: 3, on: screen, at: now)
            ),
            ("upcoming", Text.upcoming(upcoming, range: "within 1 h", at: now, on: screen)),
            ("events", Text.event(event, on: screen, now: now).joined(separator: "\n")),
        ]
    }

    @Test func nothingIsWiderThanTheTerminal() throws {
        for width in Self.widths.compactMap(\.self) + [60] {
            for (command, text) in try Self.texts(on: Screen(columns: width)) {
                for line in text.split(separator: "\n") where !line.hasPrefix(Self.name) {
                    #expect(
                        Screen.width(of: String(line)) <= width, "\(command) at \(width): \(line)")
                }
                // Neither a name nor the first words of a result are ever cut.
                if command != "events" {
                    #expect(text.contains(Self.name), "\(command) at \(width)")
                }
                if ["list", "history", "failures"].contains(command) {
                    #expect(text.contains("could not start"), "\(command) at \(width): \(text)")
                    #expect(text.contains("exit 3"), "\(command) at \(width): \(text)")
                }
            }
        }
    }

    @Test func itLooksAsItDid() throws {
        var all = "# What timerctl prints at several widths; a test writes it (make generated).\n"
        for width in Self.widths {
            for (command, text) in try Self.texts(on: Screen(columns: width)) {
                // The clock of an event is that of the machine.
                let shown =
                    command == "events"
                    ? text.replacing(#/\w+ \d\d:\d\d:\d\d /#, with: "Wed 11:05:12 ") : text
                all += "\n## timerctl \(command), \(width.map { "\($0) columns" } ?? "a pipe")\n\n"
                all += shown + "\n"
            }
        }
        let difference = try Project.difference(of: Self.file, from: all)
        #expect(difference == nil)
    }

    // MARK: - Texts

    @Test(arguments: [
        ("a b", 80, ["a b"]), ("one two three", 7, ["one two", "three"]),
        ("one two  three", 8, ["one two ", "three"]),
        ("abcdefghij k", 4, ["abcd", "efgh", "ij k"]),
        ("    indent kept", 11, ["    indent", "kept"]), ("", 5, [""]), ("日本 語", 4, ["日本", "語"]),
    ])
    func textsAreWrappedAtWords(text: String, columns: Int, lines: [String]) {
        #expect(Screen.wrappedAtWords(text, to: columns) == lines)
    }

    @Test func whatContinuesHangs() {
        #expect(
            Screen.hanging("one two three four five", after: "  | ", columns: 20)
                == ["  | one two three", "    four five"])
        #expect(
            Screen.hanging("one two three four five", indent: 2, columns: 20)
                == ["one two three four", "  five"])
        #expect(Screen.hanging("one two", after: "> ", columns: nil) == ["> one two"])
        #expect(
            Screen.hanging("one two three", after: "a long beginning ", columns: 20)
                == ["a long beginning one", "two three"])
    }

    @Test func numbersEndAtOneColumn_andTheLeastImportantColumnGoesFirst() {
        let table = TextTable(
            [
                .init("NAME", .ownLine, least: 4), .init("COUNT", importance: 2, isNumber: true),
                .init("KIND", importance: 1), .init("TEXT", .wrap, least: 4),
            ],
            [["a", "1", "k", "some words"], ["longer-name", "12345", "kk", "x"]].map { row in
                row.map { TextTable.Cell($0) }
            })
        #expect(
            table.lines() == [
                "NAME         COUNT  KIND  TEXT", "a                1  k     some words",
                "longer-name  12345  kk    x",
            ])
        #expect(
            table.fitted(to: 24).lines() == [
                "NAME  COUNT  KIND  TEXT", "a         1  k     some", "                   words",
                "longer-name", "      12345  kk    x",
            ])
        #expect(table.fitted(to: 20).lines()[0].split(separator: " ") == ["NAME", "COUNT", "TEXT"])
        #expect(table.fitted(to: 12).lines()[0].split(separator: " ") == ["NAME", "TEXT"])
        #expect(table.fitted(to: 12).lines().contains("longer-name"))
    }

    // MARK: - Times

    @Test(
        arguments: [
            (180, "in 3 min"), (-12, "12 s ago"), (0.2, "now"), (-0.2, "just now"),
            (605, "in 10 min"), (65, "in 1 min 5 s"),
        ] as [(Double, String)])
    func whatIsNearHasADistance(seconds: Double, text: String) {
        let instant = Self.now + .milliseconds(Int64(seconds * 1000))
        #expect(Text.when(instant.rfc3339Micros, now: Self.now) == text)
    }

    @Test func whatIsFarHasATime() {
        func text(_ span: Duration) -> String {
            Text.when((Self.now + span).rfc3339Micros, now: Self.now)
        }
        func local(_ span: Duration, _ format: String) -> String {
            Text.local(Self.now + span, as: format)
        }
        for hours in [2, 30, 72, -30, -72] {
            let span = Duration.seconds(3600 * hours)
            let isToday = local(span, "%F") == local(.zero, "%F")
            #expect(text(span) == local(span, isToday ? "today %H:%M" : "%a %H:%M"))
        }
        for days in [7, 40, -7, -400] {
            let span = Duration.seconds(86_400 * days)
            #expect(text(span) == local(span, "%Y-%m-%d %H:%M"))
        }
        #expect(Text.when(nil, now: Self.now) == "-")
    }

    @Test(
        arguments: [
            (1_204_000, "1.204 s"), (9_999_400, "9.999 s"), (12_197_000, "12 s"),
            (731_000_000, "12 min"), (245_000_000, "4 min 5 s"), (15_131_000_000, "4 h 12 min"),
            (273_600_000_000, "3 d 4 h"), (900_000_000_000, "1 w 3 d"), (240, "240 us"), (0, "0 s"),
        ] as [(Int64, String)])
    func spansAreShort(microseconds: Int64, text: String) {
        #expect(Text.span(microseconds) == text)
    }

    @Test(
        arguments: [
            (0, "0 KiB"), (655_360, "640 KiB"), (13_000_000, "12.4 MiB"),
            (209_715_200, "200 MiB"), (3_221_225_472, "3.0 GiB"),
        ] as [(Int64, String)])
    func sizesAreShort(bytes: Int64, text: String) {
        #expect(Text.size(bytes) == text)
    }
}
