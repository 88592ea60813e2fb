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

@Suite struct RecorderTests {
    typealias Bench = RecorderBench

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
        bench.recorder.writeTogether(
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
