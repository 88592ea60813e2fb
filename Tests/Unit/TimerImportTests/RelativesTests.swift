// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerConfig
import TimerCore

@testable import TimerImport

@Suite struct AnacrontabTests {
    private func read(
        _ text: String, last: ((String) -> CivilDate?)? = nil
    ) -> ImportResult {
        AnacrontabImporter(
            CrontabSource(
                file: "/etc/anacrontab", bytes: Array(text.utf8), stem: "anacron",
                hasUserField: false,
                owner: "root", namesOwner: true),
            CrontabOptions(), today: CivilDate(year: 2026, month: 11, day: 22), lastRun: last
        ).result
    }

    private func value(_ key: String, of text: String, last: ((String) -> CivilDate?)? = nil)
        -> String?
    {
        read(text, last: last).jobs.first?.value(of: key)?.description
    }

    @Test(arguments: [
        ("1", "\"1d\""), ("7", "\"7d\""), ("@daily", "\"1d\""), ("@weekly", "\"7d\""),
        ("30", "\"30d\""),
    ])
    func aPeriodOfDaysIsAnInterval(period: String, every: String) {
        let line = "\(period) 5 cron.daily run-parts /etc/cron.daily\n"
        #expect(value("every", of: line) == every)
        #expect(value("first", of: line) == "\"5min\"")
        #expect(value("count", of: line) == "\"wall\"")
        #expect(value("working-directory", of: line) == "\"/\"")
        #expect(value("user", of: line) == "\"root\"")
        #expect(read(line).jobs[0].name.description == "cron.daily")
    }

    @Test func aMonthIsThatOfTheCalendar() {
        let line = "START_HOURS_RANGE=6-22\n@monthly 15 m x\n"
        #expect(value("cron", of: line) == "\"15 6 1 * *\"")
        #expect(value("on-missed", of: line) == "\"run-once\"")
        #expect(value("window", of: line) == "\"6:00-22:00\"")
        #expect(value("cron", of: "@yearly 15 m x\n") == "\"15 0 1 1 *\"")
    }

    @Test(arguments: [
        ("3-22", "\"3:00-22:00\""), (" 0 - 24 ", nil), ("22-6", nil), ("6", nil), ("6-25", nil),
        ("a-b", nil), ("8-8", nil), ("-1-5", nil),
    ])
    func theHoursAreAWindow(hours: String, window: String?) {
        let line = "START_HOURS_RANGE=\(hours)\n1 5 daily true\n"
        #expect(value("window", of: line) == window)
        let isNoted = read(line).jobs[0].notes.contains { $0.contains("START_HOURS_RANGE") }
        #expect(isNoted == (window == nil && hours != " 0 - 24 "))
    }

    @Test func itContinuesAfterTheLastRun() {
        let line = "7 5 w x\n"
        let days = [20: "\"5d 5min\"", 22: "\"7d 5min\"", 1: "\"5min\""]
        for (day, first) in days {
            let last = CivilDate(year: 2026, month: 11, day: day)
            #expect(value("first", of: line, last: { $0 == "w" ? last : nil }) == first)
        }
        #expect(
            read(line, last: { _ in nil }).jobs[0].notes.contains { $0.contains("no last run") })
        #expect(read(line).jobs[0].notes.contains { $0.contains("--seed") })
    }

    @Test func variablesAndContinuedLinesAreRead() {
        let result = read(
            "RANDOM_DELAY = 45\nRANDOM_DELAY=45\nSHELL=/bin/bash\nA=b c\n1 0 x run \\\n  --all\n")
        #expect(result.jobs[0].value(of: "shell") == .string("run   --all"))
        #expect(result.jobs[0].value(of: "random-delay") == .string("45min"))
        #expect(result.jobs[0].value(of: "first") == .string("0s"))
        #expect(
            result.jobs[0].value(of: "environment")?.description
                == "{ SHELL = \"/bin/bash\", A = \"b c\" }")
        #expect(result.report.entries.map(\.place.line).prefix(6) == [1, 2, 3, 4, 5, 6])
    }

    @Test(arguments: ["@never 1 x y", "0 1 x y", "1 two x y", "1 2 a/b y", "1 2 x", "1 -2 x y"])
    func whatIsNoJobIsRefused(line: String) {
        let result = read(line + "\n")
        #expect(result.exactness == .nothingUsable && result.report.refused.count == 1)
    }
}

@Suite struct FcrontabTests {
    private func read(_ text: String) -> ImportResult {
        var options = CrontabOptions()
        options.isZone = { $0 == "Europe/Paris" }
        return FcrontabImporter(
            CrontabSource(
                file: "-", bytes: Array(text.utf8), stem: "fcron", hasUserField: false,
                owner: "anna",
                namesOwner: false), options
        ).result
    }

    private func value(_ key: String, of text: String) -> String? {
        read(text).jobs.first?.value(of: key)?.description
    }

    @Test(
        arguments: [
            ("@ 30 x", "30min", nil), ("@ 12h02 x", "12h 2min", nil),
            ("@ 3w2d5h1 x", "3w 2d 5h 1min", nil),
            ("@5 1h x", "1h", "5min"), ("@first(0),nice(3) 90s x", "1min 30s", "0s"),
            ("@f(1h) 2d x", "2d", "1h"),
        ] as [(String, String, String?)])
    func elapsedTimeIsTimerdsOwn(line: String, every: String, first: String?) {
        #expect(value("every", of: line + "\n") == "\"\(every)\"")
        #expect(value("first", of: line + "\n") == first.map { "\"\($0)\"" })
        #expect(value("count", of: line + "\n") == "\"active\"")
        #expect(value("shell", of: line + "\n") == "\"x\"")
    }

