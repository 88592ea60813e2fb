// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostQueues
import Logging
import Synchronization
import Testing
import TimerCore

@testable import TimerStore
@testable import TimerRecording

@Suite struct RecorderTests {
    typealias Fixture = RecorderFixture

    @Test func keptIsCalledInTheOrderItCame() throws {
        let fixture = try RecorderFixture()
        for number in 0..<200 {
            fixture.keep("\(number)", [.save(RecorderFixture.record("job-\(number % 7)"))])
        }
        #expect(fixture.heard(200) == (0..<200).map { "\($0)" })
    }

    /// A run that need not be on the disk starts after the one before it that must be: what is decided
    /// next relies on all runs up to it. Other writes wait for no fsync.
    @Test func startsKeepTheirOrder_andNothingElseWaitsForTheirFsync() throws {
        let fixture = try RecorderFixture()
        @Sendable func start(_ name: String, durable: Bool) {
            let record = RecorderFixture.record(name)
            fixture.keep(name, [.save(record)], durable: durable, keepsOrder: true)
        }
        for round in 0..<50 {
            // Together, so that all of them are in one transaction.
            fixture.recorder.later { _ in
                start("strict", durable: true)
                start("relaxed", durable: false)
                fixture.keep("other", [.save(RecorderFixture.record("other"))])
            }
            let heard = fixture.heard(3 * round + 3).suffix(3)
            #expect(heard == ["other", "strict", "relaxed"])
        }
        start("alone", durable: false)
        #expect(fixture.heard(151).last == "alone")
    }

    /// With a full disk a start waits like everything else.
    @Test func aStartDoesNotOvertakeWhatCannotBeWritten() throws {
        let fixture = try RecorderFixture()
        try fixture.setFull(true)
        fixture.keep("large", RecorderFixture.large)
        #expect(fixture.heard(1) == ["large delayed"])
        fixture.keep("start", [], keepsOrder: true)
        #expect(fixture.heard(2) == ["large delayed", "start delayed"])
        try fixture.setFull(false)
        #expect(fixture.heard(4).suffix(2) == ["large", "start"])
    }

    @Test func aReadingComesAfterAllEarlierWrites() throws {
        let fixture = try RecorderFixture()
        for number in 1...20 {
            fixture.keep("\(number)", [.save(RecorderFixture.record("j\(number)"))])
            #expect(try fixture.count("SELECT count(*) FROM job") == Int64(number))
        }
    }

    @Test func durableRequestsFinishInTheirOrder_afterTheirSync() throws {
        let fixture = try RecorderFixture()
        for number in 0..<50 {
            fixture.keep("\(number)", [.save(RecorderFixture.record("a"))], durable: true)
        }
        #expect(fixture.heard(50) == (0..<50).map { "\($0)" })
    }

    /// While the disk is full, no run starts and no command is answered. When there is room again,
    /// all happen in their order.
    @Test func withAFullDiskEverythingWaits_andGoesOnWhenThereIsRoom() throws {
        let fixture = try RecorderFixture()
        try fixture.setFull(true)
        fixture.keep("large", RecorderFixture.large)
        #expect(fixture.heard(1) == ["large delayed"])
        let run = RecorderFixture.run("a", at: 1)
        fixture.keep("run", [.begin(run, released: true, at: RecorderFixture.now(1).wall)])
        fixture.keep("order", [.save(RecorderFixture.record("a"))], durable: true)
        #expect(fixture.heard(3) == ["large delayed", "run delayed", "order delayed"])
        #expect(fixture.errors.withLock { $0 } == [true])
        #expect(try fixture.count("SELECT count(*) FROM run") == 0)
        try fixture.setFull(false)
        #expect(fixture.heard(6).suffix(3) == ["large", "run", "order"])
        #expect(fixture.errors.withLock { $0 } == [true, false])
        #expect(try fixture.count("SELECT count(*) FROM run WHERE outcome IS NULL") == 1)
    }

