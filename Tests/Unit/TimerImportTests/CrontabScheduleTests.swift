// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

@Suite struct CrontabScheduleTests {
    @Test(arguments: [
        ("*/5 8-18 * * 1-5", "*/5 8-18 * * 1-5"), ("0\t5  *   * sun", "0 5 * * sun"),
        ("@daily", "@daily"), ("@annually", "@annually"), ("0 0 1,15 * 5", "0 0 1,15 * 5"),
        ("* * * jan-mar,dec MON-FRI", "* * * jan-mar,dec MON-FRI"),
        ("  7 0-23/2 * * 0,7", "7 0-23/2 * * 0,7"),
    ])
    func aScheduleIsKeptAsItIsWritten(fields: String, cron: String) throws {
        let imported = try Imported("\(fields) x\n")
        #expect(imported["cron"] == "\"\(cron)\"")
        #expect(imported["shell"] == "\"x\"")
        #expect(imported.result.jobs[0].notes.isEmpty)
    }

    /// What Debian's cron ignores in a field is left out with a note.
    @Test(arguments: [
        ("22-2,5 * * * *", "5 * * * *"), ("1.5 2 * * *", "1 2 * * *"),
        ("* * * * 6-0,3", "* * * * 3"),
    ])
    func whatCronIgnoresIsNoted(fields: String, cron: String) throws {
        let imported = try Imported("\(fields) x\n")
        #expect(imported["cron"] == "\"\(cron)\"")
        #expect(!imported.result.jobs[0].notes.isEmpty)
        #expect(imported.result.exactness == .withNotes)
    }

    @Test(
        arguments: [
            ("60 * * * * a", "minute"), ("* 24 * * * a", "hour"), ("0 0 0 * * a", "day"),
            ("0 0 * 13 * a", "month"), ("0 0 * * 8 a", "week"), ("* * * * a", "week"),
            ("* * * * *", "command"), ("* * * * * * a", "five"), ("@never a", "know"),
            ("5/15 * * * * a", "step"), ("*/0 * * * * a", "step"),
            ("22-2 * * * * a", "nothing"), ("sun * * * * a", "minute"), ("~ 1 * * * a", "minute"),
            ("-* * * * * a", "cronie"), ("FOO=\"bar", "minute"), ("A B=c", "minute"),
            ("MAILTO=", "minute"), ("x", "minute"), ("@DAILY x", "know"),
            ("* * * january * x", "month"), ("99999999999999999999 * * * * x", "minute"),
        ])
    func whatDebiansCronRefusesIsRefused(line: String, why: String) throws {
        let imported = try Imported("\(line)\n0 5 * * * fine\n")
        let refusal = try #require(imported.refusal())
        #expect(refusal.contains(why), "\(refusal)")
        #expect(imported.result.jobs.map(\.name.description) == ["fine"])
        let isBroken = imported.notes.contains { $0.contains("ignores all of this file") }
        #expect(isBroken == !why.contains("nothing"))
        #expect(imported.result.exactness == .withNotes)
    }

    /// Cron takes such a line and runs nothing, and the rest of the file as always.
    @Test(arguments: ["@reboot", "@daily  ", "* * * * * ", "0 1 * * 1\t"])
    func aScheduleWithoutACommandDoesNotBreakTheFile(line: String) throws {
        let imported = try Imported("PATH=/bin\n\(line)\n0 5 * * * fine\n")
        #expect(imported.refusal(2) == "the command is missing")
        #expect(imported.notes.isEmpty && imported.result.jobs.count == 1)
    }

    @Test func aNumberIsNamedAsItIsWritten() throws {
        #expect(try Imported("4294967297 * * * * a\n").refusal()?.contains("4294967297 is") == true)
    }

    /// Cron runs nothing there, and reads the rest of the file.
    @Test func aLineWithoutACommandIsRefused() throws {
        let imported = try Imported("PATH=/bin\nMAILTO=\"\"\n0 1 * * * %input\n0 2 * * * a\n")
        #expect(imported.refusal(3)?.contains("no command") == true)
        #expect(imported.notes.isEmpty && imported.result.jobs.count == 1)
    }

    /// Cron ignores comments, whatever bytes they have.
    @Test func aCommentCanHaveAnyBytes() throws {
        let bytes = Array("# a\r\n# ".utf8) + [0xe9, 0, 10] + Array("0 2 * * * a\n# no end".utf8)
        #expect(try Imported(bytes: bytes).result.report.refused.isEmpty)
    }

    @Test(
        arguments: [
            ("0 5 * * * a\r\n", "carriage return"), ("\u{feff}0 5 * * * a\n", "byte order mark"),
            ("0 5 * * * a\0b\n", "NUL"), ("0 5 * * * a", "line end"),
            ("0 5 * * * " + String(repeating: "x", count: 999) + "\n", "998"),
            ("A=" + String(repeating: "x", count: 999) + "\n", "998"),
        ] as [(String, String)])
    func whatCannotBeALineIsRefused(text: String, why: String) throws {
        try expectRefusal(Array(text.utf8), why)
    }

    @Test func otherBytesThanUTF8AreRefused() throws {
        try expectRefusal(Array("0 5 * * * caf".utf8) + [0xe9, 10], "UTF-8")
    }

    private func expectRefusal(_ bytes: [UInt8], _ why: String) throws {
        let imported = try Imported(bytes: bytes)
        #expect(
            imported.refusal()?.contains(why) == true, "\(String(describing: imported.refusal()))")
        #expect(imported.result.exactness == .nothingUsable)
    }

    @Test func aCommandOf998BytesIsRead() throws {
        let command = String(repeating: "x", count: 998)
        #expect(try Imported("0 1 * * * \(command)\n")["shell"] == "\"\(command)\"")
    }

    @Test func rebootIsOnceInEachBoot() throws {
        let imported = try Imported("@reboot x\n")
        #expect(imported["on-boot"] == "\"0s\"")
        #expect(imported["cron"] == nil && imported["on-missed"] == nil)
    }

    @Test func aDrawnNumberIsAlwaysTheSame_andNoted() throws {
        let text = "~ 3 * * * a\n10~20 0~5 * * 1 b\n"
        let (first, second) = (try Imported(text, .cronie), try Imported(text, .cronie))
        #expect(first.result == second.result)
        for job in first.result.jobs {
            guard case .string(let cron) = job.value(of: "cron") else {
                Issue.record("\(job)")
                continue
            }
            #expect(!cron.contains("~") && job.notes.count == 1, "\(cron)")
            #expect(throws: Never.self) { try CronSpec(cron) }
        }
        #expect(try Imported("10~5 * * * * a\n", .cronie).refusal() != nil)
    }

    @Test func cronieStepsFromANumberToTheEnd() throws {
        #expect(try Imported("5/20 * * * * a\n", .cronie)["cron"] == "\"5-59/20 * * * *\"")
    }
}
