// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// Databases of other versions, and files that are none.
extension StoreTests {
    @Test(arguments: [
        (
            "not a database at all, whatever it may be; long enough to have a header of its own, "
                + "of at least a hundred bytes", StoreError.Code.corrupt
        )
    ])
    func refusesAFileThatIsNotADatabase(content: String, code: StoreError.Code) throws {
        defer { clean() }
        try content.write(toFile: path, atomically: false, encoding: .utf8)
        let error = #expect(throws: StoreError.self) { try Store(path: path) }
        #expect(error?.code == code)
        #expect(error?.description.contains("timerd restore") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == content, "nothing was lost")
    }

    @Test(arguments: [99, -1])
    func refusesADatabaseOfANewerVersion(version: Int) throws {
        defer { clean() }
        do {
            let store = try Store(path: path)
            try store.connection.execute("PRAGMA user_version = \(version)", doing: "travel")
        }
        let error = #expect(throws: StoreError.self) { try Store(path: path) }
        #expect(error?.code == .newer)
    }

    /// Later versions of the tables, to which a database of this version will be migrated.
    private static let laterSteps =
        Schema.steps + [
            "CREATE TABLE later (word TEXT NOT NULL) STRICT; INSERT INTO later VALUES ('a');",
            "ALTER TABLE later ADD COLUMN more INTEGER NOT NULL DEFAULT 7;",
        ]

    @Test(arguments: 1..<laterSteps.count)
    func migratesTheTablesOfEachVersion(version: Int) throws {
        defer { clean() }
        do {
            let old = try Store(path: path, steps: Array(Self.laterSteps.prefix(version)))
            if version >= Schema.steps.count {
                _ = try old.beginInstance(at: now(0))
                try old.commit([.save(record("a"))], durable: true)
            } else {
                // A store of an earlier version has not all columns that are read and written.
                try copy(record("a"), into: old)
            }
        }
        for _ in 0..<2 {
            let store = try Store(path: path, steps: Self.laterSteps)
            #expect(
                try store.connection.integer("PRAGMA user_version", doing: "look")
                    == Int64(Self.laterSteps.count))
            #expect(
                try store.connection.integer(
                    "SELECT sum(more) FROM later WHERE word = 'a'", doing: "look") == 7,
                "each step is executed once")
            #expect(try store.beginInstance(at: now(1)).records == [record("a")])
        }
    }

    private func copy(_ record: JobRecord, into old: Store) throws {
        let other = path + "-new"
        try Store(path: other).commit([.save(record)], durable: true)
        let names = JobColumn.allCases.filter {
            ![.chain, .limitedRuns, .limitedSuccesses].contains($0)
        }
        .map(\.name).joined(separator: ", ")
        for statement in [
            "ATTACH '\(other)' AS new", "INSERT INTO job (\(names)) SELECT \(names) FROM new.job",
            "DETACH new",
        ] { try old.connection.execute(statement, doing: "copy a record") }
    }

    /// It is not known of the runs of the first version whether they were started.
    @Test func anOpenRunOfTheFirstVersionCountsAsReleased() throws {
        defer { clean() }
        do {
            let old = try Store(path: path, steps: Array(Schema.steps.prefix(1)))
            try old.connection.execute(
                """
                INSERT INTO run
                    (job, owner, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us)
                VALUES ('a', 'a', 7000000, 1, 0, 0, '\(now(0).bootID)', 7000000)
                """, doing: "write a run")
        }
        let past = try Store(path: path).recover()
        #expect(past.openRuns.map(\.isReleased) == [true] && !past.isRestored)
    }

    @Test func aFailedMigrationLeavesTheDatabaseUnchanged() throws {
        defer { clean() }
        do {
            let old = try Store(path: path)
            _ = try old.beginInstance(at: now(0))
            try old.commit([.save(record("a"))], durable: true)
        }
        let steps = Self.laterSteps + ["ALTER TABLE nowhere ADD COLUMN more INTEGER;"]
        #expect(throws: StoreError.self) { try Store(path: path, steps: steps) }
        let store = try Store(path: path)
        #expect(try store.beginInstance(at: now(1)).records == [record("a")])
    }
}
