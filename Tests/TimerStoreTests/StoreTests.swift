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
    private let folder = "/tmp/timerd-store-\(UUID().uuidString)"
    private var path: String { "\(folder)/\(Store.fileName)" }

    init() { mkdir(folder, 0o700) }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func now(_ second: Int64, boot: String = "0123456789abcdef0123456789abcdef") -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + second),
            awake: AwakeInstant(nanoseconds: second * 1_000_000_000),
            boot: BootInstant(nanoseconds: second * 1_000_000_000), bootID: BootID(boot)!)
    }

    private func run(_ name: String, at second: Int64, attempt: Int = 1) -> Run {
        let job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(60)))
        let id = Firing.ID(job: job.name, scheduled: now(second).wall)
        let firing = Firing(id: id, missed: 3, active: .nanoseconds(123_456_789))
        return Run(firing: firing, attempt: attempt, job: job)
    }

    private func record(_ name: String, phase: Phase = .armed, instance: DaemonInstance.ID = 1)
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
        #expect(past.previous?.ended == now(5) && past.ending(at: now(10)) == .clean)
    }

    @Test func aRunIsWrittenOnce_openUntilItIsClosed() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let runs = [run("a", at: 1), run("a", at: 2), run("b", at: 1)]
        #expect(try store.commit(runs.map { .begin($0, at: now(1).wall) }, durable: false).isEmpty)
        #expect(
            try store.commit([.begin(runs[0], at: now(2).wall)], durable: false) == [runs[0].id],
            "a firing cannot be stored twice")
        #expect(
            try store.commit([.begin(run("a", at: 1, attempt: 2), at: now(2).wall)], durable: false)
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

    @Test func failedRunsAreThoseThatWereJudgedAsFailed() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        for second in 1...6 {
            let run = run(second % 2 == 0 ? "a" : "b", at: Int64(second))
            // The exit code alone does not decide this.
            try store.commit(
                [
                    .begin(run, at: now(1).wall),
                    .close(
                        run.id, .exited(second < 4 ? 1 : 0), RunUsage(), failed: second > 2,
                        at: now(Int64(second)).wall),
                ], durable: false)
        }
        func failed(
            _ job: String?, since second: Int64 = 0, until last: Int64? = nil, limit: Int = 10
        ) throws -> [Int64] {
            let range = Store.HistoryRange(
                job: job.flatMap { Job.Name($0) }, since: now(second).wall,
                until: last.map { now($0).wall }, limit: limit)
            return try store.history(range, failed: true).map {
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

    /// Why a run was made is kept with it, whether it has ended or not.
    @Test(arguments: [
        "schedule", "catch-up", "resume", "requested(ada)", "requested-with-variables(ada)",
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
                .begin(ended, at: now(1).wall), .begin(open, at: now(2).wall),
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
        bad.accrued = .nanoseconds(-1)
        #expect(throws: StoreError.self) {
            try store.commit([.save(record("good")), .save(bad)], durable: true)
        }
        #expect(try Store(path: path).beginInstance(at: now(1)).records.isEmpty)
        try store.commit([.save(record("good"))], durable: true)
        #expect(try Store(path: path).beginInstance(at: now(2)).records.count == 1)
    }

    @Test func theHistoryIsPruned_exceptEachJobsLatestRun() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        for second in 1...10 {
            let run = run("a", at: Int64(second))
            try store.commit(
                [
                    .begin(run, at: now(1).wall),
                    .close(
                        run.id, .exited(0), RunUsage(), failed: false, at: now(Int64(second)).wall),
                ], durable: false)
        }
        try store.commit([.begin(run("b", at: 1), at: now(1).wall)], durable: false)
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
                .begin(run, at: now(end.second).wall), .save(record(end.job)),
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
                .save(record("a")), .begin(ended, at: now(1).wall),
                .close(ended.id, .exited(3), RunUsage(), failed: true, at: now(1).wall),
                .begin(active, at: now(2).wall), .begin(waiting, at: now(3).wall),
            ], durable: false)
        let renamed = waiting.id.renamed(new)
        try store.commit(
            [
                .rename(Renaming(from: old, to: new, waiting: [waiting.id])), .save(record("b")),
                // Another job uses the old name now.
                .begin(run("a", at: 4), at: now(4).wall),
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
                    .begin(run, at: now(Int64(second)).wall),
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

    @Test func aChangeThatIsNeverAcceptedIsSkipped_andNoOther() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        var bad = record("bad")
        bad.accrued = .nanoseconds(-1)
        let old = run("a", at: 1)
        try store.commit([.begin(old, at: now(1).wall)], durable: false)
        let new = run("a", at: 2)
        let (refused, leftOut) = try store.commitWhatIsTaken([
            .save(record("good")), .save(bad), .begin(old, at: now(2).wall),
            .begin(new, at: now(2).wall), .mark,
        ])
        #expect(refused == [old.id])
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
        bad.accrued = .nanoseconds(-1)
        let run = run("a", at: 1)
        let changes: [Store.Change] =
            [.begin(run, at: now(1).wall), .save(bad)]
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
        try store.commit([.mark, .save(record("a"))], durable: true)
        #expect(store.identity.generation == 1)
        var bad = record("bad")
        bad.accrued = .nanoseconds(-1)
        #expect(throws: StoreError.self) { try store.commit([.mark, .save(bad)], durable: true) }
        #expect(store.identity.generation == 1)
        #expect(try Store(path: path).identity == store.identity)
        let other = try Store(path: "\(path)-other")
        #expect(other.identity.id != store.identity.id)
    }

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

    @Test func erasesARecord() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.save(record("a")), .save(record("b"))], durable: true)
        try store.commit([.erase(Job.Name("a")!)], durable: true)
        #expect(
            try Store(path: path).beginInstance(at: now(1)).records.map(\.job.description) == ["b"])
    }

    /// Copies the files as they would be after a power failure, as far as they are written.
    private func copy(_ endings: [String]) throws -> String {
        let copy = "\(path)-copy"
        for ending in endings {
            try? FileManager.default.removeItem(atPath: copy + ending)
            try FileManager.default.copyItem(atPath: path + ending, toPath: copy + ending)
        }
        return copy
    }

    @Test func commitsAreInTheSyncedLog() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let log = try store.log()
        for name in ["a", "b"] {
            try store.commit([.save(record(name))], durable: false)
            try log.sync()
        }
        let copy = try copy(["", "-wal"])
        let names = try Store(path: copy).beginInstance(at: now(1)).records.map(\.job.description)
        #expect(names.sorted() == ["a", "b"])
    }

    @Test func aCheckpointWritesEverythingIntoTheDatabaseItself() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        try store.commit([.save(record("a"))], durable: false)
        try store.checkpoint()
        let copy = try copy([""])
        #expect(
            try Store(path: copy).beginInstance(at: now(1)).records.map(\.job.description) == ["a"])
        // The log continues from its beginning, and is the same file.
        let log = try store.log()
        try store.commit([.save(record("b"))], durable: false)
        try log.sync()
        #expect(try Store(path: path).beginInstance(at: now(2)).records.count == 2)
    }

    @Test func aLogThatIsALinkIsNotFollowed() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        unlink("\(path)-wal")
        symlink("/etc/passwd", "\(path)-wal")
        #expect(throws: StoreError.self) { try store.log() }
    }

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
            _ = try old.beginInstance(at: now(0))
            try old.commit([.save(record("a"))], durable: true)
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

    @Test func aNewDatabaseCanReturnItsFreePages() throws {
        defer { clean() }
        for _ in 0..<2 {
            let store = try Store(path: path)
            #expect(try store.connection.integer("PRAGMA auto_vacuum", doing: "look") == 2)
            #expect(try store.connection.integer("PRAGMA user_version", doing: "look") == 1)
        }
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
        try store.commit([.begin(run("a", at: 1), at: now(1).wall)], durable: true)
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
        _ = (past.ending(at: now(10)), past.previous)
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

    @Test func theLatestEndedRunOfEachJobIsFound() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        for name in ["a", "b", "c.d", "e"] {
            for second in 1...3 {
                let runs = [run(name, at: Int64(second)), run(name, at: Int64(second), attempt: 2)]
                try store.commit(runs.map { .begin($0, at: now(1).wall) }, durable: false)
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

    /// However much is written to it, the log is always extended and its old pages are never
    /// overwritten, because they may be only on the disk by then and would have to be read first.
    /// Without a checkpointer the log becomes sixteen times as long.
    @Test(arguments: [true, false])
    func theLogIsEmptyAfterACheckpoint(hasCheckpointer: Bool) throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let checkpointer = hasCheckpointer ? try LogCheckpointer(path: path) : nil
        #expect(store.logBytes == 4 << 20)
        var (last, most, shrinks) = (Int64(0), Int64(0), 0)
        for number in 0..<(hasCheckpointer ? 6000 : 24_000) {
            try store.commit([.save(record("job-\(number % 10)"))], durable: false)
            let size = logFileSize
            #expect(size == store.logSize + 32, "a file has a header as well")
            if size < last / 2 { shrinks += 1 }
            if size >= store.logBytes { try checkpointer?.run() }
            (last, most) = (size, max(most, size))
        }
        #expect(shrinks >= 1, "it is \(last) bytes long")
        let limit = store.logBytes * (hasCheckpointer ? 1 : 16)
        #expect(most >= limit && most < limit + limit / 16, "it was \(most) bytes long")
    }

    private var logFileSize: Int64 {
        var status = stat()
        return stat("\(path)-wal", &status) == 0 ? Int64(status.st_size) : 0
    }

    /// While very much is written the file keeps its length, and what is in it is counted all the same.
    @Test func aLogWhoseFileIsKeptBeginsAgainInIt() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let checkpointer = try LogCheckpointer(path: path)
        func fill() throws {
            var number = 0
            while store.logSize < store.logBytes {
                try store.commit([.save(record("job-\(number % 10)"))], durable: false)
                number += 1
            }
            try checkpointer.run()
            try store.commit([.save(record("job-0"))], durable: false)
        }
        try store.keepLogFile(true)
        try fill()
        #expect(store.logSize < store.logBytes / 2 && logFileSize >= store.logBytes)
        try store.keepLogFile(false)
        try fill()
        #expect(store.logSize < store.logBytes / 2 && logFileSize == store.logSize + 32)
    }

    /// Changes that are committed during a checkpoint stay in the log.
    @Test func commitsDuringACheckpointAreKept() throws {
        defer { clean() }
        let store = try Store(path: path)
        _ = try store.beginInstance(at: now(0))
        let path = path
        let isOver = Atomic(false)
        let done = DispatchSemaphore(value: 0)
        let failure = Mutex<StoreError?>(nil)
        DispatchQueue(label: "checkpoints").async {
            defer { done.signal() }
            do throws(StoreError) {
                let checkpointer = try LogCheckpointer(path: path)
                repeat { try checkpointer.run() } while !isOver.load(ordering: .acquiring)
            } catch {
                failure.withLock { $0 = error }
            }
        }
        for number in 0..<2000 {
            try store.commit([.save(record("job-\(number)"))], durable: false)
        }
        isOver.store(true, ordering: .releasing)
        done.wait()
        #expect(failure.withLock { $0 } == nil)
        #expect(try Store(path: path).recover().records.count == 2000)
    }
}

extension Store {
    /// Starts an instance of the daemon without records.
    fileprivate func beginInstance(at now: Now) throws(StoreError) -> RecoveredState {
        let past = try recover()
        try commit([.beginInstance(now)], durable: true)
        return past
    }

    /// Runs all steps of a pass.
    fileprivate func prune(endedBefore: WallInstant) throws(StoreError) {
        var pruning = Pruning(endedBefore: endedBefore)
        while !pruning.isDone { try pruning.advance(in: self) }
    }

    /// The records of the jobs, without starting an instance.
    fileprivate func recordsAlone() throws(StoreError) -> [JobRecord] { try jobRecords() }
}
