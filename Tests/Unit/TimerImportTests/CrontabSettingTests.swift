// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

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
        #expect(
            values == [
                "{ SHELL = \"/bin/sh\" }", "{ SHELL = \"/bin/sh\", A = \"1\", B = \"x y\" }",
                "{ SHELL = \"/bin/sh\", A = \"2\", B = \"x y\" }",
            ])
    }

    @Test(arguments: ["LOGNAME=x", "USER=x", "LISTEN_FDS=1", "\"A B\"=c", "9A=c", "TIMERD_X=1"])
    func whatAJobCannotHaveIsNoted(line: String) throws {
        let imported = try Imported("\(line)\n0 1 * * * a\n")
        #expect(imported["environment"] == "{ SHELL = \"/bin/sh\" }")
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
        #expect(strict["environment"] == "{ SHELL = \"/bin/sh\", PATH = \"/usr/bin:/bin\" }")
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
            debian["timezone"] == nil
                && debian["environment"] == "{ SHELL = \"/bin/sh\", CRON_TZ = \"Asia/Tokyo\" }")
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

    /// From its setting on, the jobs of a group wait for each other.
    @Test func aGroupOfSystemdCronIsASlot() throws {
        let text = "0 1 * * * a\nCRON_BATCH_THROTTLE_GROUP=my disk\n0 2 * * * a\n0 3 * * * a\n"
        let group = try Imported(text + "CRON_BATCH_THROTTLE_GROUP=\n0 4 * * * a\n", .systemdCron)
        let slots = group.result.jobs.map { $0.value(of: "slots")?.description }
        #expect(slots == [nil, "[\"my-disk\"]", "[\"my-disk\"]", nil])
        #expect(group.result.slots == ["my-disk"])
        #expect(!group.notes.contains { $0.contains("slot") })
        #expect(group.result.toml(title: "x").contains("[slot.my-disk]\nmax = 1\n"))
        let bad = try Imported("CRON_BATCH_THROTTLE_GROUP=!\n0 2 * * * a\n", .systemdCron)
        #expect(bad["slots"] == nil)
        #expect(bad.notes.contains { $0.contains("\"!\" cannot be the name of a slot") })
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