    @Test(arguments: [
        ("& 05,35 12-14 * * * x", "cron", "5,35 12,13,14 * * *"),
        ("20-24~23 * * * * x", "cron", "20,21,22,24 * * * *"),
        ("&bootrun 45 03 * * *~0 x", "cron", "45 3 * * 1,2,3,4,5,6"),
        ("5 10 31 * 7 x", "calendar", "Sun *-*-31 10:5:00"),
        ("&dayor 5 10 31 * 7 x", "cron", "5 10 31 * 0"),
        ("0-30/10 1 * mar fri x", "cron", "0,10,20,30 1 * 3 5"),
        ("%nightly * 21-23,3-5 x", "cron", "0 21 * * *"),
        ("%hours 15 2-4 * * * x", "cron", "15 2 * * *"),
        ("%mins 15 2-4 * * * x", "cron", "15 2,3,4 * * *"),
        ("%hourly 10-50 x", "cron", "10 * * * *"),
        ("%weekly * 8-18 x", "cron", "0 8 * * 1"), ("%monthly 0 5 2-9 x", "cron", "0 5 2 * *"),
    ])
    func fieldsBecomeASchedule(line: String, key: String, text: String) throws {
        #expect(value(key, of: line + "\n") == "\"\(text)\"")
        #expect(value("shell", of: line + "\n") == "\"x\"")
        if key == "cron" { #expect(throws: Never.self) { try CronSpec(text) } }
        if key == "calendar" { #expect(throws: Never.self) { try CalendarSpec(text) } }
    }

    @Test func optionsBecomeKeys() {
        let line =
            "!nice(5),mailto(ops)\n&runas(bob),bootrun,exesev,timezone(Europe/Paris),nolog,jitter(9) 1 2 * * * x\n"
        #expect(value("nice", of: line) == "5" && value("user", of: line) == "\"bob\"")
        #expect(value("on-missed", of: line) == "\"run-once\"")
        #expect(value("concurrency", of: line) == "\"allow\"")
        #expect(value("timezone", of: line) == "\"Europe/Paris\"")
        #expect(value("log", of: line) == "\"failures\"")
        #expect(value("random-delay", of: line) == "\"9s\"")
        #expect(read(line).notifiers.map { $0.keys[0].value } == [.string("ops")])
        #expect(value("notify", of: "&mail(no) 1 2 * * * x\n") == nil)
        #expect(value("concurrency", of: "& 1 2 * * * x\n") == "\"forbid\"")
        #expect(read("!serial,nice(5)\n!reset\n& 1 2 * * * x\n").jobs[0].notes.isEmpty)
    }

    /// Jobs that wait for each other share a slot, and the load is a condition for which a run waits.
    @Test(
        arguments: [
            ("serial", "slots", "[\"serial\"]"), ("serial(no)", "slots", nil),
            (
                "lavg1(0.8)", "condition",
                "{ load-below = 0.8, otherwise = \"wait\", wait-max = \"100y\" }"
            ),
            (
                "lavg(4,0,0)", "condition",
                "{ load-below = 4.0, otherwise = \"wait\", wait-max = \"100y\" }"
            ),
            (
                "lavg(4,0,0),lavg1(2.5)", "condition",
                "{ load-below = 2.5, otherwise = \"wait\", wait-max = \"100y\" }"
            ),
            ("lavg(0,0,0)", "condition", nil), ("lavg1(much)", "condition", nil),
        ] as [(String, String, String?)])
    func serialAndLoadBecomeKeys(option: String, key: String, value: String?) throws {
        let result = read("!\(option)\n@ 1h x\n@ 2h y\n")
        for job in result.jobs {
            #expect(job.value(of: key).map { "\($0)" } == value && job.notes.isEmpty)
        }
        #expect(result.slots == (value != nil && key == "slots" ? ["serial"] : []))
        let text = result.toml(title: "x")
        #expect(
            text.contains("\n[slot.serial]\nmax = 1\n") == !result.slots.isEmpty)
        #expect(
            try ConfigReader.read(Array(text.utf8), file: "x").errors.map(\.message) == [])
    }

    @Test(arguments: [
        "lavg5(3)", "lavg(1,2,3)", "lavg(1,2,0),lavgor", "lavg1(2),until(2h)", "volatile",
        "noticenotrun", "runonce",
    ])
    func whatIsLostIsNoted(option: String) {
        #expect(read("!\(option)\n@ 1h x\n").jobs[0].notes.count == 1)
    }

    @Test func aTimeAfterWhichFcronRunsAJobInAnyCaseEndsTheWait() {
        let value = value("condition", of: "!lavg1(2),until(2h30)\n@ 1h x\n")
        #expect(value == "{ load-below = 2.0, otherwise = \"wait\", wait-max = \"2h 30min\" }")
    }

    @Test(arguments: [
        "&5 1 2 * * * x", "@bogus 1 x", "@ x", "@ 1q x", "& 1 2 * * x", "%never 1 x",
        "&nice(5 1 2 * * * x",
        "& 61 2 * * * x", "& 5-3 2 * * * x", "& 5~5 2 * * * x", "what is it",
        "@ 99999999999999999m x",
    ])
    func whatIsNoJobIsRefused(line: String) {
        let result = read(line + "\n")
        #expect(result.exactness == .nothingUsable && result.report.refused.count == 1, "\(result)")
    }
}
