// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// The next runs of many jobs, and the patterns that select them.
@Suite struct UpcomingTests {
    private static let now = Now(
        wall: WallInstant(rfc3339: "2026-11-18T11:00:00Z")!, awake: AwakeInstant(nanoseconds: 0),
        boot: BootInstant(nanoseconds: 0), bootID: BootID(String(repeating: "0", count: 32))!)

    private static func snapshot(_ jobs: [(name: String, every: Duration)]) -> Snapshot {
        let jobs = jobs.map { name, span in
            Job(name: Job.Name(name)!, command: .shell("true"), schedule: .every(span))
        }
        var agenda = Agenda.load(
            JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: 1, at: now
        ).agenda
        for job in jobs where job.name.description.hasPrefix("paused") {
            _ = agenda.handle(.command(JobCommand(.pause, job.name, by: .user("me"))), at: now)
        }
        return agenda.snapshot(at: now)
    }

    private func texts(_ reply: UpcomingReply) -> [String] {
        reply.upcoming.map { run in
            "\(run.job) \(run.at.dropFirst(11).prefix(8)) \(run.kind)"
                + (run.furtherCount.map { " +\($0)\(run.hasMore == true ? "…" : "")" } ?? "")
        }
    }

    private let jobs: [(String, Duration)] = [
        ("db-often", .seconds(1200)), ("db-day", .seconds(86_400)), ("paused-1", .seconds(60)),
        ("web", .seconds(1800)),
    ]

    @Test func theRunsOfAllJobsComeInTheOrderOfTime() {
        let snapshot = Self.snapshot(jobs)
        let all = UpcomingReply(snapshot, UpcomingQuery())
        #expect(
            texts(all) == [
                "db-often 11:20:00 run", "web 11:30:00 run", "db-often 11:40:00 run",
                "db-often 12:00:00 run", "web 12:00:00 run",
            ])
        #expect(!all.hasMore && all.pausedJobs == ["paused-1"])
        let cut = UpcomingReply(snapshot, UpcomingQuery(limit: 2))
        #expect(cut.upcoming.count == 2 && cut.hasMore)
        let some = UpcomingReply(snapshot, UpcomingQuery(match: ["x*", "we?"]))
        #expect(texts(some) == ["web 11:30:00 run", "web 12:00:00 run"])
        #expect(some.pausedJobs.isEmpty)
        let until = UpcomingQuery(job: Job.Name("db-day"), until: Self.now.wall + .seconds(90_000))
        #expect(texts(UpcomingReply(snapshot, until)) == ["db-day 11:00:00 run"])
    }

    @Test func aJobThatRunsOftenDoesNotHideTheOthers() {
        let snapshot = Self.snapshot(jobs + [("busy", .seconds(60)), ("mad", .seconds(1))])
        let grouped = UpcomingReply(snapshot, UpcomingQuery(isGrouped: true))
        #expect(
            Array(texts(grouped).prefix(3)) == [
                "mad 11:00:01 run +199…", "busy 11:01:00 run +59", "db-often 11:20:00 run",
            ])
        #expect(grouped.upcoming.count == 7 && !grouped.hasMore)
    }

    /// The answer is the same as from all runs of all jobs, which would be 200 000 here.
    @Test func ofVeryManyRunsTheFirstAreFound() {
        var random = SeededRandom()
        let jobs = (0..<200).map { number in
            ("j\(number)", Duration.milliseconds(Int64.random(in: 1000...4000, using: &random)))
        }
        let snapshot = Self.snapshot(jobs)
        for limit in [1, 7, 1000] {
            let end = Self.now.wall + .seconds(3600)
            let all = snapshot.jobs.flatMap { $0.upcomingRuns(until: end, most: limit + 1) }
                .sorted { ($0.at, $0.job) < ($1.at, $1.job) }
            let reply = UpcomingReply(snapshot, UpcomingQuery(until: end, limit: limit))
            #expect(
                reply.upcoming.map { "\($0.at) \($0.job)" }
                    == all.prefix(limit).map { "\($0.at.rfc3339Micros) \($0.job)" })
            #expect(reply.hasMore)
        }
    }

    @Test func aQueryComesBackFromItsPath() throws {
        let query = UpcomingQuery(
            job: Job.Name("a"), match: ["db-*", "[!x]?"], until: Self.now.wall, limit: 7,
            isGrouped: true)
        for query in [query, UpcomingQuery()] {
            let path = ControlRequest.upcoming(query).path
            let read = try ControlRequest(method: "GET", path: path, body: [])
            #expect(read == .upcoming(query), "\(path)")
        }
    }

    @Test(arguments: [
        "limit=0", "limit=1001", "limit=x", "until=tomorrow", "job=a%20b", "match=", "match=,",
        "grouped=2", "match=a,", "match=,a", "other=1",
        "match=" + String(repeating: "a,", count: 17),
        "match=" + String(repeating: "a", count: 257), "limit=1&limit=2",
    ])
    func aWrongQueryIsRefused(text: String) {
        #expect(throws: ControlRequest.Fault.self) {
            try ControlRequest(method: "GET", path: "/v1/upcoming?\(text)", body: [])
        }
    }

    // MARK: - Patterns

    /// fnmatch(3) of the C library is the reference.
    @Test func patternsMatchAsInAShell() {
        var random = SeededRandom()
        let letters = Array("aab-[]!^*?*\\")
        var matches = 0
        for _ in 0..<200_000 {
            let pattern = String(
                (0..<Int.random(in: 0...7, using: &random)).map { _ in
                    letters.randomElement(using: &random)!
                })
            let name = String(
                (0..<Int.random(in: 1...5, using: &random)).map { _ in
                    ["a", "b", "-", "x"].randomElement(using: &random)!
                }.joined())
            let isMatch = fnmatch(pattern, name, 0) == 0
            #expect(
                NamePattern(pattern).matches(name) == isMatch, "\(pattern) \(name)")
            matches += isMatch ? 1 : 0
        }
        #expect(matches > 1000)
    }

    /// fnmatch(3) would need years for this.
    @Test func aHostilePatternTakesNoTime() {
        let pattern = NamePattern(String(repeating: "*a", count: 128))
        let name = String(repeating: "a", count: 127)
        for _ in 0..<1000 { #expect(!pattern.matches(name)) }
    }
}
