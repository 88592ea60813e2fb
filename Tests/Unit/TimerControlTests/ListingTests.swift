// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// A part of the encoding is written by hand; this test finds a forgotten field.
@Suite struct ListingTests {
    private static func now(_ seconds: Int64 = 1_795_000_000) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: seconds), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: BootID(String(repeating: "0", count: 32))!)
    }

    /// Three jobs, of which one is paused and one runs.
    private static func snapshot() -> Snapshot {
        let jobs = ["a", "b", "c"].map { name in
            Job(
                name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(60)),
                first: name == "c" ? .zero : nil)
        }
        var agenda = Agenda.load(
            JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: 1, at: now()
        ).agenda
        _ = agenda.handle(
            .command(JobCommand(.pause, jobs[1].name, by: .user("me"), note: "why")), at: now())
        _ = agenda.handle(.wake(jobs[2].name), at: now())
        return agenda.snapshot(at: now())
    }

    @Test func aListingIsWrittenAsTheStatusItStandsFor() throws {
        let snapshot = Self.snapshot()
        var status = DaemonStatus(
            version: "1", pid: 2, since: "3", now: "4", config: "5", rejected: ["6"],
            failingNotifiers: ["7"],
            jobs: [])
        let listing = try ControlJSON.encode(DaemonStatus.Listing(status, jobs: snapshot))
        status.jobs = snapshot.jobs.map { JobStatus($0) }
        #expect(status.jobs.contains { !$0.running.isEmpty })
        #expect(listing == (try ControlJSON.encode(status)))
        let table = try ControlJSON.decode(JobTable.self, from: listing)
        #expect(table.jobs.map(\.job) == ["a", "b", "c"])
        #expect(table.jobs.map(\.state) == status.jobs.map(\.state))
        #expect(table.jobs.map(\.running) == status.jobs.map(\.running))
        #expect(
            try ControlJSON.decode(JobNames.self, from: listing).jobs.map(\.job) == ["a", "b", "c"])
    }

    @Test func everyFieldOfAJobAndARunIsWritten_inTheOrderOfTheNames() throws {
        let snapshot = try #require(Self.snapshot().jobs.last)
        let status = JobStatus(snapshot)
        let fields = Mirror(reflecting: status).children.compactMap(\.label)
        #expect(Set(JobStatus.CodingKeys.allCases.map(\.stringValue)) == Set(fields))
        let run = try #require(status.running.first)
        let parts = Mirror(reflecting: run).children.compactMap(\.label)
        #expect(Set(RunStatus.CodingKeys.allCases.map(\.stringValue)) == Set(parts))
        for keys in [
            JobStatus.CodingKeys.allCases.map(\.stringValue),
            RunStatus.CodingKeys.allCases.map(\.stringValue),
        ] {
            let names = keys.map { key in
                key.map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined()
            }
            #expect(names == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }
}
