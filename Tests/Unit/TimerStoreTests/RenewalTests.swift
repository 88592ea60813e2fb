// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerCore

@testable import TimerStore

/// The records of most jobs are taken again at a start, by one statement.
@Suite struct RenewalTests {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("timerd-renewal-\(UUID().uuidString)")
    private let boots = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"]
        .map { BootID($0)! }

    private func now(_ second: Int64, boot: Int) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + second),
            awake: AwakeInstant(nanoseconds: second), boot: BootInstant(nanoseconds: 2 * second),
            bootID: boots[boot])
    }

    private func open() throws -> Store {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try Store(path: folder.appendingPathComponent(Store.fileName).path)
    }

    /// One record of each kind, with a different value in each column.
    private func records() -> [JobRecord] {
        let since = WallInstant(secondsSinceEpoch: 1_794_000_000)
        let kinds: [(phase: Phase, removed: WallInstant?)] = [
            (.armed, nil), (.paused(Pause(since: since, by: .user("ada"))), nil), (.stopped, nil),
            (.finished, nil), (.armed, since), (.armed, nil),
        ]
        return kinds.enumerated().map { index, kind -> JobRecord in
            let number = index + 1
            return JobRecord(
                job: Job.Name("j\(number)")!, phase: kind.phase, active: .seconds(10 * number),
                accrued: .seconds(number), isCounting: index % 2 == 0, firings: number,
                lastScheduled: since, configuredPaused: index % 3 == 0,
                removed: kind.removed, at: now(1, boot: 0), instance: 1, basis: .wall,
                maxLoss: .milliseconds(number), skips: 2 * number, processedThrough: since,
                clockEpoch: 3 * number, isDueThisBoot: true, awaitsEnd: true, endedInPause: since,
                lastSuccess: since, watchedSince: since)
        }
    }

    @Test func aRenewalDoesToTheRowsWhatItSays() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let saved = records()
        let store = try open()
        store.resume(as: 1)
        try store.commit(
            [.beginInstance(now(1, boot: 0))] + saved.map { .save($0) }, durable: true)
        let renewal = RecordRenewal(at: now(60, boot: 1), instance: 2, jobs: saved.count)
        let next = try open()
        #expect(try next.recover().instance == 2)
        try next.commit([.beginInstance(now(60, boot: 1)), .renew(renewal)], durable: true)

        var expected = Dictionary(uniqueKeysWithValues: saved.map { ($0.job, $0) })
        renewal.apply(to: &expected)
        let found = try open().recover().records
        #expect(found == expected.values.sorted { $0.job < $1.job })
        #expect(found.filter { $0.instance == 2 }.map(\.job.description) == ["j1", "j6"])
    }

    /// The previous instance may have ended after it had applied staged records, before it had
    /// moved them.
    @Test func stagedRecordsAreRenewedAsWell() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var saved = records()[0]
        let store = try open()
        store.resume(as: 1)
        try store.commit([.beginInstance(now(1, boot: 0)), .save(saved)], durable: true)
        saved.firings = 99
        try store.commit([.stage(saved)], durable: false)
        try store.commit([.applyStaged], durable: false)
        let renewal = RecordRenewal(at: now(60, boot: 0), instance: 2, jobs: 1)
        let next = try open()
        #expect(try next.recover().records == [saved])
        try next.commit([.beginInstance(now(60, boot: 0)), .renew(renewal)], durable: true)
        #expect(try open().recover().records == [renewal.renewed(saved)])
    }

    /// No version of timerd writes such a value, and the table refuses it.
    @Test func oneInvalidValueDoesNotKeepTheOthersFromBeingRenewed() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let saved = records().filter { $0.phase == .armed && $0.removed == nil }
        try open().commit(saved.map { .save($0) }, durable: true)
        try tamper("replace(sql, 'STRICT, WITHOUT ROWID', 'WITHOUT ROWID')")
        try open().connection.execute(
            "UPDATE job SET pause_since_us = 'x' WHERE name = 'j6'", doing: "tamper")
        try tamper("replace(sql, 'WITHOUT ROWID', 'STRICT, WITHOUT ROWID')")
        let renewal = RecordRenewal(at: now(60, boot: 1), instance: 2, jobs: saved.count)
        let store = try open()
        #expect(throws: StoreError.self) {
            try store.connection.execute("UPDATE job SET counting = 1", doing: "try")
        }
        try store.commit([.renew(renewal)], durable: true)
        #expect(try open().recover().records == saved.map { renewal.renewed($0) })
        try store.connection.execute("UPDATE job SET counting = 1", doing: "try")
    }

    private func tamper(_ sql: String) throws {
        try open().connection.execute(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = \(sql) WHERE name = 'job'
            """, doing: "tamper")
    }
}
