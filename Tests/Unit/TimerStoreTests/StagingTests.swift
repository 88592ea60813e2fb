// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerStore

/// Records that are saved together in many transactions: whenever the daemon ends, all of them
/// count or none.
@Suite struct StagingTests {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("timerd-staging-\(UUID().uuidString)")

    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_795_000_000), awake: AwakeInstant(nanoseconds: 2),
        boot: BootInstant(nanoseconds: 3), bootID: BootID("0123456789abcdef0123456789abcdef")!)

    private func record(_ number: Int, _ firings: Int) -> JobRecord {
        JobRecord(
            job: Job.Name("j\(number)")!, phase: .armed, active: .zero, accrued: .zero,
            isCounting: true, firings: firings, lastScheduled: nil, configuredPaused: false,
            removed: nil, at: now, instance: 1)
    }

    private func open() throws -> Store {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try Store(path: folder.appendingPathComponent(Store.fileName).path)
    }

    /// The firings of each job as the next daemon reads them, before and after it has started.
    private func found() throws -> [Int] {
        let read = try open().recover().records.map(\.firings)
        let store = try open()
        #expect(try store.recover().records.map(\.firings) == read)
        try store.commit([.beginInstance(now)], durable: true)
        #expect(try store.recover().records.map(\.firings) == read)
        #expect(try open().recover().records.map(\.firings) == read)
        return read
    }

    /// Each step is a transaction; the daemon is killed after this many of them.
    @Test(arguments: 0...8)
    func afterAKillAllCountOrNone(steps: Int) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let all: [[Store.Change]] = [
            [.stage(record(0, 1)), .stage(record(1, 1))], [.stage(record(2, 1))],
            [.stage(record(3, 1)), .stage(record(1, 2))], [.applyStaged],
            [.mergeStaged(max: 2)], [.save(record(3, 5))], [.mergeStaged(max: 2)],
            [.mergeStaged(max: 2)],
        ]
        var store: Store? = try open()
        try store?.commit(
            [.beginInstance(now)] + (0..<4).map { .save(record($0, 0)) }, durable: true)
        for step in all.prefix(steps) { try store?.commit(step, durable: false) }
        store = nil
        let expected = steps < 4 ? [0, 0, 0, 0] : [1, 2, 1, steps < 6 ? 1 : 5]
        #expect(try found() == expected)
    }

    @Test func recordsThatWereNeverAppliedDoNotCountLater() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var store: Store? = try open()
        try store?.commit(
            [.beginInstance(now), .save(record(0, 0)), .save(record(1, 0))], durable: true)
        try store?.commit([.stage(record(0, 9))], durable: true)
        store = try open()
        _ = try store?.recover()
        try store?.commit([.beginInstance(now)], durable: true)
        try store?.commit([.stage(record(1, 2)), .applyStaged], durable: true)
        store = nil
        #expect(try found() == [0, 2])
    }

    @Test func anErasedJobIsRemoved() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        try store.commit([.beginInstance(now), .save(record(0, 0))], durable: true)
        try store.commit(
            [.stage(record(0, 1)), .stage(record(1, 1)), .applyStaged], durable: true)
        try store.commit([.erase(Job.Name("j0")!)], durable: true)
        #expect(try found() == [1])
    }

    @Test func veryManyAreMergedAFewAtATime_andFurtherOnesCanBeStaged() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try open()
        try store.commit([.beginInstance(now)], durable: true)
        for round in 1...2 {
            try store.commit(
                (0..<1000).map { .stage(record($0, round)) } + [.applyStaged], durable: false)
            for _ in 0..<8 { try store.commit([.mergeStaged(max: 128)], durable: false) }
            #expect(!store.hasStaged)
        }
        #expect(try found() == Array(repeating: 2, count: 1000))
    }
}
