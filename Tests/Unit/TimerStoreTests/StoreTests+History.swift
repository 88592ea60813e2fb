// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerStore

/// The history of runs: what is found in it, and how it is pruned.
extension StoreTests {
    @Test func failedRunsAreThoseThatWereJudgedAsFailed() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        for second in 1...6 {
            let run = run(second % 2 == 0 ? "a" : "b", at: Int64(second))
            // The exit code alone does not decide this.
            try store.commit(
                [
                    .begin(run, released: true, at: now(1).wall),
                    .close(
                        run.id, .exited(second < 4 ? 1 : 0), RunUsage(), failed: second > 2,
                        at: now(Int64(second)).wall),
                ], durable: false)
        }
        func failed(
            _ job: String?, since second: Int64 = 0, until last: Int64? = nil, limit: Int = 10
        ) throws -> [Int64] {
            var range = Store.HistoryRange(
                job: job.flatMap { Job.Name($0) }, since: now(second).wall,
                until: last.map { now($0).wall }, limit: limit)
            range.verdict = .failed
            return try store.history(range).map {
                #expect($0.summary.failed)
                return $0.ended.secondsSinceEpoch - now(0).wall.secondsSinceEpoch
            }
        }
        #expect(try failed(nil) == [6, 5, 4, 3])
        #expect(try failed("a") == [6, 4] && failed("b") == [5, 3])
        #expect(try failed(nil, since: 5) == [6, 5] && failed(nil, limit: 1) == [6])
        #expect(try failed(nil, until: 5) == [4, 3] && failed("b", until: 5) == [3])
        #expect(try failed(nil, since: 4, until: 6) == [5, 4] && failed(nil, until: 3) == [])
    }

    @Test func theHistoryIsPruned_exceptEachJobsLatestRun() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        for second in 1...10 {
            let run = run("a", at: Int64(second))
            try store.commit(
                [
                    .begin(run, released: true, at: now(1).wall),
                    .close(
                        run.id, .exited(0), RunUsage(), failed: false, at: now(Int64(second)).wall),
                ], durable: false)
        }
        try store.commit([.begin(run("b", at: 1), released: true, at: now(1).wall)], durable: false)
        try store.prune(endedBefore: now(100).wall)
        let past = try Store(path: path).beginInstance(at: now(200))
        #expect(past.lastRuns.values.map(\.id) == [run("a", at: 10).id])
        #expect(past.openRuns.count == 1, "open runs are not in the history")
    }

    /// The history of a job moves to its new name; a run is still found by its old identity.
    /// A run that succeeds after its job's record was taken is not in the record.
    @Test func theLatestSuccessAfterARecordIsFound() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.recover()
        var changes: [Store.Change] = [.beginInstance(now(1))]
        let ends: [(job: String, second: Int64, outcome: RunOutcome, failed: Bool)] = [
            ("late", 20, .exited(0), false), ("late", 30, .exited(3), true),
            ("late", 25, .exited(4), false), ("early", 5, .exited(0), false),
            ("bad", 20, .exited(1), true), ("stopped", 20, .stopped, false),
        ]
        for end in ends {
            let run = run(end.job, at: end.second)
            changes += [
                .begin(run, released: true, at: now(end.second).wall), .save(record(end.job)),
                .close(
                    run.id, end.outcome, RunUsage(), failed: end.failed, at: now(end.second).wall),
            ]
        }
        try store.commit(changes, durable: true)
        #expect(try store.recover().lastSuccesses == [Job.Name("late")!: now(25).wall])
    }

    @Test func aRenamedJobKeepsItsRuns() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let (old, new) = (Job.Name("a")!, Job.Name("b")!)
        let (ended, active, waiting) = (run("a", at: 1), run("a", at: 2), run("a", at: 3))
        try store.commit(
            [
                .save(record("a")), .begin(ended, released: true, at: now(1).wall),
                .close(ended.id, .exited(3), RunUsage(), failed: true, at: now(1).wall),
                .begin(active, released: true, at: now(2).wall),
                .begin(waiting, released: true, at: now(3).wall),
            ], durable: false)
        let renamed = waiting.id.renamed(new)
        try store.commit(
            [
                .rename(Renaming(from: old, to: new, waiting: [waiting.id])), .save(record("b")),
                // Another job uses the old name now.
                .begin(run("a", at: 4), released: true, at: now(4).wall),
                .close(run("a", at: 4).id, .exited(0), RunUsage(), failed: false, at: now(4).wall),
            ], durable: false)
        func history(of job: Job.Name) throws -> [Run.ID] {
            try store.history(of: job, since: nil, failed: false, limit: 9)
                .map(\.summary.id)
        }
        #expect(try history(of: new) == [ended.id])
        #expect(try history(of: old) == [run("a", at: 4).id])
        #expect(try store.pastRun(ended.id)?.summary.outcome == .exited(3))
        let past = try Store(path: path).beginInstance(at: now(10))
        #expect(past.records.map(\.job) == [new])
        #expect(past.lastRuns[new]?.id == ended.id)
        #expect(past.openRuns.map(\.id) == [active.id, renamed])
        #expect(past.openRuns.allSatisfy { $0.job == new })
        try store.commit(
            [.close(active.id, .exited(0), RunUsage(), failed: false, at: now(5).wall)],
            durable: false)
        #expect(try history(of: new) == [active.id, ended.id])
    }

    /// Runs of several jobs, one of each older than the retention time, in a file that mostly
    /// consists of them.
    @Test func aLongHistoryIsPrunedInSteps_andTheFileShrinks() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let tail = [UInt8](repeating: 65, count: 1000)
        for second in 1...3000 {
            let run = run("job-\(second % 300)", at: Int64(second))
            try store.commit(
                [
                    .begin(run, released: true, at: now(Int64(second)).wall),
                    .close(
                        run.id, .exited(0), RunUsage(), failed: false, at: now(Int64(second)).wall,
                        tail: tail),
                ], durable: false)
        }
        try store.checkpoint()
        var before = stat()
        try #require(stat(path, &before) == 0)
        var pruning = Pruning(endedBefore: now(2990).wall)
        var portions = 0
        while !pruning.isDone {
            let rows = try store.connection.integer("SELECT count(*) FROM run", doing: "count") ?? 0
            try pruning.advance(in: store)
            let left = try store.connection.integer("SELECT count(*) FROM run", doing: "count") ?? 0
            #expect(rows - left <= Pruning.rowsPerPortion)
            portions += 1
        }
        #expect(portions > 2990 / Int(Pruning.rowsPerPortion))
        // The latest run of each job, and the runs that ended later.
        #expect(try store.connection.integer("SELECT count(*) FROM run", doing: "count") == 300)
        try store.checkpoint()
        var after = stat()
        try #require(stat(path, &after) == 0)
        let least = Pruning.freePagesKept * 4096
        #expect(after.st_size < before.st_size / 2 && after.st_size < least + 1_200_000)
        var found: [String?] = []
        try store.connection.run("PRAGMA integrity_check", doing: "check") { row in
            found.append(row.text(0))
        }
        #expect(found == ["ok"])
    }

    @Test func theLatestEndedRunOfEachJobIsFound() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        for name in ["a", "b", "c.d", "e"] {
            for second in 1...3 {
                let runs = [run(name, at: Int64(second)), run(name, at: Int64(second), attempt: 2)]
                try store.commit(
                    runs.map { .begin($0, released: true, at: now(1).wall) }, durable: false)
                // The second attempt of the last firing is running.
                let ended = second < 3 ? runs : name == "e" ? [] : [runs[0]]
                try store.commit(
                    ended.map {
                        .close($0.id, .exited(0), RunUsage(), failed: false, at: now(9).wall)
                    },
                    durable: false)
            }
        }
        let last = try Store(path: path).beginInstance(at: now(10)).lastRuns
        #expect(
            last.sorted { $0.key < $1.key }.map(\.value.id) == [
                run("a", at: 3).id, run("b", at: 3).id, run("c.d", at: 3).id,
                run("e", at: 2, attempt: 2).id,
            ])
    }
}
