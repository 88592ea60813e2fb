// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

/// The files of switched sources: timerd accepts them with guards and without, and they are read back.
@Suite struct SwitchFileTests {
    private func check(_ file: SwitchFile) throws -> [Job] {
        let read = try ConfigReader.read(Array(file.text.utf8), file: "x.toml")
        #expect(read.errors.map(\.message) == [])
        return read.jobSet.jobs
    }

    private func table(_ text: String) throws -> SwitchFile {
        let result = try Imported(text).result
        return SwitchFile(
            .userTable("anna"), result,
            tableLines: result.jobs.compactMap { $0.source.last }.map { MarkedTable.key($0) })
    }

    @Test func guardsComeAndGo() throws {
        let file = try table("# why\n1 * * * * a\n2 * * * * b%in%it\n")
        #expect(file.isGuarded && file.jobs == ["a", "b"])
        let jobs = try check(file)
        let command = SwitchGuard.command(of: .userTable("anna"))
        #expect(jobs.map { $0.execution.condition?.command } == [command, command])
        #expect(jobs.allSatisfy { $0.execution.condition?.otherwise == .skip })
        let plain = file.withGuards(false)
        #expect(!plain.isGuarded && plain.withGuards(false) == plain)
        #expect(try check(plain).allSatisfy { $0.execution.condition == nil })
        #expect(plain.withGuards(true) == file)
        for file in [file, plain] {
            let read = try #require(SwitchFile(file.text))
            #expect(read == file && read.source == .userTable("anna"))
            #expect(read.tableLines == ["1 * * * * a", "2 * * * * b%in%it"])
        }
    }

    /// The text of a crontab cannot leave its place, whatever it contains.
    @Test(arguments: [
        "1 * * * * a '\"; touch /tmp/x; \"' $(id) `id` \\", "1 * * * * a # guard",
        "1 * * * * a%condition = { x } # guard%#guard# condition = 1%'''%[job.evil]%#own# x",
        "1 * * * * a\u{2028}[job.evil]", "1 * * * * a \u{1b}]0;x\u{7}\t", "1 * * * * \"]\\n[job.x]",
    ])
    func aLineIsOnlyText(line: String) throws {
        let file = try table("# condition = {} # guard\n\(line)\n")
        let plain = file.withGuards(false)
        for each in [file, plain, plain.withGuards(true).withGuards(false)] {
            let jobs = try check(each)
            #expect(jobs.count == 1 && each.jobs == jobs.map(\.name.description))
            #expect(jobs[0].command == (try check(file))[0].command)
            #expect(jobs[0].execution.stdin == (try check(file))[0].execution.stdin)
            #expect((jobs[0].execution.condition == nil) == !each.isGuarded)
        }
        #expect(plain.withGuards(true) == file)
    }

    private func timer(_ unit: String, _ service: String = "") throws -> ImportResult {
        try Units(files: [
            "a.timer": "[Timer]\nOnCalendar=daily\n\(unit)\n",
            "a.service": "[Unit]\n\(service)\nType=oneshot\nExecStart=/bin/a\n",
        ]).imported("a.timer")
    }

    /// Its own conditions are asked too, but no run waits for them: it would start after the switch.
    @Test func aJobKeepsItsOwnConditions() throws {
        let result = try timer(
            "",
            "After=network-online.target\nConditionPathExists=/x\n[Service]\nExecCondition=/bin/b c"
        )
        let source = SwitchedSource.timer(try #require(UnitName("a.timer")), .enabled)
        let file = SwitchFile(source, result)
        let condition = try #require(try check(file)[0].execution.condition)
        #expect(condition.otherwise == .skip && condition.networkOnline)
        #expect(condition.command == SwitchGuard.command(of: source) + ["/bin/b", "c"])
        let own = try #require(try check(file.withGuards(false))[0].execution.condition)
        #expect(own.command == ["/bin/b", "c"] && own.otherwise == .wait && own.networkOnline)
        #expect(file.withGuards(false).withGuards(true) == file)
        #expect(file.users == [])
    }

    /// Such as a condition that is edited while timerd runs the jobs.
    @Test func aConditionThatAUserHasAddedStepsBack() throws {
        let plain = try table("1 * * * * a\n").withGuards(false)
        let edited = try #require(
            SwitchFile(
                plain.text
                    + "condition = { ac-power = true }\n[job.mine]\nshell = \"x\"\nevery = \"1h\"\n"
            ))
        let guarded = edited.withGuards(true)
        #expect(guarded.jobs == ["a", "mine"])
        #expect(
            try check(guarded)[0].execution.condition?.command
                == SwitchGuard.command(of: .userTable("anna")))
        #expect(guarded.withGuards(false) == edited)
    }

    @Test func theHeaderTellsWhatItWas() throws {
        let unit = try #require(UnitName(#"a\x2db@c.timer"#))
        for source: SwitchedSource in [
            .userTable("anna"), .file("/etc/crontab"), .file("/etc/cron.d/x-1"),
            .timer(unit, .enabled), .timer(unit, .static), .timer(unit, .disabled),
        ] {
            let file = SwitchFile(source, ImportResult())
            #expect(SwitchFile(file.text)?.source == source)
        }
        for other in ["", "[job.a]\n", "# Made by me\n# switched-from: crontab anna\n"] {
            #expect(SwitchFile(other) == nil)
        }
        #expect(SwitchedSource.file("/etc/cron.d/x").stem == "cron.d-x")
        #expect(SwitchedSource.timer(unit, .enabled).stem == #"systemd-a-x2db@c"#)
        #expect(SwitchedSource.timer(unit, .enabled).isSame(as: .timer(unit, .static)))
        #expect(!SwitchedSource.userTable("a").isSame(as: .file("/a")))
    }

    /// A timer is switched as a whole or not at all.
    @Test(arguments: [
        ("", nil), ("OnUnitActiveSec=1h", nil), ("OnBootSec=1min", nil),
        ("OnClockChange=yes", "OnClockChange"), ("OnCalendar=nonsense", "calendar event"),
        ("OnUnitActiveSec=1h\nOnUnitActiveSec=2h", "one interval"),
        ("OnActiveSec=1h", "runs once"),
    ])
    func aTimerOfWhichAScheduleIsLostStays(unit: String, reason: String?) throws {
        let refusal = try timer(unit, "[Service]").switchRefusal
        #expect((refusal == nil) == (reason == nil), "\(refusal ?? "")")
        if let reason { #expect(refusal?.contains(reason) == true || unit.hasPrefix(reason)) }
    }

    @Test func namesOfOthersAreNotTaken() throws {
        let result = try Imported("MAILTO=x\n1 * * * * a\n2 * * * * a\n") {
            ($0.takenJobs, $0.takenNotifiers) = (["a", "a-3"], ["tab-mail"])
        }.result
        #expect(result.jobs.map(\.name.description) == ["a-2", "a-4"])
        #expect(result.notifiers.map(\.name) == ["tab-mail-2"])
        let timer = try Units(files: [
            "a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=/bin/a\n",
        ]).imported("a.timer") { $0.takenJobs = ["a"] }
        #expect(timer.jobs.map(\.name.description) == ["a-2"])
    }

    /// A line that makes cron ignore all of a crontab.
    @Test func aTableThatCronIgnoresIsKnown() throws {
        #expect(try Imported("1 * * * * a\n61 * * * * b\n").importer.ignoredFiles == ["tab"])
        #expect(try Imported("1 * * * * a\n").importer.ignoredFiles.isEmpty)
    }
}
