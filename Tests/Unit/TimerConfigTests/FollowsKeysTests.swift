// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The keys `follows` and `on-demand`.
@Suite struct FollowsKeysTests {
    private static func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "f")
    }

    private static let others = """
        [job.a]
        every = "1h"
        shell = "x"
        [job.b]
        on-demand = true
        shell = "x"

        """

    private static func name(_ text: String) throws -> Job.Name {
        try #require(Job.Name(text))
    }

    @Test func itIsReadWithAndWithoutASchedule() throws {
        let reading = try Self.read(
            Self.others + """
                [job.c]
                shell = "x"
                follows = { job = "a", on = "failure", delay = "5min" }
                [job.d]
                shell = "x"
                calendar = "daily"
                follows = [{ job = "a" }, { job = "c", on = "end", within = "12h" }]
                [job.e]
                shell = "x"
                on-demand = true
                follows = { job = "b" }

                """)
        #expect(reading.errors.isEmpty)
        let jobs = reading.jobSet.jobs
        #expect(jobs.map { $0.schedule == .onDemand } == [false, true, true, false, true])
        let (a, b, c) = (try Self.name("a"), try Self.name("b"), try Self.name("c"))
        #expect(
            jobs.map(\.follows) == [
                nil, nil, Follows([.init(a, on: .failure, delay: .seconds(300))]),
                Follows([.init(a), .init(c, on: .end, within: .seconds(43_200))]),
                Follows([.init(b)]),
            ])
    }

    @Test(arguments: [
        (
            "follows = { job = \"aa\" }",
            "9:11: job \"j\": follows: there is no table [job.aa]"
        ),
        ("follows = { job = \"j\" }", "9:11: job \"j\": follows: names the job itself"),
        (
            "follows = \"a\"",
            "9:11: job \"j\": follows: must be a table such as { job = \"backup\", on = \"success\" }, not a string"
        ),
        (
            "follows = []",
            "9:11: job \"j\": follows: is empty; name a job such as { job = \"backup\" }, or remove it"
        ),
        (
            "follows = { on = \"end\" }",
            "9:11: job \"j\": follows: job is missing, such as job = \"backup\""
        ),
        (
            "follows = { job = \"a\", on = \"sucess\" }",
            "9:29: job \"j\": follows: unknown value \"sucess\"; one of \"success\", \"failure\", \"end\", \"skip\""
        ),
        (
            "follows = { job = \"a\", delay = \"-1s\" }",
            "9:33: job \"j\": follows: time span \"-1s\": a time span cannot be negative"
        ),
        (
            "follows = { job = \"a\", within = \"1h\" }",
            "9:24: job \"j\": follows: within says how long an end waits for those of other jobs, and there is only one job; remove it"
        ),
        (
            "follows = [{ job = \"a\" }, { job = \"a\", on = \"end\" }]",
            "9:27: job \"j\": follows: names the job \"a\" twice; keep one"
        ),
        (
            "follows = { job = \"a\", wihtin = \"1h\" }",
            "9:24: job \"j\": follows: unknown key \"wihtin\"; it has job, on, delay and within"
        ),
        (
            "follows = [{ job = \"a\" }, { job = \"b\", within = \"0s\" }]",
            "9:49: job \"j\": follows: within is shorter than 1 s"
        ),
        (
            "follows = { job = \"a\" }\nevery = \"1h\"\non-demand = true",
            "7:6: job \"j\": every and on-demand exclude each other; keep one"
        ),
    ])
    func aJobIsRefused(lines: String, error: String) throws {
        let reading = try Self.read(Self.others + "[job.j]\nshell = \"x\"\n\(lines)\n")
        #expect(reading.errors.map(\.description) == ["f:" + error])
        #expect(reading.jobSet.jobs.map(\.name.description) == ["a", "b"])
    }

    @Test func jobsThatFollowEachOtherInACircleAreRefused() throws {
        let reading = try Self.read(
            """
            [job.a]
            shell = "x"
            follows = { job = "c" }
            [job.b]
            shell = "x"
            follows = { job = "a" }
            [job.c]
            shell = "x"
            follows = [{ job = "b" }, { job = "d" }]
            [job.d]
            shell = "x"
            every = "1h"
            [job.e]
            shell = "x"
            follows = { job = "c" }

            """)
        #expect(
            reading.errors.map(\.description).first
                == "f:3:11: job \"a\": follows: the jobs follow each other in a circle: a, c, b, a; remove one of them"
        )
        #expect(reading.errors.count == 3)
        #expect(reading.jobSet.jobs.map(\.name.description) == ["d", "e"])
    }

    @Test func aJobOfAFleetNeitherFollowsNorIsFollowed() throws {
        let fleet = "[fleet]\nname = \"f\"\netcd = [\"http://127.0.0.1:2379\"]\n"
        let shared = "[job.s]\nshell = \"x\"\nevery = \"1h\"\nfleet = \"one\"\n"
        let follower = try Self.read(
            fleet + shared + "[job.j]\nshell = \"x\"\nfollows = { job = \"s\" }\n")
        #expect(
            follower.errors.map(\.description) == [
                "f:10:11: job \"j\": follows: \"s\" is a job of a fleet, whose runs end on any machine; a job can only "
                    + "follow jobs of this machine alone"
            ])
        let following = try Self.read(fleet + shared + "follows = { job = \"j\" }\n" + Self.others)
        #expect(
            following.errors.map(\.message).contains {
                $0.contains("follows does not go with fleet = \"one\"")
            })
    }

    @Test func aMissingScheduleIsSaid() throws {
        let reading = try Self.read("[job.j]\nshell = \"x\"\non-demand = false\n")
        #expect(
            reading.errors.map(\.description) == [
                "f:1:6: job \"j\": one of every, after, on-boot, calendar, cron, at or on-demand is missing"
            ])
    }
}
