// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// Damaged values: what can be read is used, and nothing crashes.
extension StoreTests {
    @Test(arguments: [
        "DELETE FROM identity", "UPDATE identity SET generation = 9223372036854775807",
    ])
    func aDatabaseWithoutAnIdentityIsRefused(tampering: String) throws {
        defer { clean() }
        let store = try Store(path: path)
        try store.connection.execute(tampering, doing: "tamper")
        let error = #expect(throws: StoreError.self) { try Store(path: path) }
        #expect(error?.code == .corrupt)
    }

    @Test(arguments: ["phase", "basis"])
    func refusesAnUnknownWord(column: String) throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.save(record("a"))], durable: true)
        #expect(throws: StoreError.self) {
            try store.connection.execute("UPDATE job SET \(column) = 'odd'", doing: "tamper")
        }
        #expect(try Store(path: path).beginInstance(at: now(1)).records == [record("a")])
    }

    /// Numbers that no version of timerd writes, and with which arithmetic on instants would trap.
    @Test(arguments: [
        ("active_ns", "9223372036854775807", true), ("accrued_ns", "9223372036854775807", true),
        ("last_scheduled_us", "9223372036854775807", false),
        ("last_scheduled_us", "-9223372036854775808", false),
        ("removed_us", "9223372036854775807", false), ("at_us", "-9223372036854775808", false),
        ("at_awake_ns", "-1", false), ("at_awake_ns", "9223372036854775807", false),
        ("at_boot_ns", "9223372036854775807", false), ("firings", "9223372036854775807", false),
        ("firings", "-1", false), ("skips", "9223372036854775807", false),
        ("clock_epoch", "9223372036854775807", false),
        ("processed_through_us", "9223372036854775807", false),
        ("instance", "0", false), ("instance", "9223372036854775807", false),
        ("boot_id", "'x'", false),
        ("phase", "'paused'", false), ("pause_until_us", "9223372036854775807", true),
    ])
    func aDamagedJobIsPausedAndReported_andTheOthersAreUnchanged(
        column: String, value: String, isAccepted: Bool
    ) throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit(["a", "b", "c"].map { .save(record($0)) }, durable: true)
        try store.connection.execute(
            "UPDATE job SET \(column) = \(value) WHERE name = 'b'", doing: "tamper")
        let again = try Store(path: path)
        let past = try again.beginInstance(at: now(10))
        #expect(past.records.map(\.job.description) == ["a", "b", "c"])
        #expect(past.records[0] == record("a") && past.records[2] == record("c"))
        if isAccepted {
            #expect(again.damage.isEmpty)
            return
        }
        guard case .paused(let pause) = past.records[1].phase else {
            Issue.record("\(past.records[1].phase)")
            return
        }
        #expect(pause.by == .user("timerd") && pause.note?.contains("damaged") == true)
        #expect(!past.records[1].isCounting && past.records[1].active == record("b").active)
        #expect(again.damage.count == 1)
        let damage = try #require(again.damage.first)
        #expect(damage.contains("job \"b\"") && damage.contains("timerctl resume b"))
        if column != "phase" { #expect(damage.contains("\(column) = \(value)"), "\(damage)") }
        // A record that is saved now is valid again.
        try again.commit([.save(past.records[1])], durable: true)
        #expect(try Store(path: path).recordsAlone() == past.records)
    }

    @Test func aJobWithoutANameIsReported_andNotChanged() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit(["a", "b"].map { .save(record($0)) }, durable: true)
        try store.connection.execute("UPDATE job SET name = '/' WHERE name = 'b'", doing: "tamper")
        let again = try Store(path: path)
        #expect(try again.beginInstance(at: now(10)).records.map(\.job.description) == ["a"])
        #expect(again.damage.count == 1)
        #expect(try again.connection.integer("SELECT count(*) FROM job", doing: "count") == 2)
    }

    @Test(arguments: [
        ("scheduled_us", "9223372036854775807", 0), ("attempt", "9223372036854775807", 0),
        ("job", "'/'", 0), ("missed", "-5", 1), ("missed", "9223372036854775807", 1),
        ("active_ns", "-1", 1), ("recorded_us", "-9223372036854775808", 1), ("boot_id", "''", 1),
    ])
    func aDamagedOpenRunIsReported(column: String, value: String, left: Int) throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.begin(run("a", at: 1), released: true, at: now(1).wall)], durable: true)
        try store.connection.execute("UPDATE run SET \(column) = \(value)", doing: "tamper")
        let again = try Store(path: path)
        #expect(try again.beginInstance(at: now(10)).openRuns.count == left)
        #expect(again.damage.count == 1)
    }

    @Test(arguments: [
        ("began_us", "9223372036854775807"), ("began_awake_ns", "-1"), ("boot_id", "'?'"),
        ("ended_us", "9223372036854775807"), ("ended_boot_ns", "-9223372036854775808"),
    ])
    func aDamagedStartOfTheDaemonIsReported(column: String, value: String) throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.endInstance(now(5))], durable: true)
        try store.connection.execute("UPDATE instance SET \(column) = \(value)", doing: "tamper")
        let again = try Store(path: path)
        let past = try again.beginInstance(at: now(10))
        #expect(past.instance == 2 && past.previous?.instance == 1)
        #expect(again.damage.count == 1)
        _ = (past.previousExit(at: now(10)), past.previous)
    }

    @Test(arguments: ["0", "-1", "9223372036854775807"])
    func aStartWithAnInvalidNumberIsIgnored(id: String) throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.connection.execute(
            """
            INSERT INTO instance (id, boot_id, began_us, began_awake_ns, began_boot_ns)
            VALUES (\(id), '0123456789abcdef0123456789abcdef', 1, 1, 1)
            """, doing: "tamper")
        #expect(try Store(path: path).beginInstance(at: now(10)).instance == 2)
    }

    @Test func aFlippedBitDoesNotCrash() throws {
        defer { clean() }
        do {
            let store = try Store(path: path)
            _ = try store.beginInstance(at: now(0))
            try store.commit((0..<50).map { .save(record("job\($0)")) }, durable: true)
            try store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)", doing: "settle")
        }
        let good = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        let seed = UInt64.random(in: 0 ... .max)
        print("bit flips: seed \(seed)")
        var state = seed
        for _ in 0..<300 {
            var bytes = good
            for _ in 0..<4 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[Int(state >> 33) % bytes.count] ^= UInt8(1 << (state >> 61))
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            unlink(path + "-wal")
            unlink(path + "-shm")
            do throws(StoreError) {
                _ = try Store(path: path).beginInstance(at: now(10))
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }
}
