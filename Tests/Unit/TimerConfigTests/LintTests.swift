// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// Schedules that are valid but may be mistakes, as of 2026-11-21.
@Suite struct LintTests {
    private func codes(_ table: String) throws -> [String] {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let reading = try ConfigReader.read(
            Array("[job.j]\n\(table)\nshell = \"true\"\n".utf8), file: "t.toml",
            checks: ConfigChecks(at: now))
        #expect(reading.errors.isEmpty, "\(reading.errors)")
        return reading.warnings.map(\.code.rawValue)
    }

    @Test(arguments: [
        (#"cron = "0 4 30 2 *""#, ["never-fires"]),
        (#"calendar = "*-02-30""#, ["never-fires"]),
        (#"calendar = "2020-01-01""#, ["never-fires"]),
        (#"at = "2026-01-01T00:00:00Z""#, ["never-fires"]),
        (#"at = "2027-01-01T00:00:00Z""#, []),
        (#"cron = "0 4 13 * 5""#, ["day-fields-both-restricted"]),
        (#"cron = "0 4 13 * *""#, []),
        (#"cron = "*/7 * * * *""#, ["uneven-step"]),
        (#"cron = "*/5 * * * *""#, []),
        (#"cron = "0 */5 * * *""#, ["uneven-step"]),
        (#"calendar = "*:0/7""#, ["uneven-step"]),
        (#"calendar = "*:0/15""#, []),
        (#"calendar = "*:*:0/50""#, ["uneven-step"]),
        (#"calendar = "*-*-1/2 04:00""#, ["uneven-step"]),
        (#"cron = "0 4 31 * *""#, ["skipped-months"]),
        (#"cron = "0 4 31 1,3 *""#, []),
        (#"calendar = "*-*-29 04:00""#, ["skipped-months"]),
        (#"calendar = "*-*~01 04:00""#, []),
        (#"cron = "0 4 29 2 *""#, ["leap-day-only"]),
        (#"calendar = "*-02-29 04:00""#, ["leap-day-only"]),
        (#"cron = "@reboot""#, []),
        (#"cron = "@daily""#, []),
        (
            "calendar = \"02:30\"\ntimezone = \"Europe/Berlin\"",
            ["dst-change"]
        ),
        ("cron = \"30 1 * * *\"\ntimezone = \"America/New_York\"", ["dst-change"]),
        ("cron = \"30 2 * * *\"\ntimezone = \"America/New_York\"", ["dst-change"]),
        ("cron = \"*/30 * * * *\"\ntimezone = \"Europe/Berlin\"", []),
        (
            "calendar = \"02:30\"\ntimezone = \"Europe/Berlin\"\ndst-gap = \"skip\"",
            ["dst-change"]
        ),
        (
            "calendar = \"02:30\"\ntimezone = \"Europe/Berlin\"\ndst-gap = \"skip\"\ndst-overlap = \"both\"",
            []
        ),
        ("calendar = \"12:00\"\ntimezone = \"Europe/Berlin\"", []),
        (#"calendar = ["*:0/7", "*-02-30"]"#, ["uneven-step", "never-fires"]),
        (
            "calendar = [\"Mon 02:30\", \"Tue..Sun 02:15\", \"02:45\"]\ntimezone = \"Europe/Berlin\"",
            ["dst-change"]
        ),
        (#"cron = "5/15 * * * *""#, ["differs-from-cron"]),
        (
            #"cron = ["0 0 * * Fri-Mon", "@DAILY", "@daily"]"#,
            ["differs-from-cron", "differs-from-cron"]
        ),
        (#"cron = "H 4 * * *""#, ["differs-from-cron"]),
        (#"cron = "H/7 * * * *""#, ["differs-from-cron", "uneven-step"]),
    ])
    func warnsOf(table: String, expected: [String]) throws {
        // A zone without daylight saving time, unless the table names one: the machine's own zone
        // may have it.
        let zoned =
            table.contains("timezone") || table.contains("at =") ? "" : "timezone = \"UTC\"\n"
        #expect(try codes(zoned + table).sorted() == expected.sorted(), "\(table)")
    }

    /// A job has one warning about daylight saving time, which contains everything.
    @Test func theClocksAreWarnedOfOnceForAJob() throws {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = """
            [job.a]
            shell = "x"
            timezone = "America/New_York"
            cron = ["30 1 * * *", "30 2 * * *"]
            """
        let reading = try ConfigReader.read(
            Array(text.utf8), file: "t.toml", checks: ConfigChecks(at: now))
        #expect(
            reading.warnings.map { $0.description.split(separator: "\n")[0] } == [
                "t.toml:4:23: warning: job \"a\": cron: in America/New_York on 2027-03-14, 02:30:00 does not "
                    + "exist: it fires at 03:00:00 instead; in America/New_York on 2027-11-07, 01:30:00 comes "
                    + "twice: it fires the first time alone; dst-gap and dst-overlap say otherwise [dst-change]"
            ])
    }

    /// Computed from the machine's seed and the job's name; the same at each reading.
    @Test func randomValuesAreTheSameEachTime_andDifferBetweenJobs() throws {
        let text = (0..<20).map { "[job.j\($0)]\nshell = \"x\"\ncron = \"H H * * *\"\n" }.joined()
        func schedules(_ seed: UInt64) throws -> [Schedule] {
            let reading = try ConfigReader.read(Array(text.utf8), file: "t.toml", seed: seed)
            #expect(reading.errors.isEmpty)
            return reading.jobSet.jobs.map(\.schedule)
        }
        let first = try schedules(1)
        #expect(try schedules(1) == first)
        #expect(Set(first).count > 15)
        #expect(try schedules(2) != first)
    }

    @Test func aNoteIsNoWarning() throws {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = "[job.a]\nshell = \"x\"\ntimezone = \"UTC\"\ncron = \"0 0 1 Nov-Mar *\"\n"
        let reading = try ConfigReader.read(
            Array(text.utf8), file: "t.toml", checks: ConfigChecks(at: now))
        #expect(
            reading.warnings.map { $0.description.split(separator: "\n")[0] } == [
                "t.toml:4:8: note: job \"a\": cron: month: \"Nov-Mar\": Debian's cron takes it and never runs "
                    + "it; here it is 11-12,1-3 [differs-from-cron]"
            ])
        #expect(reading.warnings.count { $0.isNote } == 1)
    }

    @Test func aWarningHasItsPlace() throws {
        let now = try #require(WallInstant(rfc3339: "2026-11-21T08:00:00Z"))
        let text = """
            [job.backup]
            shell = "true"
            timezone = "Europe/Berlin"
            dst-overlap = "first"
            calendar = ["12:00", "02:30"]
            """
        let reading = try ConfigReader.read(
            Array(text.utf8), file: "t.toml", checks: ConfigChecks(at: now))
        let expected = """
            t.toml:5:22: warning: job "backup": calendar: in Europe/Berlin on 2027-03-28, 02:30:00 does not \
            exist: it fires at 03:00:00 instead; dst-gap says otherwise [dst-change]
              calendar = ["12:00", "02:30"]
                                   ^
            """
        #expect(reading.warnings.map(\.quotingLine) == [expected])
        #expect(try ConfigReader.read(Array(text.utf8), file: "t.toml").warnings.isEmpty)
    }
}
