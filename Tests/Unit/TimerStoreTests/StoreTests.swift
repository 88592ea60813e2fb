// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerStore

@Suite struct StoreTests {
    let folder = "/tmp/timerd-store-\(UUID().uuidString)"
    var path: String { "\(folder)/\(Store.fileName)" }

    init() { mkdir(folder, 0o700) }

    func clean() { try? FileManager.default.removeItem(atPath: folder) }

    func now(_ second: Int64, boot: String = "0123456789abcdef0123456789abcdef") -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + second),
            awake: AwakeInstant(nanoseconds: second * 1_000_000_000),
            boot: BootInstant(nanoseconds: second * 1_000_000_000), bootID: BootID(boot)!)
    }

    func run(_ name: String, at second: Int64, attempt: Int = 1) -> Run {
        let job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(60)))
        let id = Firing.ID(job: job.name, scheduled: now(second).wall)
        let firing = Firing(id: id, missed: 3, active: .nanoseconds(123_456_789))
        return Run(firing: firing, attempt: attempt, job: job)
    }

    func record(_ name: String, phase: Phase = .armed, instance: DaemonInstance.ID = 1)
        -> JobRecord
    {
        JobRecord(
            job: Job.Name(name)!, phase: phase, active: .nanoseconds(7_000_000_001),
            accrued: .nanoseconds(5), isCounting: phase == .armed, firings: 4,
            lastScheduled: now(3).wall, configuredPaused: true, removed: nil, at: now(9),
            instance: instance
        )
    }

    @Test func storesEveryFieldOfEveryRecord() throws {
        defer { clean() }
        let pause = Pause(since: now(1).wall, by: .user("ada"), note: "disk 'swap'\n\u{1f4a5}")
        let own = Pause(since: now(1).wall, by: .configuration)
        let silent = Pause(since: now(1).wall, by: .user("ada"), note: "")
        var gone = record("gone", phase: .stopped)
        gone.removed = now(8).wall
        gone.lastScheduled = nil
        var waiting = record("waiting")
        waiting.isDueThisBoot = true
        waiting.awaitsEnd = true
        waiting.endedInPause = now(6).wall
        waiting.lastSuccess = now(7).wall
        waiting.tally = RunTally(runs: 3, successes: 2)
        let records = [
            record("a"), record("b", phase: .paused(pause)), record("c", phase: .paused(own)),
            record("d", phase: .finished), record("e", phase: .paused(silent)), gone,
            waiting,
        ]
        let store = try Store(path: path)
        let first = try store.beginInstance(at: now(0))
        #expect(first.instance == 1 && first.previous == nil && first.records.isEmpty)
        try store.commit(records.map { .save($0) }, durable: true)
        let again = try Store(path: path).beginInstance(at: now(10))
        #expect(again.records == records)
        #expect(again.instance == 2)
        #expect(again.previous == .init(instance: 1, began: now(0), ended: nil))
    }

    @Test func aCleanEndIsStored() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.endInstance(now(5))], durable: true)
        let past = try Store(path: path).beginInstance(at: now(10))
        #expect(past.previous?.ended == now(5) && past.previousExit(at: now(10)) == .clean)
    }

    @Test func aRunIsWrittenOnce_openUntilItIsClosed() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let runs = [run("a", at: 1), run("a", at: 2), run("b", at: 1)]
        #expect(
            try store.commit(
                runs.map { .begin($0, released: true, at: now(1).wall) }, durable: false
            ).isEmpty)
        #expect(
            try store.commit([.begin(runs[0], released: true, at: now(2).wall)], durable: false)
                == [runs[0].id],
            "a firing cannot be stored twice")
        #expect(
            try store.commit(
                [.begin(run("a", at: 1, attempt: 2), released: true, at: now(2).wall)],
                durable: false
            )
            .isEmpty, "another attempt is another run")
        let usage = RunUsage(
            elapsed: .seconds(4), user: .milliseconds(20), system: .milliseconds(3),
            peakResidentBytes: 1 << 20)
        let outcome = RunOutcome.spawnFailed(errno: "ENOENT", what: "exec x")
        try store.commit(
            [
                .close(
                    runs[1].id, outcome, usage, failed: true, began: now(2).wall, at: now(6).wall)
            ], durable: false)
        let past = try Store(path: path).beginInstance(at: now(10))
        #expect(
            past.openRuns.map(\.id.description).sorted()
                == [
                    runs[0].id.description, "a:\(now(1).wall.basicISO8601):2",
                    runs[2].id.description,
                ].sorted())
        #expect(past.openRuns.first { $0.id == runs[0].id }?.firing == runs[0].firing)
        #expect(past.openRuns.allSatisfy { $0.bootID == now(0).bootID })
        let last = RunSummary(
            id: runs[1].id, began: now(2).wall, ended: now(6).wall, outcome: outcome,
            usage: usage, failed: true)
        #expect(past.lastRuns == [last.id.firing.job: last])
    }

    /// Why a run was made is kept with it, whether it has ended or not.
    @Test(arguments: [
        "schedule", "catch-up", "resume", "requested(ada)", "requested-with-variables(ada)",
        "requested[full a%20b](ada)",
    ])
    func whyARunWasMadeIsKept(text: String) throws {
        defer { clean() }
        let cause = try #require(Firing.Cause(text))
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        var ended = run("a", at: 1)
        ended.firing.cause = cause
        var open = run("b", at: 2)
        open.firing.cause = cause
        try store.commit(
            [
                .begin(ended, released: true, at: now(1).wall),
                .begin(open, released: true, at: now(2).wall),
                .close(ended.id, .exited(0), RunUsage(), failed: false, at: now(3).wall),
            ], durable: false)
        #expect(try store.pastRun(ended.id)?.cause == cause)
        #expect(
            try store.history(of: nil, since: nil, failed: false, limit: 9).map(\.cause) == [cause])
        let past = try Store(path: path).beginInstance(at: now(4))
        #expect(past.openRuns.map(\.firing.cause) == [cause])
    }

    @Test func aTextWithANULCharacterIsReadUnchanged() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let note = "disk\0swap"
        let pause = Pause(since: now(1).wall, by: .user("ada"), note: note)
        try store.commit([.save(record("a", phase: .paused(pause)))], durable: true)
        let past = try Store(path: path).beginInstance(at: now(2))
        #expect(past.records.map(\.phase) == [.paused(pause)])
    }

    @Test func aTransactionIsStoredCompletelyOrNotAtAll() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        var bad = record("bad")
        bad.accrued = .seconds(-1)
        #expect(throws: StoreError.self) {
            try store.commit([.save(record("good")), .save(bad)], durable: true)
        }
        #expect(try Store(path: path).beginInstance(at: now(1)).records.isEmpty)
        try store.commit([.save(record("good"))], durable: true)
        #expect(try Store(path: path).beginInstance(at: now(2)).records.count == 1)
    }

    @Test func aChangeThatIsNeverAcceptedIsSkipped_andNoOther() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        var bad = record("bad")
        bad.accrued = .seconds(-1)
        let old = run("a", at: 1)
        try store.commit([.begin(old, released: true, at: now(1).wall)], durable: false)
        let new = run("a", at: 2)
        let (refused, leftOut) = try store.commitWhatIsTaken(
            [
                .save(record("good")), .save(bad), .begin(old, released: true, at: now(2).wall),
                .begin(new, released: true, at: now(2).wall),
            ], isMarked: true)
        #expect(refused == [old.id] && store.identity.generation == 1)
        #expect(leftOut.map(\.change) == [.save(bad)] && leftOut.first?.error.code == .refused)
        let past = try Store(path: path).beginInstance(at: now(3))
        #expect(past.records == [record("good")])
        #expect(past.openRuns.map(\.id) == [old.id, new.id])
    }

    /// The disk becomes full in the middle: all changes are tried again, and then no run may seem
    /// to be stored already.
    @Test func ifTheDiskIsFullNothingIsStored() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.connection.execute("PRAGMA max_page_count = 20", doing: "shrink")
        var bad = record("bad")
        bad.accrued = .seconds(-1)
        let run = run("a", at: 1)
        let changes: [Store.Change] =
            [.begin(run, released: true, at: now(1).wall), .save(bad)]
            + (0..<2000).map { .save(record("job\($0)")) }
        let error = #expect(throws: StoreError.self) { try store.commitWhatIsTaken(changes) }
        #expect(error?.code == .full)
        try store.connection.execute("PRAGMA max_page_count = 100000", doing: "grow")
        #expect(try store.commitWhatIsTaken(changes).refused.isEmpty)
    }

    @Test func eachDatabaseHasAnIdentity_andItsGenerationGrows() throws {
        defer { clean() }
        let store = try Store(path: path)
        #expect(store.identity.id.count == 32 && store.identity.generation == 0)
        try store.commit([.save(record("a"))], isMarked: true, durable: true)
        #expect(store.identity.generation == 1)
        var bad = record("bad")
        bad.accrued = .seconds(-1)
        #expect(throws: StoreError.self) {
            try store.commit([.save(bad)], isMarked: true, durable: true)
        }
        #expect(store.identity.generation == 1)
        #expect(try Store(path: path).identity == store.identity)
        let other = try Store(path: "\(path)-other")
        #expect(other.identity.id != store.identity.id)
    }

    @Test func knowsWhichRunsAreReleased() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let runs = [run("a", at: 1), run("b", at: 2), run("c", at: 3)]
        try store.commit(
            [
                .begin(runs[0], released: true, at: now(1).wall),
                .begin(runs[1], released: false, at: now(1).wall),
                .begin(runs[2], released: false, at: now(1).wall),
                .setReleased([runs[1].id, runs[2].id], true), .setReleased([runs[2].id], false),
            ], durable: true)
        let past = try Store(path: path).recover()
        #expect(past.openRuns.map(\.isReleased) == [true, true, false])
    }

    /// A record of a firing that was decided ahead of the clocks.
    @Test func keepsATimeBeforeAGridPoint() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        var early = record("a")
        early.accrued = .zero - Agenda.aheadMax
        try store.commit([.save(early)], durable: true)
        #expect(try Store(path: path).beginInstance(at: now(1)).records == [early])
        early.accrued -= .nanoseconds(1)
        #expect(throws: StoreError.self) { try store.commit([.save(early)], durable: true) }
    }

    @Test func erasesARecord() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.save(record("a")), .save(record("b"))], durable: true)
        try store.commit([.erase(Job.Name("a")!)], durable: true)
        #expect(
            try Store(path: path).beginInstance(at: now(1)).records.map(\.job.description) == ["b"])
    }

    @Test func aNewDatabaseCanReturnItsFreePages() throws {
        defer { clean() }
        for _ in 0..<2 {
            let store = try Store(path: path)
            #expect(try store.connection.integer("PRAGMA auto_vacuum", doing: "look") == 2)
            #expect(
                try store.connection.integer("PRAGMA user_version", doing: "look")
                    == Int64(Schema.steps.count))
        }
    }

    /// The statements for each firing create no temporary table.
    @Test func writesARecordDirectlyIntoItsTable() throws {
        defer { clean() }
        let store = try Store(path: path)
        var steps: [String] = []
        try store.connection.run("EXPLAIN \(Store.saving)", doing: "explain") { row in
            steps.append(row.text(1) ?? "")
        }
        #expect(steps.contains("Insert") || steps.contains("IdxInsert"))
        #expect(!steps.contains("OpenEphemeral"))
    }

    @Test func refusesALink() throws {
        defer { clean() }
        symlink("/etc/passwd", path)
        #expect(throws: StoreError.self) { try Store(path: path) }
    }

    @Test func aFullDiskIsReportedAsFull() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.connection.execute("PRAGMA max_page_count = 20", doing: "shrink")
        let error = #expect(throws: StoreError.self) {
            try store.commit((0..<2000).map { .save(record("job\($0)")) }, durable: true)
        }
        #expect(error?.code == .full && error?.description.contains("free space") == true)
        #expect(try Store(path: path).beginInstance(at: now(1)).records.isEmpty)
    }
}

extension Store {
    /// Starts an instance of the daemon without records.
    func beginInstance(at now: Now) throws(StoreError) -> RecoveredState {
        let past = try recover()
        try commit([.beginInstance(now)], durable: true)
        return past
    }

    /// Runs all steps of a pass.
    func prune(endedBefore: WallInstant) throws(StoreError) {
        var pruning = Pruning(endedBefore: endedBefore)
        while !pruning.isDone { try pruning.advance(in: self) }
    }

    /// The records of the jobs, without starting an instance.
    func recordsAlone() throws(StoreError) -> [JobRecord] { try jobRecords() }
}
