// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

@Suite struct JobNamerTests {
    @Test(
        arguments: [
            ("backup", "backup"), ("backup.sh", "backup.sh"), ("a b", "a-b"), ("-x-", "x"),
            ("...", "crontab-7"), ("", "crontab-7"), ("größe", "gr-e"), ("a/../b", "a-..-b"),
            (String(repeating: "x", count: 100), String(repeating: "x", count: 64)),
        ])
    func aNameHasOnlyWhatNamesMayHave(wanted: String, name: String) {
        var namer = JobNamer()
        #expect(namer.name(from: wanted, else: "crontab-7").description == name)
    }

    /// A name with an @ at its end is that of a template.
    @Test func noNameEndsInAnAt() {
        var namer = JobNamer()
        let long = String(repeating: "y", count: 63)
        let names = ["a@", "b@@", long + "@z", "c@d"].map {
            namer.name(from: $0, else: "f-1").description
        }
        #expect(names == ["a", "b", long, "c@d"])
    }

    @Test func aNameThatIsTakenGetsANumber() {
        var namer = JobNamer()
        let long = String(repeating: "y", count: 64)
        let names = ["a", "a", "a-2", "a", nil, long, long].map {
            namer.name(from: $0, else: "f-1").description
        }
        #expect(
            names == [
                "a", "a-2", "a-2-2", "a-3", "f-1", long,
                String(repeating: "y", count: 62) + "-2",
            ])
    }
}

@Suite struct TomlWriterTests {
    /// What timerd reads of a job with this description.
    private func read(_ value: TomlValue) throws -> String? {
        var job = ImportedJob(Job.Name("x")!, at: SourcePlace("f", line: 1), source: [])
        job.set("description", value)
        job.set("command", .strings(["true"]))
        job.set("every", .string("1s"))
        let reading = try ConfigReader.read(Array(job.toml.utf8), file: "f.toml")
        #expect(reading.errors.isEmpty, "\(reading.errors): \(job.toml)")
        return reading.jobSet.jobs.first?.description
    }

    @Test(arguments: [
        ("plain", "\"plain\""), ("say \"x\"", "'say \"x\"'"), ("it's", "\"it's\""),
        ("both ' and \"", "\"both ' and \\\"\""), ("a\nb", "'''\na\nb'''"), ("\n", "'''\n\n'''"),
        ("a\n'b'", "\"a\\n'b'\""), ("\u{1b}[0m", "\"\\u001b[0m\""), ("tab\t", "\"tab\\t\""),
        ("\u{202e}", "\"\\u202e\""), ("\r\n", "\"\\u000d\\n\""), ("", "\"\""), ("\\", "'\\'"),
        ("日本", "\"日本\""),
    ])
    func aStringIsEasyToRead(text: String, toml: String) throws {
        #expect(TomlValue.string(text).description == toml)
        #expect(try read(.string(text)) == text)
    }

    @Test func anyStringIsReadAsItWas() throws {
        var random = SeededRandom()
        let pieces = [
            "'", "''", "'''", "\"", "\"\"\"", "\\", "\n", "\r", "\t", "a", "#", "é", "\u{7f}",
            "\u{85}",
            "\u{2028}", "\u{feff}", "𝄞", " ", "{", "\u{1}",
        ]
        for _ in 0..<500 {
            let text = (0..<random.int(below: 12)).map { _ in
                pieces[random.int(below: pieces.count)]
            }.joined()
            // The length of combined characters differs, so bytes are compared.
            #expect(try read(.string(text)).map { Array($0.utf8) } == Array(text.utf8), "\(text)")
        }
    }

    @Test func keysAndTables() {
        #expect(Toml.key("a-b_9") == "a-b_9")
        #expect(Toml.key("a.b") == "\"a.b\"")
        #expect(Toml.key("") == "\"\"")
        let table = TomlValue.table([
            TomlEntry("A", .string("x\ny")),
            TomlEntry("b.c", .array([.integer(1), .boolean(true)])),
        ])
        #expect(table.description == "{ A = \"x\\ny\", \"b.c\" = [1, true] }")
        #expect(TomlValue.table([]).description == "{}")
    }

    @Test func aCommentStaysOne() {
        #expect(Toml.comment("a\n[job.evil]\r\u{0}") == "# a\n# [job.evil]\\u{d}\\u{0}")
    }
}

@Suite struct ImportResultTests {
    private func job(notes: [String] = []) -> ImportedJob {
        var job = ImportedJob(Job.Name("a")!, at: SourcePlace("tab", line: 3), source: ["@daily a"])
        job.set("cron", .string("@daily"))
        for note in notes { job.note(note) }
        return job
    }

    @Test func theStatusSaysHowExactItIs() {
        var result = ImportResult()
        #expect(result.exactness == .nothingUsable)
        result.jobs = [job()]
        #expect(result.exactness == .exact)
        result.report.add(SourcePlace("tab", line: 1), "X=1", .setting)
        result.report.add(SourcePlace("tab", line: 2), "", .comment)
        result.report.add(SourcePlace("tab", line: 2), "", .unneeded("because"))
        #expect(result.exactness == .exact)
        result.jobs = [job(notes: ["less", "less"])]
        #expect(result.exactness == .withNotes)
        #expect(result.summary == "1 job, 1 note")
        result.jobs = [job()]
        result.report.add(SourcePlace("tab", line: 4), "?", .refused("not a line"))
        #expect(result.exactness == .withNotes)
        #expect(result.summary == "1 job, 1 line not imported")
    }

    @Test func theTextSaysWhereEverythingIsFrom() {
        var result = ImportResult()
        result.jobs = [job(notes: ["less"])]
        result.notifiers = [ImportedNotifier("mail-root", [TomlEntry("mail", .string("root"))])]
        result.report.add(SourcePlace("tab", line: 4), "?", .refused("not a line"))
        #expect(
            result.toml(title: "Imported from tab") == """
                # Imported from tab

                # tab:4: not imported: not a line
                #   ?

                [notify.mail-root]
                mail = "root"

                # tab:3
                #   @daily a
                # note: less
                [job.a]
                cron = "@daily"

                """)
    }

    @Test func firingsThatDifferAreNamed() {
        let at = (0..<60).map { WallInstant(microsecondsSinceEpoch: $0 * 60_000_000) }
        func differences(_ source: ArraySlice<WallInstant>, _ result: ArraySlice<WallInstant>)
            -> [String]
        {
            FiringComparison(
                job: Job.Name("a")!, place: SourcePlace("tab", line: 3), source: Array(source),
                result: Array(result)
            ).differences(\.rfc3339)
        }
        #expect(differences(at[..<50], at[..<50]).isEmpty)
        #expect(differences(at[..<3], at[..<3]).isEmpty)
        #expect(
            differences(at[..<3], at[..<2])
                == ["tab:3: job a: only the source fires at 1970-01-01T00:02:00Z"])
        #expect(
            differences(at[1..<51], at[..<50])
                == ["tab:3: job a: only the job fires at 1970-01-01T00:00:00Z"])
    }
}
