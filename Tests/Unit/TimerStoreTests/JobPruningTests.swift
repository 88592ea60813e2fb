// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// How much of the history is kept of each job, and how large the database is.
@Suite struct JobPruningTests {
    private let folder = "/tmp/timerd-job-pruning-\(UUID().uuidString)"
    private let store: Store
    private static let start: Int64 = 1_795_000_000

    init() throws {
        mkdir(folder, 0o700)
        store = try Store(path: "\(folder)/\(Store.fileName)")
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func at(_ second: Int) -> WallInstant {
        WallInstant(secondsSinceEpoch: Self.start + Int64(second))
    }

    private func run(_ name: String, _ second: Int, failed: Bool, tail: Int = 0) -> [Store.Change] {
        let job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(60)))
        let id = Firing.ID(job: job.name, scheduled: at(second))
        let run = Run(firing: Firing(id: id, missed: 0, active: .zero), job: job)
        return [
            .begin(run, released: true, at: at(second)),
            .close(
                run.id, .exited(failed ? 1 : 0), RunUsage(elapsed: .seconds(1)), failed: failed,
                at: at(second), tail: [UInt8](repeating: 65, count: tail)),
        ]
    }

    private func skip(_ name: String, _ second: Int) -> Store.Change {
        let id = Firing.ID(job: Job.Name(name)!, scheduled: at(second))
        // A row each, because the reason changes.
        return .skip(
            SkippedFiring(
                firing: Firing(id: id, missed: 0, active: .zero),
                reason: .byOrder(left: second % 2), at: at(second * 86_400)))
    }

    private func ends(_ job: String, failed: Bool? = nil) throws -> [Int] {
        let range = Store.HistoryRange(job: Job.Name(job)!, limit: 100_000)
        return try store.history(range, withOutput: false)
            .filter { failed == nil || $0.summary.failed == failed }
            .map { Int($0.ended.secondsSinceEpoch - Self.start) }.reversed()
    }

    /// - Returns: how many runs the job had after each step.
    @discardableResult
    private func prune(_ job: String, keeping most: Int) throws -> (
        steps: [Int], deleted: WallInstant?
    ) {
        var pruning = JobPruning(of: Job.Name(job)!, keeping: most)
        var steps: [Int] = []
        while !pruning.isDone {
            try pruning.advance(in: store)
            steps.append(try ends(job).count)
            try #require(steps.count < 1000)
        }
        return (steps, pruning.deletedBefore)
    }

    @Test func theNewestRunsAreKept_andAsManyThatFailed() throws {
        defer { clean() }
        var changes: [Store.Change] = []
        for second in 1...1000 {
            changes += run("a", second, failed: second % 10 == 0)
            if second <= 50 { changes += run("b", second, failed: false) }
        }
        try store.commit(changes, durable: false)
        let (steps, deleted) = try prune("a", keeping: 30)
        let succeeded = (1...1000).filter { $0 % 10 != 0 }
        #expect(try ends("a", failed: false) == Array(succeeded.suffix(30)))
        // They are older than the others.
        #expect(try ends("a", failed: true) == Array(stride(from: 710, through: 1000, by: 10)))
        #expect(deleted == at(966))
        #expect(try ends("b") == Array(1...50))
        // A step deletes a limited number of rows, and the first one only counts.
        #expect(steps.first == 1000)
        for (before, after) in zip(steps, steps.dropFirst()) { #expect(before - after <= 200) }
        #expect(steps.count > 5)
        // Again there is nothing to do.
        #expect(try prune("a", keeping: 30).steps == [60])
    }

    /// However many there are: other writes wait for each step.
    @Test func rowsAreCountedSomeAtATime() throws {
        defer { clean() }
        var changes: [Store.Change] = []
        for number in 0..<1000 { changes += run("a", number, failed: number % 10 == 0) }
        try store.commit(changes + (0..<200).map { skip("a", $0) }, durable: false)
        var pruning = JobPruning(of: Job.Name("a")!, keeping: 150)
        var counted: [Int64] = []
        while !pruning.hasCounted { counted.append(try pruning.advance(in: store, rows: 1)) }
        #expect(counted.reduce(0, +) == 1300)
        #expect(counted.allSatisfy { $0 <= 52 } && counted.count >= 26)
        while !pruning.isDone { try pruning.advance(in: store, rows: 10) }
        #expect(try ends("a", failed: false).count == 150)
        #expect(try ends("a", failed: true).count == 100)
        #expect(try store.skips(.init(job: Job.Name("a")!, limit: 1000)).count == 150)
    }

    /// A job whose newest runs all failed keeps the ones that succeeded.
    @Test func theLatestRunOfEachKindStays() throws {
        defer { clean() }
        var changes: [Store.Change] = []
        for second in 1...20 { changes += run("a", second, failed: second > 10) }
        try store.commit(changes, durable: false)
        try prune("a", keeping: 1)
        #expect(try ends("a") == [10, 20])
        let none = try prune("none", keeping: 1)
        #expect(none.steps == [0] && none.deleted == nil)
    }

    @Test func skippedFiringsAreRowsToo() throws {
        defer { clean() }
        try store.commit((1...500).map { skip("a", $0) } + [skip("b", 1)], durable: false)
        try prune("a", keeping: 7)
        let rows = try store.skips(.init(job: Job.Name("a")!, limit: 1000))
        #expect(
            rows.map { Int($0.first.secondsSinceEpoch - Self.start) }
                == Array((494...500).reversed()))
        #expect(try store.skips(.init(job: Job.Name("b")!, limit: 1000)).count == 1)
    }

    @Test func theOwnersAreFoundSomeAtATime() throws {
        defer { clean() }
        let names = (0..<25).map { "job-\($0)" }.sorted()
        try store.commit(
            names.flatMap { run($0, 1, failed: false) + run($0, 2, failed: true) }, durable: false)
        var found: [String] = []
        while case let next = try store.owners(after: found.last.flatMap { Job.Name($0) }, max: 10),
            !next.isEmpty
        {
            #expect(next.count <= 10)
            found += next.map(\.description)
        }
        #expect(found == names)
    }

    @Test func theInstantOfAShareOfTheHistory() throws {
        defer { clean() }
        #expect(try store.instant(atShare: 0.5) == nil)
        try store.commit(
            (1...1000).flatMap { run("a", $0, failed: false, tail: 4000) }, durable: false)
        #expect(try store.instant(atShare: 0) == at(1))
        #expect(try store.instant(atShare: 1) == at(1000))
        #expect(try store.instant(atShare: 2) == at(1000))
        let half = try #require(try store.instant(atShare: 0.5))
        #expect((at(495)...at(505)).contains(half))
        let before = try store.usedBytes()
        #expect(before > 4_000_000)
        var pruning = Pruning(endedBefore: half)
        while !pruning.isDone { try pruning.advance(in: store) }
        let after = try store.usedBytes()
        #expect(after > before * 4 / 10 && after < before * 6 / 10)
    }
}
