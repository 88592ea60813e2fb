// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

/// A crontab and what becomes of it.
struct Imported {
    let result: ImportResult
    let importer: CrontabImporter

    init(
        _ text: String, _ flavour: CronFlavour = .debian, hasUser: Bool? = false,
        _ change: (inout CrontabOptions) -> Void = { _ in }
    ) throws {
        try self.init(bytes: Array(text.utf8), flavour, hasUser: hasUser, change)
    }

    init(
        bytes: [UInt8], _ flavour: CronFlavour = .debian, hasUser: Bool? = false,
        _ change: (inout CrontabOptions) -> Void = { _ in }
    ) throws {
        var options = CrontabOptions()
        options.flavour = flavour
        options.isAccount = { ["root", "backup", "mail", "www-data"].contains($0) }
        options.isProgram = { $0 == "mail" }
        options.isZone = { ["Asia/Tokyo", "Europe/Berlin"].contains($0) }
        change(&options)
        var importer = CrontabImporter(options)
        try importer.add(
            CrontabSource(
                file: "tab", bytes: bytes, stem: "tab", hasUserField: hasUser, owner: "anna",
                namesOwner: false))
        (result, self.importer) = (importer.result, importer)
    }

    /// The value of a key of the first job, as TOML; nil if it has none.
    subscript(key: String) -> String? { result.jobs.first?.value(of: key)?.description }

    /// The reason for which a line is not imported.
    func refusal(_ line: Int = 1) -> String? {
        for entry in result.report.entries where entry.place.line == line {
            if case .refused(let why) = entry.outcome { return why }
        }
        return nil
    }

    var notes: [String] {
        result.jobs.flatMap(\.notes)
            + result.report.noted.compactMap(\.message)
    }
}

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

@Suite struct CrontabSettingTests {
    @Test(
        arguments: [
            ("A=b", ("A", "b")), ("  A  =  b c  ", ("A", "b c")), ("A=\"b \"", ("A", "b ")),
            ("A='b'", ("A", "b")), ("\"A\"=b", ("A", "b")), ("A=\"\"", ("A", "")),
            ("A=b#c", ("A", "b#c")), ("A=$B", ("A", "$B")), ("A=\"b\" c", nil), ("A=\"b", nil),
            ("A=", nil), ("A B=c", nil), ("A", nil), ("A==b", ("A", "=b")), ("=b", ("", "b")),
        ] as [(String, (String, String)?)])
    func aSettingIsReadAsDebiansCronReadsIt(line: String, expected: (String, String)?) {
        let found = CrontabSetting(line, .debian)
        #expect(found?.name == expected?.0)
        #expect(found?.value == expected?.1)
    }

    @Test func otherCronsReadOtherSettings() {
        #expect(CrontabSetting("MAILTO=", .cronie)?.value == "")
        #expect(CrontabSetting("MAILTO=", .systemdCron)?.value == "")
        #expect(CrontabSetting("A=\"b\" c", .systemdCron)?.value == "b\" c")
    }

    @Test func variablesHoldFromThereOn() throws {
        let imported = try Imported("0 1 * * * a\nA=1\nB=x y\n0 2 * * * b\nA=2\n0 3 * * * c\n")
        let values = imported.result.jobs.map { $0.value(of: "environment")?.description }
        #expect(values == [nil, "{ A = \"1\", B = \"x y\" }", "{ A = \"2\", B = \"x y\" }"])
    }

    @Test(arguments: ["LOGNAME=x", "USER=x", "LISTEN_FDS=1", "\"A B\"=c", "9A=c", "TIMERD_X=1"])
    func whatAJobCannotHaveIsNoted(line: String) throws {
        let imported = try Imported("\(line)\n0 1 * * * a\n")
        #expect(imported["environment"] == nil)
        #expect(imported.result.report.noted.contains { $0.place.line == 1 })
    }

    @Test func theShellAndTheHomeAreThoseOfTheCrontab() throws {
        let imported = try Imported("SHELL=/bin/bash\nHOME=/srv\n0 1 * * * a | b\n")
        #expect(imported["command"] == "[\"/bin/bash\", \"-c\", \"a | b\"]")
        #expect(imported["shell"] == nil)
        #expect(imported["working-directory"] == "\"/srv\"")
        #expect(imported["environment"] == "{ SHELL = \"/bin/bash\", HOME = \"/srv\" }")
        #expect(try Imported("SHELL=/bin/sh\n0 1 * * * a\n")["shell"] == "\"a\"")
    }

