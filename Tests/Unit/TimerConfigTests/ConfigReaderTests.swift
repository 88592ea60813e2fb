// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing
import TimerCore
import TimerZones

@testable import TimerConfig

@Suite struct ConfigReaderTests {
    func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "timerd.toml")
    }

    @Test func readsEveryKeyOfAJob() throws {
        let reading = try read(
            """
            [job.backup]
            description = "Nightly"
            command = ["restic", "backup", "/srv"]
            every = "6h"
            first = "0s"
            count = "active"
            paused = true
            environment = { RESTIC_HOST = "nas" }
            working-directory = "/srv"
            """)
        let expected = Job(
            name: try #require(Job.Name("backup")),
            command: .arguments(["restic", "backup", "/srv"]), schedule: .every(.seconds(21_600)),
            description: "Nightly", first: .zero, count: .active, paused: true,
            environment: ["RESTIC_HOST": "nas"], workingDirectory: "/srv")
        #expect(reading.errors.isEmpty && reading.jobSet.jobs == [expected])
    }

    @Test func readsSchedulesByTheCalendarClock() throws {
        let reading = try read(
            """
            [defaults]
            timezone = "Europe/Berlin"
            [job.a]
            shell = "true"
            calendar = ["Mon..Fri 08:30", "Sat 10:00 UTC"]
            dst-gap = "skip"
            [job.b]
            shell = "true"
            cron = "*/5 * * * *"
            timezone = "Asia/Kathmandu"
            [job.c]
            shell = "true"
            at = "2026-12-24T18:00:00+01:00"
            """)
        #expect(reading.errors.isEmpty)
        let zones = ZoneFiles()
        let berlin = try zones.rules(named: "Europe/Berlin")
        let kathmandu = try zones.rules(named: "Asia/Kathmandu")
        let at = try #require(WallInstant(rfc3339: "2026-12-24T17:00:00Z"))
        let expected = [
            WallSchedule(
                [
                    .calendar(try CalendarSpec("Mon..Fri 08:30"), berlin),
                    .calendar(try CalendarSpec("Sat 10:00 UTC"), .utc),
                ], gap: .skip),
            WallSchedule([.cron(try CronSpec("*/5 * * * *"), kathmandu)]), WallSchedule([.at(at)]),
        ]
        #expect(reading.jobSet.jobs.map(\.schedule) == expected.map { .wall($0) })
    }

    /// `on-boot` counts the time since the boot, whatever `count` says for other jobs.
    @Test func onBootCountsTheTimeSinceTheBoot() throws {
        let reading = try read(
            """
            [defaults]
            count = "active"
            [job.a]
            shell = "true"
            on-boot = "2min"
            [job.b]
            shell = "true"
            on-boot = "0s"
            """)
        #expect(reading.errors.isEmpty)
        #expect(reading.jobSet.jobs.map(\.schedule) == [.onBoot(.seconds(120)), .onBoot(.zero)])
        #expect(reading.jobSet.jobs.allSatisfy { $0.count == .boottime })
    }

    @Test func jobsComeInTheOrderOfTheFile_andTakeTheDefaults() throws {
        let reading = try read(
            """
            [job.zebra]
            shell = "true"
            every = "1h"
            environment = { B = "job" }
            [job.ant]
            shell = "true"
            after = "1min"
            paused = false
            [defaults]
            paused = true
            first = "5s"
            environment = { A = "all", B = "all" }
            [daemon]
            max-concurrent = 3
            history = "1w"
            """)
        let jobs = reading.jobSet.jobs
        #expect(reading.errors.isEmpty)
        #expect(jobs.map(\.name.description) == ["zebra", "ant"])
        #expect(jobs.map(\.paused) == [true, false])
        #expect(jobs.map(\.first) == [.seconds(5), nil])
        #expect(jobs[0].environment == ["A": "all", "B": "job"])
        #expect(
            reading.settings.maxConcurrent == 3 && reading.settings.history == .seconds(604_800))
    }

    @Test func aMaximumOfTheDefaultsIsForTheJobsItCanBeFor() throws {
        let reading = try read(
            """
            [defaults]
            concurrency-max = 3
            starting-deadline = "1s"
            [job.a]
            shell = "true"
            every = "1h"
            [job.b]
            shell = "true"
            every = "1h"
            concurrency = "allow"
            """)
        #expect(reading.errors.isEmpty)
        #expect(reading.jobSet.jobs.map(\.policy.concurrencyMax) == [nil, 3])
    }

    @Test func aJobMayWriteSoManyLinesInASpan() throws {
        let reading = try read(
            """
            [defaults]
            log-rate-limit-burst = 500
            [job.a]
            shell = "true"
            every = "1h"
            [job.b]
            shell = "true"
            every = "1h"
            log-rate-limit-interval = "1min"
            log-rate-limit-burst = 7
            [job.c]
            shell = "true"
            every = "1h"
            log-rate-limit-interval = "0s"
            [job.d]
            shell = "true"
            every = "1h"
            log-rate-limit-interval = "none"
            """)
        #expect(reading.errors.isEmpty)
        let jobs = reading.jobSet.jobs.map(\.execution)
        #expect(
            jobs.map(\.logRateLimitInterval) == [.seconds(30), .seconds(60), nil, nil])
        #expect(jobs.map(\.logRateLimitBurst) == [500, 7, 500, 500])
        #expect(Execution().logRateLimitBurst == 10_000)
    }

    /// A quarter of the limit, and at least one, is reserved for other jobs if the limit is above
    /// one.
    @Test(arguments: [
        (1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (7, 6), (8, 6), (64, 48), (1000, 750),
        (10_000, 7500),
    ])
    func aJobThatAllowsRunsAtTheSameTimeLeavesPlacesToOthers(places: Int, most: Int) throws {
        let reading = try read(
            """
            [daemon]
            max-concurrent = \(places)
            [job.own]
            shell = "true"
            every = "1s"
            concurrency = "allow"
            concurrency-max = \(places)
            [job.share]
            shell = "true"
            every = "1s"
            concurrency = "allow"
            [job.one]
            shell = "true"
            every = "1s"
            """)
        #expect(reading.errors.isEmpty)
        #expect(reading.jobSet.jobs.map(\.policy.concurrencyMax) == [places, most, nil])
    }

    /// What one job does not use, another job can use.
    @Test func whateverOneJobUses_otherJobsCanStart() throws {
        let reading = try read(
            """
            [daemon]
            max-concurrent = 4
            [job.greedy]
            shell = "true"
            every = "1s"
            concurrency = "allow"
            on-missed = "run-all"
            retries = 3
            [job.other]
            shell = "true"
            every = "1min"
            """)
        let names = try ["greedy", "other"].map { try #require(Job.Name($0)) }
        func now(_ seconds: Int64) -> Now {
            Now(
                wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + seconds),
                awake: AwakeInstant(nanoseconds: seconds * 1_000_000_000),
                boot: BootInstant(nanoseconds: seconds * 1_000_000_000),
                bootID: BootID(String(repeating: "0", count: 32))!)
        }
        var (agenda, _) = Agenda.load(
            reading.jobSet, RecoveredState(instance: 1),
            concurrentRunsMax: reading.settings.maxConcurrent, at: now(0))
        var started: [Run] = []
        var skipped: [Notice.SkipReason] = []
        func take(_ actions: [Action]) {
            for action in actions {
                switch action {
                case .begin(_, let start, _): started += start
                case .start(let runs): started += runs
                case .log(.skipped(_, let reason)): skipped.append(reason)
                default: break
                }
            }
        }
        for second in 1...10 { take(agenda.handle(.wake(names[0]), at: now(Int64(second)))) }
        #expect(started.count == 3)
        #expect(skipped == Array(repeating: .concurrencyMax(3), count: 7))
        // The next attempt follows a failed one with the same capacity.
        let first = started[0].id
        take(agenda.handle(.ended(first, .exited(1), RunUsage()), at: now(10)))
        for second in 11...59 { take(agenda.handle(.wake(names[0]), at: now(Int64(second)))) }
        // No missed run was caught up.
        take(agenda.handle(.wake(names[0]), at: now(300)))
        #expect(started.count(where: { $0.id.firing.job == names[0] }) == 4)
        take(agenda.handle(.wake(names[1]), at: now(300)))
        #expect(started.last?.id.firing.job == names[1] && agenda.liveRuns == 4)
    }

    @Test func theShippedConfigurationIsGood_andHasEveryKeyThereIs() throws {
        let text = try shipped("timerd.toml")
        let reading = try read(text)
        #expect(reading.errors.isEmpty && reading.rejected.isEmpty)
        #expect(reading.jobSet.jobs.count >= 2)
        let lines = text.split(separator: "\n").map { $0.drop { $0 == "#" } }
        let keys = ConfigReader.knownKeys
        for key in keys.daemon + ConfigReader.settingsTables.flatMap(\.keys) + keys.job {
            #expect(lines.contains { $0.hasPrefix("\(key) = ") }, "\(key) is not in it")
        }
    }

    /// A new installation runs nothing; its suggestions are valid.
    @Test func theInstalledConfigurationHasNoJob_andIsGoodWithItsCommentsTakenOff() throws {
        let text = try shipped("system.toml")
        let reading = try read(text)
        #expect(reading.errors.isEmpty && reading.jobSet.jobs.isEmpty)
        let lines = text.split(separator: "\n").map { line in
            line.hasPrefix("#") && !line.hasPrefix("# ") && !line.hasPrefix("#:")
                ? line.dropFirst() : line
        }
        let suggested = try read(lines.joined(separator: "\n"))
        #expect(suggested.errors.isEmpty && suggested.jobSet.jobs.count == 1)
    }

    private func shipped(_ name: String) throws -> String {
        return try String(
            contentsOf: Project.url(of: "config/\(name)"), encoding: .utf8)
    }
}
