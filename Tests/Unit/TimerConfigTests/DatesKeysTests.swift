// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ConfigFolder
import Foundation
import Testing
import TimerCore

@testable import TimerConfig

/// The tables `[dates.NAME]`, their files, and the keys of a job about them.
@Suite struct DatesKeysTests {
    private static let now = WallInstant(rfc3339: "2026-12-01T00:00:00Z")!
    private static let job = "[job.j]\ncalendar = \"08:00\"\ntimezone = \"UTC\"\nshell = \"x\"\n"

    private static func read(_ text: String, checks: ConfigChecks? = nil) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "f", checks: checks)
    }

    private static func next(_ job: Job?, after instant: WallInstant = now) -> String? {
        guard case .wall(let schedule) = job?.schedule else { return nil }
        return schedule.next(after: instant)?.rfc3339
    }

    @Test func listsAndTheirUsesAreRead() throws {
        let reading = try Self.read(
            Self.job + "except = [\"holidays\"]\nonly-on = [\"a\", \"b\"]\n"
                + "[dates.holidays]\ndates = [\"2026-12-02..2026-12-03\", \"*-05-01\"]\n"
                + "[dates.a]\ndates = [\"2026-12-01..2026-12-05\"]\n[dates.b]\ndates = []\n")
        #expect(reading.errors.isEmpty)
        #expect(reading.settingsFiles == ["f"])
        let job = try #require(reading.jobSet.jobs.first)
        guard case .wall(let schedule) = job.schedule, let rules = schedule.rules?.wrappedValue
        else { throw CocoaError(.featureUnsupported) }
        #expect(rules.except.map(\.name.description) == ["holidays"])
        #expect(rules.except[0].days.texts == ["2026-12-02..2026-12-03", "*-05-01"])
        #expect(rules.onlyOn.map(\.name.description) == ["a", "b"])
        #expect(Self.next(job) == "2026-12-01T08:00:00Z")
        #expect(
            Self.next(job, after: WallInstant(rfc3339: "2026-12-01T08:00:00Z")!)
                == "2026-12-04T08:00:00Z")
    }

    /// The dates of `[defaults]` apply to the jobs that have dates.
    @Test func defaultsApplyToSchedulesByTheWallClock() throws {
        let reading = try Self.read(
            "[defaults]\nexcept = [\"h\"]\n[dates.h]\ndates = [\"2026-12-01\"]\n" + Self.job
                + "[job.k]\nevery = \"1h\"\nshell = \"x\"\n"
                + "[job.l]\ncalendar = \"08:00\"\ntimezone = \"UTC\"\nshell = \"x\"\nexcept = []\n")
        #expect(reading.errors.isEmpty)
        #expect(
            reading.jobSet.jobs.map { Self.next($0) } == [
                "2026-12-02T08:00:00Z", nil, "2026-12-01T08:00:00Z",
            ])
    }

    @Test(arguments: [
        (
            "except = [\"holidys\"]",
            "6:10: job \"j\": except: there is no table [dates.holidys] (did you mean \"holidays\"?)"
        ),
        (
            "except = [\"bad\"]",
            "6:10: job \"j\": except: the dates \"bad\" have an error; correct it first"
        ),
        (
            "only-on = \"holidays\"",
            "6:11: job \"j\": only-on: must be an array of names such as [\"holidays\"], not a string"
        ),
        (
            "except = [\"holidays\", \"holidays\"]",
            "6:23: job \"j\": except: names \"holidays\" twice; remove one"
        ),
        (
            "except = [\"a b\"]",
            "6:11: job \"j\": except: the name of a list of dates has only letters, digits, '.', '_', '-' and '@'"
        ),
    ])
    func aJobIsRefused(line: String, error: String) throws {
        let reading = try Self.read(
            Self.job + "#\n" + line
                + "\n[dates.holidays]\ndates = []\n[dates.bad]\ndates = [\"x\"]\n")
        #expect(reading.errors.map(\.description).contains("f:" + error))
        #expect(reading.jobSet.jobs.isEmpty)
    }

    @Test(arguments: [
        ("every = \"1h\"", "except"), ("after = \"1h\"", "only-on"),
        ("at = \"2026-12-24T18:00:00Z\"", "except"), ("on-boot = \"1h\"", "except"),
        ("cron = \"@reboot\"", "except"), ("on-demand = true", "except"),
    ])
    func schedulesWithoutDatesAreRefused(schedule: String, key: String) throws {
        let text =
            "[dates.h]\ndates = []\n[job.j]\nshell = \"x\"\n\(schedule)\n\(key) = [\"h\"]\n"
        let errors = try Self.read(text).errors.map(\.description)
        #expect(errors.count == 1)
        #expect(errors.first?.hasPrefix("f:6:1: job \"j\": \(key) ") == true, "\(errors)")
        #expect(
            errors.first?.contains("can only be used with") == true
                || errors.first?.contains("go") == true)
    }

    @Test(arguments: [
        ("", "1:8: dates \"h\": one of file or dates is missing"),
        (
            "file = \"a\"\ndates = []",
            "1:8: dates \"h\": file and dates exclude each other; keep one"
        ),
        (
            "dates = [2026-12-25]",
            "2:10: dates \"h\": dates: must be a date in quotes, such as \"2026-12-25\""
        ),
        (
            "dates = [\"2026-12-24..2026-12-32\"]",
            "2:23: dates \"h\": dates: there is no day 32 in that month, which has 31"
        ),
        (
            "dates = \"2026-12-25\"",
            "2:9: dates \"h\": dates: must be an array of dates such as [\"2026-12-25\"], not a string"
        ),
        (
            "dates = []\ndats = []",
            "3:1: dates \"h\": unknown key \"dats\" (did you mean \"dates\"?)"
        ),
        ("file = \"\"", "2:8: dates \"h\": file: names no file, such as \"holidays.txt\""),
        ("file = \"x\"", "2:8: dates \"h\": file: a file of dates cannot be read here; use dates"),
    ])
    func aListIsRefused(lines: String, error: String) throws {
        let reading = try Self.read("[dates.h]\n\(lines)\n")
        #expect(reading.errors.map(\.description) == ["f:" + error])
        #expect(reading.faults.isWhole)
    }

    // MARK: - Every second date

    @Test func everySecondDateIsRead() throws {
        let lines = "every-nth = 2\ncounted-from = \"2026-11-29\"\n"
        let reading = try Self.read(Self.job + lines)
        #expect(reading.errors.isEmpty)
        #expect(Self.next(reading.jobSet.jobs.first) == "2026-12-01T08:00:00Z")
        let shared = try Self.read(
            "[dates.h]\ndates = [\"2026-12-01\"]\n" + Self.user + lines)
        #expect(shared.errors.isEmpty)
        #expect(Self.next(shared.jobSet.jobs.first) == "2026-12-03T08:00:00Z")
    }

    @Test(arguments: [
        (
            "calendar = \"08:00\"\nevery-nth = 2",
            "4:1: job \"j\": every-nth needs counted-from, the date of one of the runs that count, such as \"2026-11-07\""
        ),
        (
            "calendar = \"08:00\"\ncounted-from = \"2026-11-07\"",
            "4:1: job \"j\": counted-from can only be used with every-nth"
        ),
        (
            "calendar = \"hourly\"\nevery-nth = 2\ncounted-from = \"2026-11-07\"",
            "4:1: job \"j\": every-nth goes with a schedule that fires at most once on a day, such as \"Sat 10:00\": its dates are counted"
        ),
        (
            "cron = \"0 0,12 * * *\"\nevery-nth = 2\ncounted-from = \"2026-11-07\"",
            "4:1: job \"j\": every-nth goes with a schedule that fires at most once on a day, such as \"Sat 10:00\": its dates are counted"
        ),
        (
            "calendar = [\"Sat 10:00\", \"Sun 10:00\"]\nevery-nth = 2\ncounted-from = \"2026-11-07\"",
            "4:1: job \"j\": every-nth goes with one calendar event or crontab line, and this job has 2"
        ),
        (
            "every = \"1h\"\nevery-nth = 2\ncounted-from = \"2026-11-07\"",
            "4:1: job \"j\": every-nth can only be used with calendar and cron, and not with @reboot"
        ),
        (
            "cron = \"@reboot\"\nevery-nth = 2\ncounted-from = \"2026-11-07\"",
            "4:1: job \"j\": every-nth can only be used with calendar and cron, and not with @reboot"
        ),
        (
            "calendar = \"08:00\"\nevery-nth = 1\ncounted-from = \"2026-11-07\"",
            "4:13: job \"j\": every-nth: 1 is out of range; from 2 to 1000"
        ),
        (
            "calendar = \"08:00\"\nevery-nth = 2\ncounted-from = 2026-11-07",
            "5:16: job \"j\": counted-from: must be a date in quotes, such as \"2026-11-07\""
        ),
        (
            "calendar = \"08:00\"\nevery-nth = 2\ncounted-from = \"*-11-07\"",
            "5:16: job \"j\": counted-from: must be one date, such as \"2026-11-07\""
        ),
        (
            "calendar = \"08:00\"\nevery-nth = 2\ncounted-from = \"2026-11-31\"",
            "5:16: job \"j\": counted-from: there is no day 31 in that month, which has 30"
        ),
    ])
    func aWrongCountIsRefused(lines: String, error: String) throws {
        let reading = try Self.read("[job.j]\nshell = \"x\"\n\(lines)\n")
        #expect(reading.errors.map(\.description) == ["f:" + error])
    }

    // MARK: - Files

    private static func load(_ folder: ConfigFolder, checks: ConfigChecks? = nil) throws
        -> ConfigReading
    {
        try ConfigReader.load(path: folder.main, ownerUID: geteuid(), checks: checks)
    }

    private static func dates(_ folder: ConfigFolder) -> String { "\(folder.path)/holidays.txt" }

    private static func write(_ text: String, _ folder: ConfigFolder) throws {
        try text.write(toFile: dates(folder), atomically: true, encoding: .utf8)
        chmod(dates(folder), 0o644)
    }

    private static let list = "[dates.h]\nfile = \"holidays.txt\"\n"
    private static let user = Self.job + "except = [\"h\"]\n"

    @Test func aFileIsReadBesideTheConfiguration() throws {
        let folder = ConfigFolder()
        try Self.write(
            "\u{feff}# Closed\r\n2026-12-01\r\n\t2026-12-02..2026-12-03  # a bridge\n\n*-12-04",
            folder)
        try folder.write(Self.list + Self.user, to: "main")
        let reading = try Self.load(folder)
        #expect(reading.errors.isEmpty)
        #expect(Self.next(reading.jobSet.jobs.first) == "2026-12-05T08:00:00Z")
        let known = reading.datesFiles
        #expect(Array(known.keys) == [Self.dates(folder)])
        func haveChanged() -> Bool {
            ConfigReader.haveChanged(known, path: folder.main, ownerUID: geteuid())
        }
        #expect(!haveChanged())
        try Self.write("2026-12-01\n", folder)
        #expect(haveChanged())
        #expect(Self.next(try Self.load(folder).jobSet.jobs.first) == "2026-12-02T08:00:00Z")
    }

    /// A file of `jobs.d` names its dates beside itself, and jobs of other files can use them. They
    /// are read again whenever the dates may have changed.
    @Test func filesOfJobsAreParsedAgainIfTheyNameDates() throws {
        let folder = ConfigFolder()
        try folder.write(Self.list, to: "main")
        try Self.write("2026-12-01\n", folder)
        try folder.write(Self.user, to: "a")
        try folder.write(
            "[job.k]\ncalendar = \"09:00\"\ntimezone = \"UTC\"\nshell = \"x\"\n",
            to: "b")
        let first = try Self.load(folder)
        #expect(first.errors.isEmpty)
        try Self.write("2026-12-01..2026-12-02\n", folder)
        let second = try ConfigReader.load(
            changesSince: first.contents,
            jobs: { _ in [Job.Name("k")!] }, path: folder.main, ownerUID: geteuid())
        #expect(second.unchanged.count == 1)
        #expect(
            second.jobSet.jobs.map { Self.next($0) } == ["2026-12-03T08:00:00Z"])
        // The runner computes no times, and needs no dates.
        try FileManager.default.removeItem(atPath: Self.dates(folder))
        let runner = try ConfigReader.load(
            changesSince: nil, jobs: { _ in [] }, path: folder.main, ownerUID: geteuid(),
            computesTimes: false)
        #expect(runner.errors.isEmpty && runner.jobSet.jobs.count == 2)
    }

    @Test(arguments: [
        ("2026-02-29\n", ":1:1: there is no day 29 in that month, which has 28"),
        (
            "# a\n\n 2026-12-26..2026-12-24\n",
            ":3:2: the range runs backwards; write the earlier date first"
        ),
        ("2026-12-24..2026-12-40\n", ":1:13: there is no day 40 in that month, which has 31"),
        (
            "secret\n",
            ":1:1: is not a date such as 2026-12-25, a range such as 2026-12-24..2026-12-26 or a day of each year such as *-05-01"
        ),
    ])
    func aWrongLineIsAnErrorWithItsPlace(content: String, error: String) throws {
        let folder = ConfigFolder()
        try Self.write(content, folder)
        try folder.write(Self.list + Self.user, to: "main")
        let reading = try Self.load(folder)
        #expect(
            reading.errors.map(\.description) == [
                Self.dates(folder) + error,
                folder.main
                    + ":7:10: job \"j\": except: the dates \"h\" have an error; correct it first",
            ])
        #expect(reading.jobSet.jobs.isEmpty && reading.faults.isWhole)
        #expect(!reading.errors[0].description.contains("secret"))
    }

    @Test func bytesThatAreNoTextAndFilesThatAreNotThereAreErrors() throws {
        let folder = ConfigFolder()
        let path = Self.dates(folder)
        try folder.write(Self.list, to: "main")
        func first() throws -> String? { try Self.load(folder).errors.first?.description }
        let place = "\(folder.main):2:8: dates \"h\": file: \(path): "
        #expect(try first() == place + "there is no such file; write it; an empty one has no dates")
        try Data([0x32, 0xff, 0x0a]).write(to: URL(fileURLWithPath: path))
        #expect(try first() == "\(path):1:1: is not UTF-8 here; save it as UTF-8")
        try Data(count: 1 << 20 | 1).write(to: URL(fileURLWithPath: path))
        #expect(try first() == place + "is larger than 1 MiB; is it the right file?")
        try Data([0x30, 0]).write(to: URL(fileURLWithPath: path))
        #expect(try first()?.hasPrefix("\(path):1:1: is not a date such as") == true)
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try first() == place + "is not a regular file")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try first() == place + "is a directory; name the file in it")
        try FileManager.default.removeItem(atPath: path)
        try Self.write("2026-12-25\n", folder)
        #expect(chmod(path, 0o666) == 0)
        #expect(
            try first() == place + "may be written to by others than its owner; chmod go-w it")
    }

    /// The first errors of a large wrong file are reported, and the others are not looked for.
    @Test func manyErrorsAreBounded() throws {
        let folder = ConfigFolder()
        try Self.write(String(repeating: "x\n", count: 500_000), folder)
        try folder.write(Self.list, to: "main")
        #expect(try Self.load(folder).errors.count == ConfigReading.errorsMax)
    }

    // MARK: - Warnings

    private static func warnings(_ text: String) throws -> [String] {
        try read(text, checks: ConfigChecks(at: now)).warnings.map(\.description)
    }

    @Test func listsThatDoNothingAreWarnings() throws {
        #expect(
            try Self.warnings("[dates.h]\ndates = [\"2026-11-30\"]\n" + Self.user) == [])
        #expect(
            try Self.warnings("[dates.h]\ndates = [\"2026-11-29\"]\n" + Self.user) == [
                "f:1:8: warning: dates \"h\": all of its dates are past, the last is 2026-11-29; add those to come [past-dates]"
            ])
        #expect(
            try Self.warnings("[dates.h]\ndates = [\"*-11-29\"]\n" + Self.job) == [
                "f:1:8: warning: dates \"h\": no job names them in except or only-on [unused-dates]"
            ])
    }

    @Test func aJobThatNeverRunsIsAWarning() throws {
        let message =
            "job \"j\": its dates exclude every run of the next five years: 2026-12-01 is"
        #expect(
            try Self.warnings(
                "[dates.h]\ndates = [\"2026-01-01..2031-12-31\"]\n" + Self.user) == [
                    "f:7:10: warning: \(message) in h [never-allowed]"
                ])
        #expect(
            try Self.warnings("[dates.h]\ndates = []\n" + Self.job + "only-on = [\"h\"]\n") == [
                "f:7:11: warning: \(message) not in h [never-allowed]"
            ])
        #expect(
            try Self.warnings(
                "[dates.h]\ndates = [\"2026-01-01..2030-12-31\"]\n" + Self.user) == [])
    }

    /// What a job gets from other files counts as well when one file is checked beside them.
    @Test func aFileIsCheckedBesideTheDatesOfOthers() throws {
        let folder = ConfigFolder()
        try folder.write(Self.list, to: "main")
        try Self.write("2026-12-01\n", folder)
        let surroundings = try ConfigReader.surroundings(path: folder.main, ownerUID: geteuid())
        let reading = try ConfigReader.read(
            Array(Self.user.utf8), file: "f", beside: surroundings)
        #expect(reading.errors.isEmpty)
        #expect(Self.next(reading.jobSet.jobs.first) == "2026-12-02T08:00:00Z")
    }
}