    @Test func cronsPathIsWrittenOnRequest() throws {
        let text = "0 1 * * * a\n"
        #expect(try Imported(text).notes.contains { $0.contains("PATH") })
        let strict = try Imported(text) { $0.isStrictPath = true }
        #expect(strict["environment"] == "{ PATH = \"/usr/bin:/bin\" }")
        #expect(strict.result.exactness == .exact)
    }

    @Test(
        arguments: [
            ("", "\"anna\""), ("MAILTO=ops@example.org\n", "\"ops@example.org\""),
            ("MAILTO=\"a, b\"\n", "[\"a\", \"b\"]"), ("MAILTO=\"\"\n", nil), ("MAILTO=-f\n", nil),
        ] as [(String, String?)])
    func outputIsMailed(setting: String, mail: String?) throws {
        let imported = try Imported("\(setting)0 1 * * * a\n")
        let notifier = imported.result.notifiers.first
        #expect(notifier?.keys.first { $0.key == "mail" }?.value.description == mail)
        #expect(imported["notify"] == mail.map { _ in "[\"tab-mail\"]" })
        #expect(
            notifier == nil
                || notifier?.keys.contains(TomlEntry("on", .strings(["output"]))) == true)
    }

    @Test func theHeadersOfMailsAreThoseOfTheNotifier() throws {
        let imported = try Imported(
            "MAILFROM=a@b\nCONTENT_TYPE=text/plain; charset=X\n0 1 * * * a\n")
        #expect(
            imported.result.notifiers.map(\.toml) == [
                """
                [notify.tab-mail]
                mail = "anna"
                on = ["output"]
                per-hour = 10000
                mail-from = "a@b"
                mail-content-type = "text/plain; charset=X"

                """
            ])
    }

    @Test func theTimeZoneDependsOnTheFlavour() throws {
        let text = "CRON_TZ=Asia/Tokyo\n0 1 * * * a\n"
        let debian = try Imported(text)
        #expect(
            debian["timezone"] == nil && debian["environment"] == "{ CRON_TZ = \"Asia/Tokyo\" }")
        #expect(debian.notes.contains { $0.contains("CRON_TZ") })
        #expect(try Imported(text, .cronie)["timezone"] == "\"Asia/Tokyo\"")
        #expect(try Imported("TZ=Europe/Berlin\n0 1 * * * a\n")["timezone"] == nil)
        let systemd = try Imported("TZ=Europe/Berlin\n0 1 * * * a\n", .systemdCron)
        #expect(systemd["timezone"] == "\"Europe/Berlin\"")
        #expect(try Imported("CRON_TZ=No/Where\n0 1 * * * a\n", .cronie)["timezone"] == nil)
    }

    @Test func aRandomDelayIsCronies() throws {
        let text = "RANDOM_DELAY=45\n0 1 * * * a\n"
        #expect(try Imported(text, .cronie)["random-delay"] == "\"45min\"")
        #expect(try Imported(text)["random-delay"] == nil)
    }

    @Test func systemdCronHasSettingsOfItsOwn() throws {
        let text = "PERSISTENT=yes\nBATCH=yes\nDELAY=7\nSTART_HOURS_RANGE=3-22\n"
        let daily = try Imported(text + "@daily a\n", .systemdCron)
        #expect(daily["cron"] == "\"7 3 * * *\"")
        #expect(daily["on-missed"] == "\"run-once\"")
        #expect(daily["nice"] == "19" && daily["io-class"] == "\"idle\"")
        #expect(try Imported(text + "@reboot a\n", .systemdCron)["on-boot"] == "\"7min\"")
        #expect(try Imported("@weekly a\n", .systemdCron)["cron"] == "\"0 0 * * 1\"")
        #expect(try Imported("0 1 * * * a 50%\n", .systemdCron)["shell"] == "\"a 50%\"")
        #expect(try Imported("0 1 * * * a", .systemdCron).result.exactness != .nothingUsable)
    }
}

@Suite struct CrontabJobTests {
    @Test func itBehavesLikeCron_orLikeTimerd() throws {
        let cron = try Imported("0 1 * * * a\n")
        #expect(cron["on-missed"] == "\"skip\"" && cron["concurrency"] == "\"allow\"")
        #expect(cron["kill-leftovers"] == "false")
        let modern = try Imported("0 1 * * * a\n") { $0.isModern = true }
        #expect(modern["on-missed"] == nil && modern["concurrency"] == nil)
        #expect(modern["kill-leftovers"] == nil)
    }

    @Test(arguments: [
        ("/usr/bin/backup.sh --all", "backup.sh"), ("A=1 logrotate x", "logrotate"),
        ("cd / && x", "tab-1"),
        ("[ -x /bin/y ] && y", "tab-1"), ("(sleep 1)", "tab-1"), ("'/opt/my app' x", "my"),
    ])
    func aJobIsNamedAfterItsProgram(command: String, name: String) throws {
        #expect(try Imported("0 1 * * * \(command)\n").result.jobs[0].name.description == name)
    }

