// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// Skipped firings, pages of the history, and its sums.
@Suite struct HistoryTests {
    private let folder = "/tmp/timerd-history-\(UUID().uuidString)"
    private let store: Store
    private static let day: Int64 = 86_400
    /// 00:00 in UTC.
    private static let start: Int64 = 20_000 * day

    init() throws {
        mkdir(folder, 0o700)
        store = try Store(path: "\(folder)/\(Store.fileName)")
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: Self.start + second)
    }

    private func firing(_ job: String, _ second: Int64, missed: Int = 0) -> Firing {
        Firing(
            id: Firing.ID(job: Job.Name(job)!, scheduled: at(second)), missed: missed,
            active: .zero)
    }

    private func skip(
        _ job: String, _ second: Int64, _ reason: Notice.SkipReason = .concurrencyMax(2),
        missed: Int = 0
    ) -> Store.Change {
        .skip(
            SkippedFiring(
                firing: firing(job, second, missed: missed), reason: reason, at: at(second)))
    }

    /// A run that took 2 s and ended then.
    private func run(
        _ job: String, _ second: Int64, failed: Bool = false, _ outcome: RunOutcome? = nil
    ) -> [Store.Change] {
        let definition = Job(
            name: Job.Name(job)!, command: .shell("true"), schedule: .every(.seconds(60)))
        let run = Run(firing: firing(job, second - 2), attempt: 1, job: definition)
        return [
            .begin(run, released: true, at: at(second - 2)),
            .close(
                run.id, outcome ?? .exited(failed ? 1 : 0), RunUsage(elapsed: .seconds(2)),
                failed: failed, began: at(second - 2), at: at(second), tail: [65]),
        ]
    }

    private func skips(_ job: String? = nil) throws -> [Store.PastSkip] {
        try store.skips(.init(job: job.map { Job.Name($0)! }, limit: 1000))
    }

    @Test func whatWasSkippedLatestOfEachJobIsRecovered() throws {
        defer { clean() }
        #expect(try store.recover().lastSkips.isEmpty)
        try store.commit(
            [
                skip("a", 10), skip("b", 11, .missed, missed: 4), skip("a", 12), skip("a", 13),
                skip("a", 14, .byOrder(left: 1)), skip("c", 15), skip("c", 15, .byOrder(left: 0)),
            ], durable: true)
        let skips = try store.recover().lastSkips
        #expect(
            skips == [
                Job.Name("a")!: LastSkip(
                    scheduled: at(14), count: 1, reason: .byOrder, at: at(14)),
                Job.Name("b")!: LastSkip(
                    scheduled: at(11), count: 5, reason: .missed, at: at(11)),
                Job.Name("c")!: LastSkip(
                    scheduled: at(15), count: 1, reason: .byOrder, at: at(15)),
            ])
        #expect(SkipKind.allCases.allSatisfy { SkipKind(word: $0.word) == $0 })
    }

    @Test func skipsInARowForOneReasonAreOneRow() throws {
        defer { clean() }
        let other = Run.ID("a:20261118T060001.000000Z:1")!
        let third = Run.ID("a:20261118T060001.000000Z:2")!
        for (changes, counts) in [
            ([skip("a", 10), skip("a", 11), skip("a", 12, missed: 4)], [7]),
            ([skip("a", 13, .byOrder(left: 3)), skip("a", 14, .byOrder(left: 2))], [2, 7]),
            // Of other jobs there are others.
            ([skip("b", 14), skip("a", 15, .byOrder(left: 1))], [3, 7]),
            // Because of another run.
            (
                [skip("a", 16, .stillRunning(other)), skip("a", 17, .stillRunning(third))],
                [1, 1, 3, 7]
            ),
            ([skip("a", 18, .stillRunning(third))], [2, 1, 3, 7]),
            // Behind a run.
            (run("a", 20) + [skip("a", 21, .stillRunning(third))], [1, 2, 1, 3, 7]),
            // On the next day.
            ([skip("a", Self.day, .stillRunning(third))], [1, 1, 2, 1, 3, 7]),
        ] as [([Store.Change], [Int])] {
            try store.commit(changes, durable: false)
            #expect(try skips("a").map(\.count) == counts)
        }
        #expect(try skips("b").map(\.count) == [1] && skips().count == 7)
        let first = try #require(try skips("a").last)
        #expect(first.first == at(10) && first.last == at(12) && first.at == at(12))
        #expect(first.reason == "concurrency-max" && first.blockedBy == nil)
        #expect(try skips("a")[4].blockedBy == nil && skips("a")[0].blockedBy == "\(third)")
    }

    @Test func aJobThatIsSkippedEachSecondHasFewRows() throws {
        defer { clean() }
        for start in stride(from: Int64(0), to: 3 * Self.day, by: 3600) {
            try store.commit((0..<20).map { skip("a", start + $0) }, durable: false)
        }
        #expect(try skips().map(\.count) == [480, 480, 480])
    }

    @Test func skipsMoveWithTheirJob_andArePrunedAsRunsAre() throws {
        defer { clean() }
        try store.commit(
            run("a", 5) + run("a", 3 * Self.day) + [skip("a", 10)]
                + (0..<500).map { skip("b\($0)", 20) } + [skip("a", 4 * Self.day)],
            durable: false)
        try store.commit(
            [.rename(Renaming(from: Job.Name("a")!, to: Job.Name("new")!))], durable: false)
        #expect(try skips("new").count == 2 && skips("a").isEmpty)
        var pruning = Pruning(endedBefore: at(2 * Self.day))
        while !pruning.isDone { try pruning.advance(in: store) }
        #expect(try skips().map(\.at) == [at(4 * Self.day)])
        #expect(try store.history(.init(limit: 9)).count == 1)
    }

    /// Page by page, everything comes once, in its order, also what ended at the same instant.
    @Test(arguments: [1, 2, 3, 7, 100])
    func pagesHaveEverythingOnce(limit: Int) throws {
        defer { clean() }
        var changes: [Store.Change] = []
        for number in 0..<20 {
            changes += run("j\(number)", Int64(10 + number / 4), failed: number % 3 == 0)
        }
        try store.commit(changes, durable: false)
        for (since, until, failed, count) in [
            (nil, nil, false, 20), (11, 13, false, 8), (nil, nil, true, 7), (99, nil, false, 0),
        ] as [(Int64?, Int64?, Bool, Int)] {
            var range = Store.HistoryRange(
                since: since.map { at($0) }, until: until.map { at($0) }, limit: limit)
            var found: [Store.PastRun] = []
            while true {
                if failed { range.verdict = .failed }
                let page = try store.history(range, withOutput: false)
                guard let last = page.last else { break }
                #expect(page.count <= limit && page.allSatisfy { $0.tail.isEmpty })
                found += page
                range.after = .init(
                    instant: last.ended.microsecondsSinceEpoch, isSkip: false, row: last.row)
            }
            #expect(found.count == count && Set(found.map(\.summary.id)).count == count)
            #expect(found.map(\.ended) == found.map(\.ended).sorted(by: >))
        }
    }

    /// Which runs the filters of the history leave: by their end, their cause, and their job.
    @Test func theHistoryIsFilteredByResultCauseAndJob() throws {
        defer { clean() }
        let alice = Initiator.user("alice")
        var changes = run("a", 10) + run("a", 20, failed: true) + run("b", 30, .stopped)
        for (second, cause, attempt) in [
            (40, Firing.Cause.requested(Boxed(wrappedValue: .init(by: alice))), 1),
            (50, .catchUp, 1),
            (60, .catchUp, 2), (70, .resume, 1),
        ] {
            let job = Job(
                name: Job.Name("c")!, command: .shell("true"), schedule: .every(.seconds(60)))
            let firing = Firing(
                id: firing("c", Int64(second)).id, missed: 0, active: .zero, cause: cause)
            let run = Run(firing: firing, attempt: attempt, job: job)
            changes += [
                .begin(run, released: true, at: at(Int64(second))),
                .close(
                    run.id, .exited(0), RunUsage(), failed: false, at: at(Int64(second + 1))),
            ]
        }
        try store.commit(changes + [skip("d", 80)], durable: false)
        func seconds(_ change: (inout Store.HistoryRange) -> Void) throws -> [Int64] {
            var range = Store.HistoryRange(limit: 100)
            change(&range)
            return try store.history(range).map {
                ($0.summary.id.firing.scheduled.microsecondsSinceEpoch
                    - at(0).microsecondsSinceEpoch) / 1_000_000
            }
        }
        #expect(try seconds { $0.verdict = .failed } == [18])
        #expect(try seconds { $0.verdict = .neither } == [28])
        #expect(try seconds { $0.verdict = .succeeded } == [70, 60, 50, 40, 8])
        #expect(try seconds { $0.cause = .schedule } == [28, 18, 8])
        #expect(try seconds { $0.cause = .requested } == [40])
        #expect(try seconds { $0.cause = .catchUp } == [60, 50])
        #expect(try seconds { $0.cause = .retry } == [60])
        #expect(try seconds { $0.cause = .resume } == [70])
        #expect(try seconds { $0.cause = .chain } == [])
        let names = ["a", "b"].map { Job.Name($0)! }
        #expect(try seconds { $0.jobs = names } == [28, 18, 8])
        #expect(try seconds { $0.jobs = [] } == [])
        #expect(Set(try store.jobsWithHistory().map(\.description)) == ["a", "b", "c", "d"])
        var range = Store.HistoryRange(limit: 9)
        range.jobs = names
        #expect(try store.skips(range).isEmpty)
        range.jobs = [Job.Name("d")!]
        #expect(try store.skips(range).count == 1)
    }

    @Test func theLastRunsOfEachJob_inParts() throws {
        defer { clean() }
        let stopped = RunOutcome.stopped
        try store.commit(
            run("a", 10) + run("a", 20, failed: true) + run("a", 30, stopped) + run("b", 5)
                + run("c", 7), durable: false)
        let all = try store.recentRuns(count: 2, after: nil, runsMax: 100)
        #expect(all.jobs.map(\.job.description) == ["a", "b", "c"] && !all.isCut)
        #expect(all.jobs[0].verdicts == [.failed, .neither])
        #expect(all.jobs[0].ends == [at(20), at(30)].map(\.microsecondsSinceEpoch))
        #expect(all.jobs[0].durations == [2_000_000, 2_000_000])
        let late = try store.recentRuns(count: 9, since: at(10), after: nil, runsMax: 100)
        #expect(late.jobs.map(\.job.description) == ["a"] && late.jobs[0].ends.count == 3)
        let failed = try store.recentRuns(count: 1, failed: true, after: nil, runsMax: 100)
        #expect(failed.jobs.map(\.verdicts) == [[.failed]])
        let some = try store.recentRuns(count: 2, after: nil, runsMax: 3)
        #expect(some.jobs.count == 2 && some.isCut)
        let rest = try store.recentRuns(count: 2, after: Job.Name("b"), runsMax: 3)
        #expect(rest.jobs.map(\.job.description) == ["c"] && !rest.isCut)
    }

    @Test func theSumsOfDays() throws {
        defer { clean() }
        try store.commit(
            run("a", 10) + run("a", 20, failed: true) + run("a", Self.day) + run("b", 11)
                + [skip("a", 30, missed: 2), skip("a", Self.day - 1)], durable: false)
        let bounds = (0...3).map { at($0 * Self.day) }
        let sums = try store.sums(of: Job.Name("a")!, between: bounds)
        #expect(sums.map(\.runs) == [2, 1, 0] && sums.map(\.failed) == [1, 0, 0])
        #expect(sums.map(\.skipped) == [4, 0, 0])
        #expect(sums.map(\.elapsed) == [4_000_000, 2_000_000, 0])
    }

    /// Its jobs begin with its name, and a job whose name only resembles it is none of them.
    @Test func theHistoryOfATemplateIsThatOfItsJobs() throws {
        defer { clean() }
        let others = ["dump", "dump-a", "dumpA", "dump_a", "a", "z"]
        var changes = others.flatMap { run($0, 10) + [skip($0, 10)] }
        for (index, job) in ["dump@shop", "dump@crm", "dump@Z", "dump@-1"].enumerated() {
            changes += run(job, 20 + Int64(index)) + [skip(job, 20 + Int64(index))]
        }
        try store.commit(changes, durable: false)
        let template = Job.Name("dump@")
        let range = Store.HistoryRange(job: template, limit: 9)
        let expected = ["dump@-1", "dump@Z", "dump@crm", "dump@shop"]
        #expect(try store.history(range).map(\.job.description) == expected)
        #expect(try store.skips(range).map(\.job.description) == expected)
        let part = Store.HistoryRange(
            job: template, since: at(21), until: at(23),
            after: Store.HistoryPlace(
                instant: at(22).microsecondsSinceEpoch, isSkip: false, row: 0),
            limit: 1)
        #expect(try store.history(part).map(\.job.description) == ["dump@crm"])
        #expect(try store.history(.init(job: Job.Name("none@"), limit: 9)).isEmpty)
    }

    /// What is asked often, of a long history, is found by the indexes alone.
    @Test func noQueryReadsAllRows() throws {
        defer { clean() }
        func plan(_ sql: String) throws -> String {
            var lines: [String] = []
            try store.connection.run("EXPLAIN QUERY PLAN \(sql)", doing: "explain") { row in
                lines.append(row.text(3) ?? "")
            }
            return lines.joined(separator: "\n")
        }
        let sums = try plan(
            """
            SELECT count(*), sum(elapsed_us) FROM run
            WHERE owner = 'a' AND ended_us >= 0 AND ended_us < 9
            """)
        #expect(sums.contains("SEARCH run USING COVERING INDEX run_of_job"), "\(sums)")
        let skipped = try plan(
            "SELECT total(count) FROM skip WHERE job = 'a' AND at_us >= 0 AND at_us < 9")
        #expect(skipped.contains("USING COVERING INDEX skip_of_job"), "\(skipped)")
        for sql in [
            "SELECT * FROM run WHERE outcome IS NOT NULL AND (ended_us, id) < (5, 5) ORDER BY ended_us DESC, id DESC LIMIT 9",
            "SELECT * FROM skip WHERE job > 'a@' AND job < 'aA' AND at_us >= 0 AND at_us < 9 AND (at_us, id) < (5, 5) ORDER BY at_us DESC, id DESC LIMIT 9",
            "SELECT * FROM run WHERE outcome IS NOT NULL AND owner > 'a@' AND owner < 'aA' AND ended_us >= 0 AND ended_us < 9 AND (ended_us, id) < (5, 5) ORDER BY ended_us DESC, id DESC LIMIT 9",
            "SELECT * FROM skip WHERE job = 'a' ORDER BY at_us DESC, id DESC LIMIT 1",
            "SELECT min(owner) FROM run WHERE ended_us IS NOT NULL AND owner > 'a'",
            "SELECT ended_us FROM run WHERE ended_us IS NOT NULL AND owner = 'a' ORDER BY ended_us DESC, id DESC LIMIT 9",
            "UPDATE run SET owner = 'b' WHERE owner = 'a' AND ended_us IS NOT NULL",
            "SELECT 1 FROM run WHERE owner = 'a' AND ended_us > 5",
            "DELETE FROM skip WHERE id IN (SELECT id FROM skip WHERE at_us < 5 ORDER BY at_us LIMIT 9)",
        ] {
            let found = try plan(sql)
            #expect(found.contains("SEARCH") && !found.contains("SCAN"), "\(sql): \(found)")
        }
    }
}
