// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Logging
import Synchronization
import Testing
import TimerCore

@testable import TimerStore
@testable import timerd

/// A recorder with a store of its own, which records the results of requests in their order.
private final class RecorderBench: Sendable {
    let recorder: Recorder
    let folder: String
    private let said = Mutex<[String]>([])
    private let hasSaid = DispatchSemaphore(value: 0)
    let troubles = Mutex<[Bool]>([])
    /// Whether the store can be opened, if it could not at first.
    let isOpenable = Flag()

    /// - Parameters:
    ///   - isThere: whether the store is open from the start.
    ///   - prepare: changes the store before the recorder gets it.
    init(isThere: Bool = true, _ prepare: (Store) throws -> Void = { _ in }) throws {
        folder = "/tmp/timerd-recorder-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        let path = "\(folder)/\(Store.fileName)"
        let log = Logger(label: "recorder") { _ in SwiftLogNoOpLogHandler() }
        let isOpenable = isOpenable
        let clock: @Sendable () -> WallInstant = { WallInstant(secondsSinceEpoch: 1_795_000_100) }
        let open: @Sendable () throws(StoreError) -> sending Store = { () throws(StoreError) in
            guard isOpenable.value.load(ordering: .relaxed) else {
                throw StoreError(code: .full, path: path, what: "cannot open it")
            }
            let store = try Store(path: path)
            store.resume(as: 1)
            return store
        }
        if isThere {
            let store = try Store(path: path)
            _ = try store.recover()
            try store.commit([.beginInstance(Self.now(0))], durable: true)
            try prepare(store)
            // The test does not use the store after this.
            nonisolated(unsafe) let handed = store
            recorder = Recorder(
                store: handed, history: .seconds(10), log: log, wall: clock, open: open)
        } else {
            recorder = Recorder(
                store: nil, history: .seconds(10), log: log, wall: clock, open: open)
        }
        recorder.follow(
            Recorder.Followers { [self] trouble in
                troubles.withLock { $0.append(trouble != nil) }
            })
    }

    final class Flag: Sendable {
        let value = Atomic(false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    static func now(_ second: Int64) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + second),
            awake: AwakeInstant(nanoseconds: second * 1_000_000_000),
            boot: BootInstant(nanoseconds: second * 1_000_000_000),
            bootID: BootID("0123456789abcdef0123456789abcdef")!)
    }

    static func run(_ name: String, at second: Int64) -> Run {
        let job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.seconds(60)))
        let id = Firing.ID(job: job.name, scheduled: now(second).wall)
        return Run(firing: Firing(id: id, missed: 0, active: .zero), job: job)
    }

    static func record(_ name: String, accrued: Int64 = 5) -> JobRecord {
        JobRecord(
            job: Job.Name(name)!, phase: .armed, active: .nanoseconds(7),
            accrued: .nanoseconds(accrued), isCounting: true, firings: 4, lastScheduled: nil,
            configuredPaused: false, removed: nil, at: now(9), instance: 1)
    }

    /// Submits changes; their result is recorded under this name.
    func keep(_ name: String, _ changes: [Store.Change], durable: Bool = false) {
        recorder.write(changes, durable: durable) { [self] refused in
            say(refused.isEmpty ? name : "\(name) without \(refused.count)")
        } onDelayed: { [self] _ in
            say("\(name) delayed")
        }
    }

    private func say(_ text: String) {
        said.withLock { $0.append(text) }
        hasSaid.signal()
    }

    /// The first results, or those that there are after a while.
    func heard(_ count: Int) -> [String] {
        let deadline = DispatchTime.now() + .seconds(20)
        while said.withLock({ $0.count }) < count {
            guard hasSaid.wait(timeout: deadline) == .success else { break }
        }
        return said.withLock { Array($0.prefix(count)) }
    }

    /// Uses the recorder's store on its queue, after all submitted work.
    func withStore<Value: Sendable>(
        _ body: @escaping @Sendable (Store) throws(StoreError) -> Value
    ) throws -> Value {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Value, StoreError>?>(nil)
        recorder.read({ (_) throws(StoreError) in }) { [recorder] found in
            recorder.later { recorder in
                let value = found.flatMap { () -> Result<Value, StoreError> in
                    guard let store = recorder.store else { return .failure(Self.noStore) }
                    do throws(StoreError) {
                        return .success(try body(store))
                    } catch {
                        return .failure(error)
                    }
                }
                result.withLock { $0 = value }
                done.signal()
            }
        }
        done.wait()
        return try #require(result.withLock { $0 }).get()
    }

    private static let noStore = StoreError(code: .other, path: "", what: "there is no store")

    /// Fills the disk, by not allowing further pages, or frees it again.
    func setFull(_ isFull: Bool) throws {
        try withStore { (store) throws(StoreError) in
            let most = isFull ? 1 : 1_000_000
            try store.connection.execute("PRAGMA max_page_count = \(most)", doing: "resize")
        }
    }

    func count(_ sql: String) throws -> Int64? {
        try withStore { (store) throws(StoreError) in
            try store.connection.integer(sql, doing: "count")
        }
    }

    /// Changes that need new pages.
    static let large: [Store.Change] = (0..<64).map { .save(record("large-\($0)")) }
}

