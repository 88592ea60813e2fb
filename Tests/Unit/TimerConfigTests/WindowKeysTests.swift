// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The keys of a job about its window.
@Suite struct WindowKeysTests {
    private static let job =
        "[job.j]\nevery = \"1h\"\ntimezone = \"Europe/Berlin\"\nshell = \"x\"\n"

    private static func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "f")
    }

    @Test func aWindowIsRead() throws {
        let reading = try Self.read(
            Self.job + "window = [\"Mon..Fri 22:00-06:00\", \"Sat..Sun\"]\n"
                + "outside-window = \"skip\"\nstop-at-window-end = true\n")
        #expect(reading.errors.isEmpty)
        let window = try #require(reading.jobSet.jobs.first?.window)
        #expect(window.ranges.texts == ["Mon..Fri 22:00-06:00", "Sat..Sun"])
        #expect(window.zone.name == "Europe/Berlin")
        #expect(window.outside == .skip && window.stopsAtEnd)
    }

    /// One text needs no array, and by default what is outside waits, in the zone of the machine.
    @Test func theDefaults() throws {
        let reading = try Self.read(
            "[job.j]\nevery = \"1h\"\nshell = \"x\"\nwindow = \"8:00-12:00\"\n")
        let window = try #require(reading.jobSet.jobs.first?.window)
        #expect(window.outside == .wait && !window.stopsAtEnd && window.zone.isLocal)
    }

    /// A window that is always open is none.
    @Test func aWindowThatIsAlwaysOpen() throws {
        let reading = try Self.read(Self.job + "window = \"00:00-24:00\"\n")
        #expect(reading.errors.isEmpty && reading.jobSet.jobs.first?.window == nil)
    }

    /// The schedule itself has no occurrences outside a window that skips them.
    @Test func aScheduleByTheWallClockSkips() throws {
        let reading = try Self.read(
            "[job.j]\ncalendar = \"hourly\"\ntimezone = \"UTC\"\nshell = \"x\"\n"
                + "window = \"22:00-06:00\"\noutside-window = \"skip\"\n")
        guard case .wall(let schedule) = reading.jobSet.jobs.first?.schedule else {
            Issue.record("no schedule")
            return
        }
        let noon = try #require(WallInstant(rfc3339: "2026-12-01T12:00:00Z"))
        #expect(schedule.next(after: noon)?.rfc3339 == "2026-12-01T22:00:00Z")
        #expect(schedule.previous(before: noon)?.rfc3339 == "2026-12-01T05:00:00Z")
    }

    @Test func theNumberOfRunsIsRead() throws {
        let reading = try Self.read(Self.job + "max-runs = 10\nmax-successes = 1\n")
        #expect(reading.errors.isEmpty)
        #expect(reading.jobSet.jobs.first?.limit == RunLimit(runs: 10, successes: 1))
        let follower = try Self.read(
            Self.job + "[job.k]\nfollows = { job = \"j\" }\nshell = \"x\"\nmax-runs = 1\n")
        #expect(follower.errors.isEmpty)
        #expect(follower.jobSet.jobs.map(\.limit) == [nil, RunLimit(runs: 1)])
    }

    @Test(arguments: [
        ("every = \"1h\"\nmax-runs = 0", "4:12: job \"j\": max-runs: "),
        (
            "on-demand = true\nmax-successes = 1",
            "4:1: job \"j\": max-successes: a job with on-demand has no schedule"
        ),
        (
            "every = \"1h\"\nmax-runs = 1\nfleet = \"one\"",
            "4:1: job \"j\": max-runs does not go with fleet = \"one\": no machine counts"
        ),
    ])
    func aNumberOfRunsIsRefused(lines: String, error: String) throws {
        let reading = try Self.read("[job.j]\nshell = \"x\"\n\(lines)\n")
        let texts = reading.errors.map(\.description)
        #expect(texts.contains { $0.hasPrefix("f:" + error) }, "\(texts)")
    }

    @Test func defaultsHaveWindows() throws {
        let reading = try Self.read(
            "[defaults]\nwindow = \"22:00-06:00\"\noutside-window = \"skip\"\n" + Self.job
                + "[job.k]\nevery = \"1h\"\nshell = \"x\"\nwindow = \"none\"\n"
                + "[job.l]\nevery = \"1h\"\nshell = \"x\"\noutside-window = \"wait\"\n")
        #expect(reading.errors.isEmpty)
        #expect(
            reading.jobSet.jobs.map { $0.window?.outside } == [.skip, nil, .wait])
    }

    @Test(arguments: [
        (
            "window = \"22:00\"",
            "5:16: job \"j\": window: \"22:00\": a range has two times, such as 22:00-06:00"
        ),
        (
            "window = [\"Sat\", \"Sax 1:00-2:00\"]",
            "5:19: job \"j\": window: \"Sax 1:00-2:00\": \"Sax\" is not a weekday (did you mean \"Sat\"?); the weekdays are Mon, Tue, Wed, Thu, Fri, Sat and Sun"
        ),
        (
            "window = []",
            "5:10: job \"j\": window: must have at least one range, such as \"22:00-06:00\"; leave it out for any time"
        ),
        (
            "window = 22:00:00",
            "5:10: job \"j\": window: must be a range in quotes, such as \"22:00-06:00\""
        ),
        (
            "outside-window = \"skip\"",
            "5:1: job \"j\": outside-window can only be used with window"
        ),
        (
            "stop-at-window-end = true",
            "5:1: job \"j\": stop-at-window-end can only be used with window"
        ),
        (
            "window = \"Sat\"\noutside-window = \"run\"",
            "6:18: job \"j\": outside-window: unknown value \"run\"; one of \"wait\", \"skip\""
        ),
        (
            "window = \"Sat\"\nfleet = \"one\"",
            "5:1: job \"j\": window does not go with fleet = \"one\": the machines agree on the instant of each run"
        ),
    ])
    func aJobIsRefused(lines: String, error: String) throws {
        let reading = try Self.read(Self.job + lines + "\n")
        #expect(reading.errors.map { "\($0)" }.contains { $0.contains(error) }, "\(reading.errors)")
    }

    @Test func aScheduleThatIsNeverInsideIsAWarning() throws {
        let reading = try ConfigReader.read(
            Array(
                ("[job.j]\ncalendar = \"12:00\"\ntimezone = \"UTC\"\nshell = \"x\"\n"
                    + "window = \"22:00-06:00\"\noutside-window = \"skip\"\n").utf8), file: "f",
            checks: ConfigChecks(at: try #require(WallInstant(rfc3339: "2026-12-01T00:00:00Z"))))
        #expect(
            reading.warnings.map { "\($0)" }.contains {
                $0.contains("is never inside the window, the first time at 2026-12-01T12:00:00Z")
            }, "\(reading.warnings)")
    }

    @Test func aZoneThatIsNotThereIsAnErrorForAWindow() throws {
        let reading = try Self.read(
            "[job.j]\nevery = \"1h\"\nshell = \"x\"\ntimezone = \"Europe/Berlim\"\nwindow = \"Sat\"\n"
        )
        #expect(reading.errors.count == 1 && "\(reading.errors[0])".contains("timezone"))
    }
}
