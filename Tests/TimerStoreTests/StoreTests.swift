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
            #expect(try store.connection.integer("PRAGMA user_version", doing: "look") == 1)
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