@Suite struct RecorderTests {
    /// A long reading delays neither writes nor questions about their progress.
    @Test func aReaderDelaysNoWrite() throws {
        let bench = try RecorderBench()
        let (began, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let found = Mutex<[Int64?]>([])
        let ended = DispatchSemaphore(value: 0)
        for isFirst in [true, false] {
            bench.recorder.read { (store) throws(StoreError) in
                if isFirst {
                    // The reader sees the present state of the database.
                    let count = try store.connection.integer("SELECT count(*) FROM job", doing: "")
                    began.signal()
                    mayEnd.wait()
                    return count
                }
                return try store.connection.integer("SELECT count(*) FROM job", doing: "")
            } _: { result in
                found.withLock { $0.append((try? result.get()) ?? nil) }
                ended.signal()
            }
            if isFirst { began.wait() }
            let kept = DispatchSemaphore(value: 0)
            for number in 0..<200 {
                bench.recorder.write([.save(RecorderBench.record("j\(number)"))], durable: true) {
                    _ in
                    kept.signal()
                }
            }
            for _ in 0..<200 { #expect(kept.wait(timeout: .now() + 20) == .success) }
        }
        mayEnd.signal()
        for _ in 0..<2 { #expect(ended.wait(timeout: .now() + 20) == .success) }
        #expect(found.withLock { $0 } == [0, 200])
    }

    @Test func readingsHaveALimit() throws {
        let bench = try RecorderBench()
        let (began, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let path = "\(bench.folder)/\(Store.fileName)"
        let reader = StoreReader()
        let refused = Mutex(0)
        let ended = DispatchSemaphore(value: 0)
        for number in 0..<StoreReader.waitingMax + 10 {
            reader.read(path) { (_) throws(StoreError) in
                guard number == 0 else { return }
                began.signal()
                mayEnd.wait()
            } _: { result in
                if case .failure(let error) = result, error.code == .busy {
                    refused.withLock { $0 += 1 }
                }
                ended.signal()
            }
            if number == 0 { began.wait() }
        }
        #expect(refused.withLock { $0 } == 10)
        mayEnd.signal()
        for _ in 0..<StoreReader.waitingMax + 10 { ended.wait() }
        #expect(refused.withLock { $0 } == 10)
    }

    @Test func aReaderWritesNothing_andEndsInTime() throws {
        let bench = try RecorderBench()
        let store = try Store(readingBeside: "\(bench.folder)/\(Store.fileName)")
        #expect(throws: StoreError.self) {
            try store.connection.execute("DELETE FROM job", doing: "write to it")
        }
        store.limit(to: .milliseconds(50))
        let endless =
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
        do throws(StoreError) {
            _ = try store.connection.integer(endless, doing: "count")
            Issue.record("it was not ended")
        } catch {
            #expect(error.code == .busy)
        }
        store.limit(to: .seconds(20))
        #expect(try store.connection.integer("SELECT count(*) FROM job", doing: "count") == 0)
    }

    private typealias Bench = RecorderBench

    @Test func keptIsCalledInTheOrderItCame() throws {
        let bench = try RecorderBench()
        for number in 0..<200 {
            bench.keep("\(number)", [.save(RecorderBench.record("job-\(number % 7)"))])
        }
        #expect(bench.heard(200) == (0..<200).map { "\($0)" })
    }

    @Test func durableRequestsFinishInTheirOrder_afterTheirSync() throws {
        let bench = try RecorderBench()
        for number in 0..<50 {
            bench.keep("\(number)", [.save(RecorderBench.record("a"))], durable: true)
        }
        #expect(bench.heard(50) == (0..<50).map { "\($0)" })
    }

    /// While the disk is full, no run starts and no command is answered. When there is room again,
    /// all happen in their order.
    @Test func withAFullDiskEverythingWaits_andGoesOnWhenThereIsRoom() throws {
        let bench = try RecorderBench()
        try bench.setFull(true)
        bench.keep("large", RecorderBench.large)
        #expect(bench.heard(1) == ["large delayed"])
        let run = RecorderBench.run("a", at: 1)
        bench.keep("run", [.begin(run, at: RecorderBench.now(1).wall)])
        bench.keep("order", [.save(RecorderBench.record("a"))], durable: true)
        #expect(bench.heard(3) == ["large delayed", "run delayed", "order delayed"])
        #expect(bench.troubles.withLock { $0 } == [true])
        #expect(try bench.count("SELECT count(*) FROM run") == 0)
        try bench.setFull(false)
        #expect(bench.heard(6).suffix(3) == ["large", "run", "order"])
        #expect(bench.troubles.withLock { $0 } == [true, false])
        #expect(try bench.count("SELECT count(*) FROM run WHERE outcome IS NULL") == 1)
    }

    @Test func aRowThatIsNeverTakenHoldsUpNoOther() throws {
        let bench = try RecorderBench()
        let run = RecorderBench.run("a", at: 1)
        bench.keep("first", [.begin(run, at: RecorderBench.now(1).wall)])
        bench.keep(
            "bad",
            [.save(RecorderBench.record("bad", accrued: -1)), .save(RecorderBench.record("b"))])
        bench.keep("again", [.begin(run, at: RecorderBench.now(2).wall)])
        bench.keep("last", [.save(RecorderBench.record("c"))], durable: true)
        let heard = bench.heard(4).map { String($0.prefix { $0 != " " }) }
        #expect(heard == ["first", "bad", "again", "last"])
        #expect(try bench.count("SELECT count(*) FROM job") == 2)
        #expect(try bench.count("SELECT count(*) FROM run") == 1)
    }

    /// The same row is refused while the disk is full: all of the request is tried again later, and
    /// no run may seem to exist from before.
    @Test func aRefusedRowAndAFullDiskTogetherLoseNoRun() throws {
        let bench = try RecorderBench()
        try bench.setFull(true)
        let run = RecorderBench.run("a", at: 1)
        bench.keep(
            "all",
            [
                .begin(run, at: RecorderBench.now(1).wall),
                .save(RecorderBench.record("bad", accrued: -1)),
            ]
                + RecorderBench.large)
        #expect(bench.heard(1) == ["all delayed"])
        try bench.setFull(false)
        #expect(bench.heard(2).last == "all", "the run was not refused")
    }

    /// The log cannot be synced, but the checkpoint that replaces this can be.
    @Test func aSyncThatFailsIsMadeUpForByACheckpoint() throws {
        let bench = try RecorderBench { store in
            // The name of the log leads nowhere, so the recorder cannot open it to sync it.
            let wal = "\(store.connection.path)-wal"
            unlink(wal)
            symlink("/nowhere", wal)
        }
        bench.keep("order", [.save(RecorderBench.record("a"))], durable: true)
        #expect(bench.heard(1) == ["order"])
    }

    /// Neither the log nor the database can be synced: commands wait, and are answered once one of
    /// them can.
    @Test func withoutAnySyncOrdersWait_andRunsGoOn() throws {
        var reader: Connection?
        let bench = try RecorderBench { store in
            try store.connection.execute("PRAGMA busy_timeout = 0", doing: "never wait")
            // Another connection reads the present state, so the checkpoint cannot complete.
            let other = try Connection(path: store.connection.path)
            try other.execute("BEGIN; SELECT count(*) FROM job", doing: "read")
            reader = other
            let wal = "\(store.connection.path)-wal"
            unlink(wal)
            symlink("/nowhere", wal)
        }
        bench.keep("order", [.save(RecorderBench.record("a"))], durable: true)
        #expect(bench.heard(1) == ["order delayed"])
        bench.keep("run", [.begin(RecorderBench.run("a", at: 1), at: RecorderBench.now(1).wall)])
        #expect(bench.heard(2).last == "run")
        try reader?.execute("ROLLBACK", doing: "end")
        #expect(bench.heard(3).last == "order")
    }

    /// The log is written into the database while records are written, also during a write in many
    /// steps.
    @Test func ofVeryManyAccountsTheLogStaysShort() throws {
        let bench = try RecorderBench()
        // The size of the log is checked from the first sync on.
        bench.keep("order", [], durable: true)
        #expect(bench.heard(1) == ["order"])
        let log = "\(bench.folder)/\(Store.fileName)-wal"
        let limit = try bench.withStore { (store) throws(StoreError) in store.logBytes }
        let done = DispatchSemaphore(value: 0)
        var most: Int64 = 0
        bench.recorder.keepTogether(
            (0..<100_000).map { [.save(RecorderBench.record("job-\($0)"))] }, durable: true
        ) { _ in
            done.signal()
        } onDelayed: { _ in
        }
        let end = DispatchTime.now() + .seconds(60)
        while done.wait(timeout: .now()) != .success, DispatchTime.now() < end {
            var status = stat()
            if stat(log, &status) == 0 { most = max(most, Int64(status.st_size)) }
        }
        bench.keep("last", [], durable: true)
        #expect(bench.heard(2) == ["order", "last"])
        let count = try bench.withStore { (store) throws(StoreError) in
            try store.jobRecords().count
        }
        #expect(count == 100_000)
        #expect(most < limit * 2, "it was \(most) bytes long")
    }

    @Test func aDurableRequestAfterAFailedOneWaitsForIt() throws {
        let bench = try RecorderBench()
        try bench.setFull(true)
        bench.keep("large", RecorderBench.large)
        bench.keep("order", [], durable: true)
        #expect(bench.heard(2) == ["large delayed", "order delayed"])
        try bench.setFull(false)
        #expect(bench.heard(4) == ["large delayed", "order delayed", "large", "order"])
    }

    /// While nothing can be written, only the newest record of each job is kept; changes with a run
    /// are all kept.
    @Test func aHundredThousandThatWaitAreWrittenInTime() throws {
        let bench = try RecorderBench()
        try bench.setFull(true)
        bench.keep("large", RecorderBench.large)
        #expect(bench.heard(1) == ["large delayed"])
        let count = 130_000
        for number in 0..<count {
            bench.recorder.write([.save(RecorderBench.record("job-\(number % 10)"))])
        }
        bench.keep("run", [.begin(RecorderBench.run("a", at: 1), at: RecorderBench.now(1).wall)])
        #expect(bench.heard(2).last == "run delayed")
        let begun = DispatchTime.now()
        try bench.setFull(false)
        #expect(bench.heard(4).suffix(2) == ["large", "run"])
        let taken = Double(DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds) / 1e9
        print("130 000 requests that waited: \(taken) s")
        #expect(try bench.count("SELECT count(*) FROM job WHERE name LIKE 'job-%'") == 10)
        #expect(try bench.count("SELECT count(*) FROM run") == 1)
    }

    /// A store that cannot be opened yet is tried each second, and nothing is lost meanwhile.
    @Test func aStoreThatCannotBeOpenedYetIsOpenedLater() throws {
        let bench = try RecorderBench(isThere: false)
        bench.keep(
            "begin", [.beginInstance(RecorderBench.now(0)), .save(RecorderBench.record("a"))],
            durable: true)
        #expect(bench.heard(1) == ["begin delayed"])
        #expect(throws: (any Error).self) { try bench.count("SELECT 1") }
        bench.isOpenable.value.store(true, ordering: .relaxed)
        #expect(bench.heard(2) == ["begin delayed", "begin"])
        #expect(try bench.count("SELECT count(*) FROM instance WHERE id = 1") == 1)
    }

    /// What would be lost if the daemon ended at this moment.
    @Test func unwrittenRecordsAreCounted() throws {
        let bench = try RecorderBench()
        let done = DispatchSemaphore(value: 0)
        let found = Mutex<[Unwritten?]>([])
        let ask = {
            bench.recorder.unwritten { unwritten in
                found.withLock { $0.append(unwritten) }
                done.signal()
            }
            done.wait()
        }
        ask()
        try bench.setFull(true)
        bench.keep("large", RecorderBench.large)
        let run = RecorderBench.run("a", at: 1)
        bench.keep("run", [.begin(run, at: RecorderBench.now(1).wall)])
        bench.keep(
            "end",
            [.close(run.id, .exited(0), RunUsage(), failed: false, at: RecorderBench.now(2).wall)])
        _ = bench.heard(3)
        ask()
        let counts = found.withLock { $0 }
        #expect(counts.count == 2 && counts[0] == nil)
        let last = try #require(counts.last ?? nil)
        #expect(last.jobs == 64 && last.starts == 1 && last.ends == 1)
        #expect(last.error.code == .full)
        #expect(
            "\(last)".contains("the changes since then of 64 jobs, the ends of 1 run, and 1 run"))
    }

    @Test func eachDatabaseIsMarkedOnceInASecondInWhichSomethingIsWritten() throws {
        let bench = try RecorderBench()
        let marks = Mutex<[Int64]>([])
        bench.recorder.follow(
            Recorder.Followers(marked: { mark in marks.withLock { $0.append(mark) } }))
        for number in 0..<100 { bench.keep("\(number)", [.save(RecorderBench.record("a"))]) }
        _ = bench.heard(100)
        #expect(marks.withLock { $0 } == [1])
        let settled = DispatchSemaphore(value: 0)
        let identity = Mutex<Store.Identity?>(nil)
        bench.recorder.whenDurable { found in
            identity.withLock { $0 = found?.0 }
            settled.signal()
        }
        settled.wait()
        #expect(identity.withLock { $0?.generation } == 1)
    }
}
