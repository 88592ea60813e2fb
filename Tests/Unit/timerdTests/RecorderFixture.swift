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

/// A recorder with a store of its own, which records the results of requests in their order.
final class RecorderFixture: Sendable {
    let recorder: Recorder
    let folder: String
    private let said = Mutex<[String]>([])
    private let hasSaid = DispatchSemaphore(value: 0)
    let errors = Mutex<[Bool]>([])
    let log = LogMessages()
    /// Whether the store can be opened, if it could not at first.
    let isOpenable = Flag()

    /// - Parameters:
    ///   - isThere: whether the store is open from the start.
    ///   - prepare: changes the store before the recorder gets it.
    init(
        isThere: Bool = true, history: HistoryLimits = HistoryLimits(span: .seconds(10)),
        _ prepare: (Store) throws -> Void = { _ in }
    ) throws {
        folder = "/tmp/timerd-recorder-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        let path = "\(folder)/\(Store.fileName)"
        let log = log.logger()
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
                store: handed, history: history, log: log, wall: clock, open: open)
        } else {
            recorder = Recorder(
                store: nil, history: history, log: log, wall: clock, open: open)
        }
        recorder.follow(
            Recorder.Followers { [self] error in
                errors.withLock { $0.append(error != nil) }
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
    func keep(
        _ name: String, _ changes: [Store.Change], durable: Bool = false,
        keepsOrder: Bool = false
    ) {
        let request = Recorder.Request(
            changes: changes, durable: durable, keepsOrder: keepsOrder
        ) { [self] refused in
            say(refused.isEmpty ? name : "\(name) without \(refused.count)")
        } onDelayed: { [self] _ in
            say("\(name) delayed")
        }
        recorder.write([request])
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
            // The pages that the migration has left would be room.
            try store.connection.execute("PRAGMA incremental_vacuum", doing: "resize")
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