    @Test func aRowThatIsNeverTakenHoldsUpNoOther() throws {
        let fixture = try RecorderFixture()
        let run = RecorderFixture.run("a", at: 1)
        fixture.keep("first", [.begin(run, released: true, at: RecorderFixture.now(1).wall)])
        fixture.keep(
            "bad",
            [
                .save(RecorderFixture.record("bad", accrued: -1_000_000_000)),
                .save(RecorderFixture.record("b")),
            ])
        fixture.keep("again", [.begin(run, released: true, at: RecorderFixture.now(2).wall)])
        fixture.keep("last", [.save(RecorderFixture.record("c"))], durable: true)
        let heard = fixture.heard(4).map { String($0.prefix { $0 != " " }) }
        #expect(heard == ["first", "bad", "again", "last"])
        #expect(fixture.log.all.count == 1)
        #expect(
            fixture.log.all.first?.hasSuffix("; not saved: the time record of job bad") == true)
        #expect(try fixture.count("SELECT count(*) FROM job") == 2)
        #expect(try fixture.count("SELECT count(*) FROM run") == 1)
    }

    /// The same row is refused while the disk is full: all of the request is tried again later, and
    /// no run may seem to exist from before.
    @Test func aRefusedRowAndAFullDiskTogetherLoseNoRun() throws {
        let fixture = try RecorderFixture()
        try fixture.setFull(true)
        let run = RecorderFixture.run("a", at: 1)
        fixture.keep(
            "all",
            [
                .begin(run, released: true, at: RecorderFixture.now(1).wall),
                .save(RecorderFixture.record("bad", accrued: -1_000_000_000)),
            ]
                + RecorderFixture.large)
        #expect(fixture.heard(1) == ["all delayed"])
        try fixture.setFull(false)
        #expect(fixture.heard(2).last == "all", "the run was not refused")
    }

    /// The log cannot be synced, but the checkpoint that replaces this can be.
    @Test func aSyncThatFailsIsMadeUpForByACheckpoint() throws {
        let fixture = try RecorderFixture { store in
            // The name of the log leads nowhere, so the recorder cannot open it to sync it.
            let wal = "\(store.connection.path)-wal"
            unlink(wal)
            symlink("/nowhere", wal)
        }
        fixture.keep("order", [.save(RecorderFixture.record("a"))], durable: true)
        #expect(fixture.heard(1) == ["order"])
    }

    /// Neither the log nor the database can be synced: commands wait, and are answered once one of
    /// them can.
    @Test func withoutAnySyncOrdersWait_andRunsGoOn() throws {
        var reader: Connection?
        let fixture = try RecorderFixture { store in
            try store.connection.execute("PRAGMA busy_timeout = 0", doing: "never wait")
            // Another connection reads the present state, so the checkpoint cannot complete.
            let other = try Connection(path: store.connection.path)
            try other.execute("BEGIN; SELECT count(*) FROM job", doing: "read")
            reader = other
            let wal = "\(store.connection.path)-wal"
            unlink(wal)
            symlink("/nowhere", wal)
        }
        fixture.keep("order", [.save(RecorderFixture.record("a"))], durable: true)
        #expect(fixture.heard(1) == ["order delayed"])
        fixture.keep(
            "run",
            [
                .begin(
                    RecorderFixture.run("a", at: 1), released: true, at: RecorderFixture.now(1).wall
                )
            ])
        #expect(fixture.heard(2).last == "run")
        try reader?.execute("ROLLBACK", doing: "end")
        #expect(fixture.heard(3).last == "order")
    }

    /// The log is written into the database while records are written, also during a write in many
    /// steps.
    @Test func ofVeryManyAccountsTheLogStaysShort() throws {
        let fixture = try RecorderFixture()
        // The size of the log is checked from the first sync on.
        fixture.keep("order", [], durable: true)
        #expect(fixture.heard(1) == ["order"])
        let log = "\(fixture.folder)/\(Store.fileName)-wal"
        let limit = try fixture.withStore { (store) throws(StoreError) in store.logBytes }
        let done = DispatchSemaphore(value: 0)
        var most: Int64 = 0
        fixture.recorder.writeAtomically(
            (0..<100_000).map { [.save(RecorderFixture.record("job-\($0)"))] }, durable: true
        ) { _ in
            done.signal()
        } onDelayed: { _ in
        }
        let end = DispatchTime.now() + .seconds(60)
        while done.wait(timeout: .now()) != .success, DispatchTime.now() < end {
            var status = stat()
            if stat(log, &status) == 0 { most = max(most, Int64(status.st_size)) }
        }
        fixture.keep("last", [], durable: true)
        #expect(fixture.heard(2) == ["order", "last"])
        let count = try fixture.withStore { (store) throws(StoreError) in
            try store.jobRecords().count
        }
        #expect(count == 100_000)
        #expect(most < limit * 2, "it was \(most) bytes long")
    }

    @Test func aDurableRequestAfterAFailedOneWaitsForIt() throws {
        let fixture = try RecorderFixture()
        try fixture.setFull(true)
        fixture.keep("large", RecorderFixture.large)
        fixture.keep("order", [], durable: true)
        #expect(fixture.heard(2) == ["large delayed", "order delayed"])
        try fixture.setFull(false)
        #expect(fixture.heard(4) == ["large delayed", "order delayed", "large", "order"])
    }

    /// While nothing can be written, only the newest record of each job is kept; changes with a run
    /// are all kept.
    @Test func aHundredThousandThatWaitAreWrittenInTime() throws {
        let fixture = try RecorderFixture()
        try fixture.setFull(true)
        fixture.keep("large", RecorderFixture.large)
        #expect(fixture.heard(1) == ["large delayed"])
        let count = 130_000
        for number in 0..<count {
            fixture.recorder.write([.save(RecorderFixture.record("job-\(number % 10)"))])
        }
        fixture.keep(
            "run",
            [
                .begin(
                    RecorderFixture.run("a", at: 1), released: true, at: RecorderFixture.now(1).wall
                )
            ])
        #expect(fixture.heard(2).last == "run delayed")
        let begun = DispatchTime.now()
        try fixture.setFull(false)
        #expect(fixture.heard(4).suffix(2) == ["large", "run"])
        let taken = Double(DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds) / 1e9
        print("130 000 requests that waited: \(taken) s")
        #expect(try fixture.count("SELECT count(*) FROM job WHERE name LIKE 'job-%'") == 10)
        #expect(try fixture.count("SELECT count(*) FROM run") == 1)
    }

    /// A store that cannot be opened yet is tried each second, and nothing is lost meanwhile.
    @Test func aStoreThatCannotBeOpenedYetIsOpenedLater() throws {
        let fixture = try RecorderFixture(isThere: false)
        fixture.keep(
            "begin", [.beginInstance(RecorderFixture.now(0)), .save(RecorderFixture.record("a"))],
            durable: true)
        #expect(fixture.heard(1) == ["begin delayed"])
        #expect(throws: (any Error).self) { try fixture.count("SELECT 1") }
        fixture.isOpenable.value.store(true, ordering: .relaxed)
        #expect(fixture.heard(2) == ["begin delayed", "begin"])
        #expect(try fixture.count("SELECT count(*) FROM instance WHERE id = 1") == 1)
    }

    /// The daemon follows the recorder a moment after the first write was handed to it.
    @Test func whoFollowsLateIsToldWhatIsSo() throws {
        let fixture = try RecorderFixture(isThere: false)
        let told = Mutex<[String]>([])
        func follow() {
            fixture.recorder.follow(
                Recorder.Followers { error in
                    told.withLock { $0.append("error \(error != nil)") }
                } notified: {
                    told.withLock { $0.append("notified") }
                } marked: { mark in
                    told.withLock { $0.append("mark \(mark)") }
                })
        }
        fixture.recorder.follow(Recorder.Followers())
        let notification = JobNotification(
            notifier: Notifier.Name("ops")!, kind: .failure, job: Job.Name("a")!,
            at: RecorderFixture.now(0).wall)
        fixture.keep("begin", [.beginInstance(RecorderFixture.now(0)), .notify(notification)])
        #expect(fixture.heard(1) == ["begin delayed"])
        follow()
        fixture.recorder.follow(Recorder.Followers())
        fixture.isOpenable.value.store(true, ordering: .relaxed)
        #expect(fixture.heard(2) == ["begin delayed", "begin"])
        #expect(told.withLock { $0 } == ["error true"])
        follow()
        follow()
        fixture.keep("more", [.save(RecorderFixture.record("a"))])
        _ = fixture.heard(3)
        #expect(told.withLock { $0 } == ["error true", "mark 1", "notified", "mark 1"])
    }

    /// What would be lost if the daemon ended at this moment.
    @Test func unwrittenRecordsAreCounted() throws {
        let fixture = try RecorderFixture()
        let done = DispatchSemaphore(value: 0)
        let found = Mutex<[Unwritten?]>([])
        let ask = {
            fixture.recorder.unwritten { unwritten in
                found.withLock { $0.append(unwritten) }
                done.signal()
            }
            done.wait()
        }
        ask()
        try fixture.setFull(true)
        fixture.keep("large", RecorderFixture.large)
        let run = RecorderFixture.run("a", at: 1)
        fixture.keep("run", [.begin(run, released: true, at: RecorderFixture.now(1).wall)])
        fixture.keep(
            "end",
            [.close(run.id, .exited(0), RunUsage(), failed: false, at: RecorderFixture.now(2).wall)]
        )
        _ = fixture.heard(3)
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
        let fixture = try RecorderFixture()
        let marks = Mutex<[Int64]>([])
        fixture.recorder.follow(
            Recorder.Followers(marked: { mark in marks.withLock { $0.append(mark) } }))
        for number in 0..<100 { fixture.keep("\(number)", [.save(RecorderFixture.record("a"))]) }
        _ = fixture.heard(100)
        #expect(marks.withLock { $0 } == [1])
        let settled = DispatchSemaphore(value: 0)
        let identity = Mutex<Store.Identity?>(nil)
        fixture.recorder.whenDurable { found in
            identity.withLock { $0 = found?.0 }
            settled.signal()
        }
        settled.wait()
        #expect(identity.withLock { $0?.generation } == 1)
    }
}
