// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore
import TimerRecording
import TimerStore
import TimerZones

@testable import TimerAPI
@testable import timerctl

/// Pages of runs and skipped runs together, and the days of a time zone.
@Suite struct HistoryPageTests {
    private let folder = "/tmp/timerd-page-\(UUID().uuidString)"

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private func firing(_ job: String, _ second: Int64) -> Firing {
        Firing(
            id: Firing.ID(job: Job.Name(job)!, scheduled: at(second)), missed: 0, active: .zero)
    }

    @Test(arguments: [1, 2, 3, 5, 100])
    func runsAndSkipsComeOnce_inTheirOrder(limit: Int) throws {
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try Store(path: "\(folder)/\(Store.fileName)")
        for number in Int64(0)..<12 {
            let job = "j\(number)"
            let run = Run(
                firing: firing(job, 0), attempt: 1,
                job: Job(
                    name: Job.Name(job)!, command: .shell("true"), schedule: .every(.seconds(9))))
            // Several end, and are skipped, at the same instant.
            let end = at(number / 3)
            try store.commit(
                [
                    .begin(run, released: true, at: at(0)),
                    .close(run.id, .exited(0), RunUsage(), failed: false, at: end),
                    .skip(
                        SkippedFiring(firing: firing(job, 1), reason: .missed, at: end)),
                ], durable: false)
        }
        var query = HistoryQuery(limit: limit, output: false, skipped: true)
        var (runs, skips, pages): ([String], [String], Int) = ([], [], 0)
        var instants: [WallInstant] = []
        while pages < 50 {
            let page = try HistoryPage(query, from: store)
            pages += 1
            #expect(page.runs.count + (page.skips?.count ?? 0) <= limit)
            let ends = page.runs.map(\.ended) + (page.skips ?? []).map(\.at)
            if let before = instants.min() { #expect(ends.allSatisfy { $0 <= before }) }
            instants += ends
            runs += page.runs.map(\.job.description)
            skips += (page.skips ?? []).map(\.job.description)
            guard let next = page.next else { break }
            query.cursor = HistoryCursor(next.description)
            #expect(query.cursor == next)
        }
        #expect(Set(runs).count == 12 && runs.count == 12)
        #expect(Set(skips).count == 12 && skips.count == 12)
        #expect(pages == max(1, (24 + limit - 1) / limit))
    }

    /// Patterns are applied to the jobs, and words to the runs; an output is cut to its last lines.
    @Test func aPageHasWhatTheFiltersLeave() throws {
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try Store(path: "\(folder)/\(Store.fileName)")
        for (job, code) in [("db-a", 0), ("db-b", 1), ("web", 1)] {
            let run = Run(
                firing: firing(job, 0), attempt: 1,
                job: Job(
                    name: Job.Name(job)!, command: .shell("true"), schedule: .every(.seconds(9))))
            try store.commit(
                [
                    .begin(run, released: true, at: at(0)),
                    .close(
                        run.id, .exited(Int32(code)), RunUsage(), failed: code > 0, at: at(1),
                        tail: Array("one\ntwo\n\n".utf8)),
                    .skip(SkippedFiring(firing: firing(job, 1), reason: .missed, at: at(2))),
                ], durable: false)
        }
        func page(_ query: HistoryQuery) throws -> HistoryReply {
            HistoryReply(try HistoryPage(query, from: store), lines: query.lines)
        }
        let failed = try page(HistoryQuery(match: ["db-*", "x"], result: .failed, lines: 1))
        #expect(failed.runs.map(\.job) == ["db-b"] && failed.runs[0].output == "two")
        #expect(failed.skippedRuns == nil)
        let skipped = try page(HistoryQuery(match: ["*-b"], result: .skipped))
        #expect(skipped.runs.isEmpty && skipped.skippedRuns?.map(\.job) == ["db-b"])
        #expect(skipped.skippedRuns?.first?.text == "it was missed (on-missed)")
        let retries = try page(HistoryQuery(cause: .retry, skipped: true))
        #expect(retries.runs.isEmpty && retries.skippedRuns == nil)
        #expect(try page(HistoryQuery(match: ["nothing"])).runs.isEmpty)
    }

    @Test(arguments: [
        "", "r", "r1", "x1.2", "r1.2.3", "r-1.2", "r1.", "s.1", "r1.2 ", "r99999999999999999999.1",
    ])
    func aWrongCursorIsRefused(text: String) {
        #expect(HistoryCursor(text) == nil)
    }

    @Test func theDaysOfAZone() throws {
        let now = WallInstant(rfc3339: "2026-11-01T03:30:00Z")!
        let utc = CalendarDays(2, through: now, in: .utc)
        #expect(utc.names == ["2026-10-31", "2026-11-01"])
        #expect(
            utc.bounds.map(\.rfc3339)
                == ["2026-10-31T00:00:00Z", "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"])
        // Summer time ends in the night: a day of 25 hours.
        let zone = try ZoneRules(posix: "EST5EDT,M3.2.0,M11.1.0")
        let days = CalendarDays(2, through: now + .seconds(3600), in: zone)
        #expect(days.names == ["2026-10-31", "2026-11-01"])
        #expect(days.bounds[2] - days.bounds[1] == .seconds(25 * 3600))
        let before = CalendarDays(1, through: now, in: zone)
        #expect(before.names == ["2026-10-31"])
        #expect(CalendarDays(366, through: now, in: zone).names.first == "2025-10-31")
    }

    @Test func skippedRunsAreBetweenTheRuns() throws {
        let run = try ControlJSON.decode(
            RunStatus.self,
            from: Array(
                #"{"id":"a:20261118T060000.000000Z:1","job":"a","scheduled":"2026-11-18T06:00:00.000000Z","ended":"2026-11-18T06:00:05.000000Z","outcome":"exited(0)","output":"hello\n"}"#
                    .utf8))
        let skips = ["2026-11-18T06:00:04.000000Z", "2026-11-18T06:00:06.000000Z"].map {
            SkippedRuns(
                job: "a", reason: "still-running", blockedBy: run.id, skippedCount: 3,
                firstScheduled: $0, lastScheduled: $0, at: $0)
        }
        let lines = Text.history(
            HistoryReply(runs: [run], skippedRuns: skips.reversed()), outputLines: 3
        ).split(separator: "\n")
        #expect(lines.count == 5)
        #expect(
            lines[1].contains("skipped: the previous run had not ended (concurrency)")
                && lines[1].contains("3 runs, due from"))
        #expect(lines[2].contains("succeeded") && lines[3] == "    | hello")
        #expect(lines[4].contains("because of \(run.id)"))
    }
}

/// A skipped firing is stored as the loop decides it.
@Suite struct SkippedFiringTests {
    @Test func whatWasSkippedIsInTheHistory() async throws {
        let job = Job(
            name: Job.Name("a")!, command: .shell("true"), schedule: .every(.milliseconds(50)))
        let fixture = try LoopFixture([job])
        await fixture.waitUntilReady()
        // Its run never ends, so all others are skipped.
        func stored() async throws -> [Store.PastSkip] {
            try await withCheckedContinuation { continuation in
                fixture.recorder.read { store throws(StoreError) in
                    try store.skips(.init(limit: 9))
                } _: {
                    continuation.resume(returning: $0)
                }
            }.get()
        }
        try await fixture.wait {
            ((try? await stored()) ?? []).reduce(0) { $0 + $1.count } >= 3
        }
        let skips = try await stored()
        #expect(skips.allSatisfy { $0.reason == "still-running" && $0.blockedBy != nil })
        // One row, or two at midnight.
        #expect(skips.count <= 2)
    }
}
