// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerStore

/// The write-ahead log and checkpoints.
extension StoreTests {
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