    @Test(arguments: [
        ("0 1 * * * root a b\n", true), ("0 1 * * * /bin/a b\n", false), ("0 1 * * * a b\n", false),
        ("0 1 * * * root\n", false), ("0 1 * * * mail -s x\n0 2 * * * /bin/b\n", false),
        ("0 1 * * * root x\n0 2 * * * mail y\n", true),
    ])
    func theUserFieldIsFound(text: String, hasUser: Bool) throws {
        let imported = try Imported(text, hasUser: nil)
        #expect((imported["user"] != nil) == hasUser)
    }

    @Test(arguments: ["0 1 * * * root x\n0 2 * * * nobodys y\n", "0 1 * * * mail -s x\n"])
    func anAmbiguousFileIsAnError(text: String) {
        #expect(throws: ImportFault.self) { try Imported(text, hasUser: nil) }
    }

    @Test func linesOfTheSystemNameUsers() throws {
        let imported = try Imported("0 1 * * * www-data a b\n0 2 * * * ghost c\n", hasUser: true)
        #expect(imported["user"] == "\"www-data\"" && imported["shell"] == "\"a b\"")
        #expect(imported.result.jobs[1].notes == ["there is no user ghost on this machine"])
        #expect(try Imported("0 1 * * * /bin/a b\n", hasUser: true).refusal() != nil)
        #expect(try Imported("0 1 * * * root\n", hasUser: true).refusal() != nil)
    }

    @Test func aSilentLineLogsFailuresOnly() throws {
        #expect(try Imported("-*/5 * * * * a\n", .cronie)["log"] == "\"failures\"")
    }

    @Test func scriptsOfADirectoryBecomeJobs() throws {
        let line =
            "25 6 * * * root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )\n"
        let kept = try Imported(line, hasUser: true)
        #expect(kept.result.jobs.count == 1 && kept.result.jobs[0].notes.count == 1)
        let scripts = ["apt-compat", "dpkg", "man-db"]
        let expanded = try Imported(line, hasUser: true) {
            $0.expandsRunParts = true
            $0.scripts = { $0 == "/etc/cron.daily" ? scripts : nil }
        }
        #expect(expanded.result.jobs.map(\.name.description) == scripts)
        #expect(expanded["shell"] == "\"/etc/cron.daily/apt-compat\"")
        #expect(expanded.result.jobs.allSatisfy { $0.notes.count >= 2 })
    }

    @Test func aCommentAboveALineStaysWithIt() throws {
        let imported = try Imported("# far\n\n# near\n0 1 * * * a\n0 2 * * * b\n")
        #expect(imported.result.jobs[0].source == ["# near", "0 1 * * * a"])
        #expect(imported.result.jobs[1].source == ["0 2 * * * b"])
    }
}

@Suite struct CronCommandTests {
    @Test(
        arguments: [
            ("a", "a", nil), ("a%b", "a", "b\n"), ("a%b%%c%", "a", "b\n\nc\n"),
            ("a\\%b", "a%b", nil),
            ("a%", "a", nil), ("a\\\\b", "a\\b", nil), ("a\\n", "a\\n", nil),
            ("a%b\\%c", "a", "b%c\n"),
            ("a%b\\n", "a", "b\\n\n"), ("a%b\\", "a", "b\\\n"), ("%b", "", "b\n"),
            ("a\\\\%b", "a\\", "b\n"), ("a%\\\\%", "a", "\\%\n"), ("a%\\", "a", "\\"),
            ("a%%", "a", "\n"), ("a b\\", "a b\\", nil),
        ] as [(String, String, String?)])
    func percentSignsAreThoseOfDebiansCron(text: String, line: String, input: String?) {
        let command = CronCommand(text, .debian)
        #expect(command.line == line)
        #expect(command.input == input)
    }

    @Test func cronieKeepsTwoBackslashes() {
        #expect(CronCommand("a\\\\b", .cronie).line == "a\\\\b")
    }

    @Test(arguments: [
        ("sleep $(( RANDOM % 600 )); x", true), ("date +%F", false), ("echo \"50% of\"", true),
        ("echo 'a%b'", true), ("echo `date +%F`", true), ("mail -s \"It's\" joe%text", false),
        ("test $(date +\\%u) -eq 6%x", false),
    ])
    func aCutWithinQuotesIsNoted(text: String, isCut: Bool) {
        #expect(CronCommand(text, .debian).isCutInside == isCut)
    }
}
