// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// A store on a disk that is smaller than the maximum size of its log, and on a full disk.
@Suite(.enabled(if: geteuid() == 0, "mounts a file system")) struct RoomTests {
    private let folder = "/tmp/timerd-room-\(UUID().uuidString)"

    private func now(_ second: Int64) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: 1_795_000_000 + second),
            awake: AwakeInstant(nanoseconds: second * 1_000_000_000),
            boot: BootInstant(nanoseconds: second * 1_000_000_000),
            bootID: BootID("0123456789abcdef0123456789abcdef")!)
    }

    private func run(_ second: Int64) -> Run {
        let job = Job(
            name: Job.Name("a")!, command: .shell("true"), schedule: .every(.seconds(60)))
        let id = Firing.ID(job: job.name, scheduled: now(second).wall)
        return Run(firing: Firing(id: id, missed: 0, active: .zero), job: job)
    }

    /// Writes one firing after the other, like the recorder.
    private func fire(_ seconds: Range<Int64>, in store: Store) throws {
        for second in seconds {
            let run = run(second)
            try store.commit(
                [.begin(run, released: true, at: now(second).wall)], isMarked: second % 10 == 0,
                durable: false)
            try store.commit(
                [.close(run.id, .exited(0), RunUsage(), failed: false, at: now(second).wall)],
                durable: false)
        }
    }

    private func onDisk(_ kibibytes: Int, _ body: (String) throws -> Void) throws {
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        try #require(mount("tmpfs", folder, "tmpfs", 0, "size=\(kibibytes)k,mode=0700") == 0)
        defer { umount2(folder, 2) }
        try body("\(folder)/\(Store.fileName)")
    }

    @Test func onASmallDiskTheLogDoesNotUseAllSpace() throws {
        try onDisk(512) { path in
            let store = try Store(path: path)
            _ = try store.recover()
            try store.commit([.beginInstance(now(0))], durable: true)
            try fire(1..<1000, in: store)
            let found = try Store(path: path).history(
                of: nil, since: nil, failed: false, limit: 5000)
            #expect(found.count == 999)
        }
    }

    /// The disk becomes full while the log is small but has a large limit. Changes that need no
    /// further page of the database are written into the space of the log.
    @Test func onAFullDiskTheSpaceOfTheLogIsUsed_andLaterWritesWork() throws {
        try onDisk(20_480) { path in
            let store = try Store(path: path)
            _ = try store.recover()
            try store.commit([.beginInstance(now(0))], durable: true)
            try save(0..<1, in: store)
            try store.checkpoint()
            try save(1..<20, in: store)
            let filler = try #require(fopen("\(folder)/filler", "w"))
            let block = [UInt8](repeating: 1, count: 4096)
            while fwrite(block, 1, block.count, filler) == block.count, fflush(filler) == 0 {}
            fclose(filler)
            try save(20..<1000, in: store)
            let error = #expect(throws: StoreError.self) { try fire(1..<1000, in: store) }
            #expect(error?.code == .full)
            truncate("\(folder)/filler", 18 << 20)
            try fire(1000..<2000, in: store)
        }
    }

    /// Saves the same record repeatedly.
    private func save(_ firings: Range<Int>, in store: Store) throws {
        for count in firings {
            let record = JobRecord(
                job: Job.Name("a")!, phase: .armed, active: .zero, accrued: .zero, isCounting: true,
                firings: count, lastScheduled: nil, configuredPaused: false, removed: nil,
                at: now(1),
                instance: 1)
            try store.commit([.save(record)], durable: false)
        }
    }
}
