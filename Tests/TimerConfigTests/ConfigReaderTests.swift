// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore
import TimerZones

@testable import TimerConfig

@Suite struct ConfigReaderTests {
    private func read(_ text: String) throws -> ConfigReading {
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

    /// One error each: the text of the table, and the message up to the excerpt.
    @Test(arguments: [
        (
            #"every = "6h"\#nshell = "true"\#nintervall = 3"#,
            #"4:1: job "j": unknown key "intervall""#
        ),
        (
            #"evry = "6h"\#nshell = "true""#,
            #"2:1: job "j": unknown key "evry" (did you mean "every"?)"#
        ),
        (
            #"shell = "true""#,
            #"1:6: job "j": one of every, after, on-boot, calendar, cron or at is missing"#
        ),
        (#"every = "1h""#, #"1:6: job "j": one of command or shell is missing"#),
        (
            #"every = "1h"\#nafter = "1h"\#nshell = "x""#,
            #"1:6: job "j": every and after exclude each other; keep one"#
        ),
        (
            #"every = "6 hoursx"\#nshell = "x""#,
            #"2:17: job "j": every: time span "6 hoursx": a number is missing"#
        ),
        (
            #"on-boot = "2weeks 3fortnights"\#nshell = "x""#,
            #"2:20: job "j": on-boot: time span "2weeks 3fortnights": not a unit; the units are us, ms, s, min, h, d, w, month and y"#
        ),
        (
            #"on-boot = 90\#nshell = "x""#,
            #"2:11: job "j": on-boot: must be a time span in quotes, such as "90s""#
        ),
        (
            #"on-boot = "1h"\#ncron = "@reboot"\#nshell = "x""#,
            #"1:6: job "j": on-boot and cron exclude each other; keep one"#
        ),
        (
            #"every = 90\#nshell = "x""#,
            #"2:9: job "j": every: must be a time span in quotes, such as "90s""#
        ),
        (
            #"every = "0s"\#nshell = "x""#,
            #"2:9: job "j": every: an interval is at least 1ms; for a first run at the start, use first = "0s""#
        ),
        (
            #"after = "0s"\#nshell = "x""#,
            #"2:9: job "j": after: an interval is at least 1ms; for one run at the start, use after = "1ms""#
        ),
        (
            #"every = "infinity"\#nshell = "x""#,
            #"2:9: job "j": every: "infinity" never ends; leave the job out if it is never to run"#
        ),
        (
            #"every = "101y"\#nshell = "x""#,
            #"2:9: job "j": every: "101y" is too long; at most 100 years"#
        ),
        (
            #"every = "1h"\#ncommand = "ls -l""#,
            #"3:11: job "j": command: must be an array of strings such as ["ls", "-l"], not a string; "#
                + "for a line with blanks or pipes, use shell"
        ),
        (#"every = "1h"\#ncommand = []"#, #"3:11: job "j": command: the program is missing"#),
        (
            #"every = "1h"\#nshell = "x"\#ncount = "cpu""#,
            #"4:9: job "j": count: unknown value "cpu"; one of "active", "uptime", "boottime", "wall""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nuser = "1000""#,
            #"4:8: job "j": user: "1000" is no name: a letter or '_', then letters, digits, '_' and '-', 31 "#
                + "at most; numbers are refused"
        ),
        (
            #"every = "1h"\#nshell = "x"\#numask = 22"#,
            #"4:9: job "j": umask: must be octal digits in quotes, such as "0022""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#numask = "0999""#,
            #"4:9: job "j": umask: "0999" must be octal digits up to "0777""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nnice = 20"#,
            #"4:8: job "j": nice: 20 is out of range; from -20 to 19"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nlimits = { nofiles = 3 }"#,
            #"4:12: job "j": limits: unknown limit "nofiles" (did you mean "nofile"?); one of as, core, "#
                + "cpu, data, fsize, memlock, nofile, nproc, rss, stack"
        ),
        (
            #"every = "1h"\#nshell = "x"\#noutput-tail = "2MiB""#,
            #"4:15: job "j": output-tail: is too large; at most 1048576 bytes"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nlog-rate-limit-burst = 0"#,
            #"4:24: job "j": log-rate-limit-burst: 0 is out of range; from 1 to 1000000000"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nlog-rate-limit-interval = "999ms""#,
            #"4:27: job "j": log-rate-limit-interval: is shorter than 1s, so that the log might say more of what is dropped than it has of the rest; at least 1s, or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#noutput-tail = "8kb""#,
            #"4:15: job "j": output-tail: "8kb" is no size such as "64KiB" or "1G""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nsuccess-exit-codes = [0, 256]"#,
            #"4:26: job "j": success-exit-codes: 256 is out of range; from 0 to 255"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nkill-leftovers = "no""#,
            #"4:18: job "j": kill-leftovers: must be true or false, not a string"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nretry-backoff = 0.5"#,
            #"4:17: job "j": retry-backoff: 0.5 is out of range; from 1.0 to 100.0"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nenvironment-file = "vars""#,
            #"4:20: job "j": environment-file: "vars" must be an absolute path, beginning with /, or with -/ "#
                + "if it need not be there"
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrenamed-from = "j""#,
            #"4:16: job "j": renamed-from: names the job itself"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npaused = "yes""#,
            #"4:10: job "j": paused: must be true or false, not a string"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nworking-directory = "srv""#,
            #"4:21: job "j": working-directory: "srv" must be an absolute path, beginning with /"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nenvironment = { NOTIFY_SOCKET = "/x" }"#,
            #"4:17: job "j": environment: "NOTIFY_SOCKET" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = "Cron""#,
            #"4:15: job "j": pam-service: "Cron" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = "../x""#,
            #"4:15: job "j": pam-service: "../x" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = """#,
            #"4:15: job "j": pam-service: "" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = ".x""#,
            #"4:15: job "j": pam-service: ".x" is not the name of a file in /etc/pam.d such as "cron": small "#
                + #"letters, digits, '_', '-' and '.', at most 64, the first not '.'; or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npam-service = "other""#,
            #"4:15: job "j": pam-service: "other" is what PAM uses for services that it does not know; name a "#
                + #"service such as "cron""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = ["DB_URL", "LISTEN_FDS"]"#,
            #"4:31: job "j": pass-environment: "LISTEN_FDS" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = ["CREDENTIALS_DIRECTORY"]"#,
            #"4:21: job "j": pass-environment: "CREDENTIALS_DIRECTORY" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-environment = ["DRY_RUN", "LD_PRELOAD"]"#,
            #"4:31: job "j": run-environment: "LD_PRELOAD" decides what a program loads or runs, and cannot be set for a run"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nrun-environment = ["TIMERD_JOB"]"#,
            #"4:20: job "j": run-environment: "TIMERD_JOB" is reserved for timerd and systemd"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = "DB_URL""#,
            #"4:20: job "j": pass-environment: must be an array of names such as ["LANG"], not a string"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#npass-environment = ["A=B"]"#,
            #"4:21: job "j": pass-environment: "A=B" is no name of a variable: letters, digits and '_', no "#
                + "digit first"
        ),
        (
            #"after = "1h"\#nshell = "x"\#nfirst = "1s""#,
            #"4:1: job "j": first goes with every alone"#
        ),
        (
            #"cron = "@daily"\#nshell = "x"\#nfrom = "end""#,
            #"4:1: job "j": from goes with every alone"#
        ),
        (
            #"on-boot = "1h"\#nshell = "x"\#nfrom = "start""#,
            #"4:1: job "j": from goes with every alone"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nfrom = "stop""#,
            #"4:8: job "j": from: unknown value "stop"; one of "start", "end""#
        ),
        (
            #"calendar = "Mon 25:00"\#nshell = "x""#,
            #"2:13: job "j": calendar: "Mon 25:00": hour must be 0 to 23"#
        ),
        (
            #"cron = "*/5 * * *"\#nshell = "x""#,
            #"2:17: job "j": cron: "*/5 * * *": a line has five fields: minute, hour, day, month and weekday"#
        ),
        (
            #"calendar = "daily"\#ntimezone = "Europe/Berln"\#nshell = "x""#,
            #"3:12: job "j": timezone: "Europe/Berln" is no time zone of this machine; names are such as "#
                + "Europe/Berlin (`timedatectl list-timezones`)"
        ),
        (
            #"calendar = "daily CET"\#nshell = "x""#,
            #"2:19: job "j": calendar: "daily CET": "CET" is an abbreviation, which means different offsets "#
                + "in different places; name a place, such as Europe/Berlin"
        ),
        (
            #"at = "tomorrow"\#nshell = "x""#,
            #"2:6: job "j": at: "tomorrow" is no instant such as "2026-12-24T18:00:00+01:00" (RFC 3339)"#
        ),
        (
            #"at = 2026-12-24T18:00:00Z\#nshell = "x""#,
            #"2:6: job "j": at: must be an instant in quotes, such as "2026-12-24T18:00:00+01:00""#
        ),
        (
            #"cron = "@daily"\#nshell = "x"\#nfirst = "1s""#,
            #"4:1: job "j": first goes with every alone"#
        ),
        (
            #"every = "1h"\#nshell = "a\u0000b""#,
            #"3:9: job "j": shell: holds a NUL character"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nstarting-deadline = "0s""#,
            #"4:21: job "j": starting-deadline: is shorter than 1s, so that the job might never run: no run starts at the very instant it is due; at least 1s, or "none""#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nconcurrency-max = 2"#,
            #"4:1: job "j": concurrency-max goes with concurrency = "allow" alone"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nconcurrency = "allow"\#nconcurrency-max = 0"#,
            #"5:19: job "j": concurrency-max: 0 is out of range; from 1 to 10000"#
        ),
        (
            #"every = "1h"\#nshell = "x"\#nconcurrency = "allow"\#nconcurrency-max = 65"#,
            #"5:19: job "j": concurrency-max: is more than max-concurrent of [daemon], which is 64; lower this one or raise that one"#
        ),
    ])
    func refuses(table: String, with message: String) throws {
        let text =
            "[job.j]\n" + table.replacing("\\#n", with: "\n")
            + "\n[job.good]\nshell=\"true\"\nevery=\"1h\"\n"
        let reading = try read(text)
        #expect(reading.errors.count == 1)
        let first = reading.errors[0].description.split(separator: "\n")[0]
        #expect(first == "timerd.toml:\(message)")
        #expect(reading.rejected == ["j"])
        #expect(reading.jobSet.jobs.map(\.name.description) == ["good"], "the others run")
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
                case .tell(.skipped(_, let reason)): skipped.append(reason)
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

    @Test func saysAllErrorsAtOnce_inTheirOrder_withTheLineAndACaret() throws {
        let reading = try read(
            """
            [job.backup]
            shell = "true"
            \tintervall = "6h"
            every = "6 hoursx"
            [jobs.x]
            [job."bad name"]
            [daemon]
            max-concurrent = 0
            """)
        let text = reading.errors.map(\.description).joined(separator: "\n")
        #expect(
            text == """
                timerd.toml:3:2: job "backup": unknown key "intervall"
                  \tintervall = "6h"
                  \t^
                timerd.toml:4:17: job "backup": every: time span "6 hoursx": a number is missing
                  every = "6 hoursx"
                                  ^
                timerd.toml:5:2: unknown table "jobs" (did you mean "job"?)
                  [jobs.x]
                   ^
                timerd.toml:6:6: job "bad name": a job name has only letters, digits, '.', '_', '-' and '@'
                  [job."bad name"]
                       ^
                timerd.toml:8:18: [daemon]: max-concurrent: 0 is out of range; from 1 to 10000
                  max-concurrent = 0
                                   ^
                """)
        #expect(reading.rejected == ["backup", "bad name"])
    }

    @Test func aTextThatIsNotTomlStopsTheReading() {
        #expect(message(of: "[job.a\n").hasPrefix("timerd.toml:1:7: "))
        #expect(
            message(of: "[job.a]\nevery = \"1h\"\nevery = \"2h\"\n").hasPrefix("timerd.toml:3:9: "))
        #expect(message(of: "a = \"\u{0}\"").contains("1:6: holds a NUL byte"))
        let error = #expect(throws: ConfigError.self) {
            try ConfigReader.read([0x61, 0x20, 0x3d, 0x20, 0x22, 0xc3, 0x28, 0x22], file: "x.toml")
        }
        #expect(error?.description.hasPrefix("x.toml:1:6: is not UTF-8 here") == true)
    }

    private func message(of text: String) -> String {
        do throws(ConfigError) {
            _ = try ConfigReader.read(Array(text.utf8), file: "timerd.toml")
            return "accepted"
        } catch {
            return error.description
        }
    }

    @Test func aLongLineIsShownAroundTheCaret() throws {
        let line = "xyz = 1 #" + String(repeating: "-", count: 500)
        var text = SourceText(Array(line.utf8))
        let found = text.excerpt(at: SourceMark(line: 1, column: 300))
        let excerpt = try #require(found)
        let lines = excerpt.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= SourceText.shownMax + 4 })
        let past = text.excerpt(at: SourceMark(line: 9, column: 1))
        #expect(past == nil)
    }

    @Test func tooManyJobsAreLeftOut_withAnError() throws {
        let jobs = (0..<5).map { "[job.j\($0)]\nshell = \"true\"\nevery = \"1h\"\n" }.joined()
        let reading = try read("[daemon]\njobs-max = 3\n" + jobs)
        #expect(reading.jobSet.jobs.count == 3 && reading.rejected == ["j3", "j4"])
        #expect(reading.errors.count == 1)
    }

    @Test(
        arguments: [
            ("intervall", ["interval", "every"], "interval"),
            ("evrey", ["every", "after"], "every"),
            ("xyz", ["every", "after"], nil), ("afer", ["every", "after"], "after"),
            ("q", ["a", "at", "b"], nil), ("b", ["a"], nil), ("on", ["at"], nil),
            ("ta", ["at"], nil), ("foo", ["boo"], "boo"), ("usr", ["user"], "user"),
            ("mail", ["nail", "main"], "nail"), ("backup-a", ["backup-b"], "backup-b"),
            ("script", ["schedule"], nil), ("conurrency-policy", ["concurrency"], nil),
            (String(repeating: "x", count: 100_000), [String(repeating: "x", count: 99_999)], nil),
            ("jöb", ["job"], "job"),
        ] as [(String, [String], String?)])
    func nearest(name: String, among names: [String], is expected: String?) {
        #expect(nearestName(name, among: names) == expected)
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
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(
            contentsOf: root.appendingPathComponent("config/\(name)"), encoding: .utf8)
    }
}
