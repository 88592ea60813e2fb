// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import TimerCore
import TimerStore

/// Writes down what the agenda decides, on a queue of its own, so that no fsync holds up a decision.
///
/// What waits is written together: one transaction for all of it, in the order it came. The disk is waited for
/// on a further queue, so that what needs no fsync does not wait for that of others; what came meanwhile is
/// synced together. If the store refuses, nothing is let go: it is said once and tried again each second, and what
/// must follow a write (a run's start, the answer to an order) waits until it is kept.
actor Recorder: QueueActor {
    /// How long a write may wait for its fsync, if nobody asked for it at once.
    static let syncDelay: Duration = .milliseconds(900)
    /// How long to wait before a refused write is tried again.
    static let retryDelay: Duration = .seconds(1)
    /// How many runs may end before the history is pruned again.
    static let closesPerPrune = 1000
    /// How many changes are enough for one transaction. What follows the first of them need not wait for the
    /// last of a thousand.
    static let changesPerCommit = 64
    /// How many changes may wait before older accounts of a job give way to its newest.
    static let pendingMax = 100_000

    nonisolated let executor = QueueExecutor(label: "timerd.store", qos: Precedence.qos)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private struct Request {
        var changes: [Store.Change]
        var durable: Bool
        var kept: (@Sendable (Set<Run.ID>) -> Void)?
        var delayed: (@Sendable (StoreError) -> Void)?
    }

    private struct Unsynced {
        var request: Request
        var refused: Set<Run.ID>
    }

    private let store: Store
    private let log: Logger
    private let history: Duration
    private let wall: @Sendable () -> WallInstant
    private var pending: [Request] = []
    /// How many requests came so far.
    private var taken: UInt64 = 0
    private var isDraining = false
    /// Where the disk is waited for: a commit that needs no fsync goes on meanwhile.
    private let syncQueue = DispatchQueue(label: "timerd.sync", qos: .default)
    private var writeAheadLog: WriteAheadLog?
    /// What is written and waits for its fsync.
    private var unsynced: [Unsynced] = []
    /// Whether anything was written since the last sync began.
    private var isSyncDue = false
    private var isSyncPlanned = false
    private var isSyncing = false
    private var hasSyncFailed = false
    private var trouble: StoreError?
    private var closes = 0
    /// What is written together and in many steps; the first of them is being written.
    var together: [Together] = []

    /// - Parameters:
    ///   - history: how long runs that ended are kept.
    ///   - wall: the calendar clock, for pruning.
    init(
        store: sending Store, history: Duration, log: Logger,
        wall: @escaping @Sendable () -> WallInstant
    ) {
        self.store = store
        self.history = history
        self.log = log
        self.wall = wall
    }

    /// Writes the changes after everything handed over before.
    ///
    /// - Parameters:
    ///   - durable: whether to fsync before `kept` is called; without it a power cut may take what was
    ///     written in the last second.
    ///   - kept: called on the recorder's queue once they are written, with the runs that were refused.
    ///   - delayed: called on the recorder's queue if they cannot be written for now.
    nonisolated func keep(
        _ changes: [Store.Change], durable: Bool = false,
        kept: (@Sendable (Set<Run.ID>) -> Void)? = nil,
        delayed: (@Sendable (StoreError) -> Void)? = nil
    ) {
        later { recorder in
            recorder.take(
                Request(changes: changes, durable: durable, kept: kept, delayed: delayed))
        }
    }

    /// Reads from the store, behind everything that was handed over before and can be written.
    nonisolated func read<Value: Sendable>(
        _ body: @escaping @Sendable (Store) throws(StoreError) -> Value,
        _ done: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        later { recorder in
            recorder.read(body, done, behind: recorder.taken)
        }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (Store) throws(StoreError) -> Value,
        _ done: @escaping @Sendable (Result<Value, StoreError>) -> Void, behind number: UInt64
    ) {
        guard trouble != nil || taken - UInt64(pending.count) >= number else {
            // The write it waits for is in the queue.
            return later { $0.read(body, done, behind: number) }
        }
        do throws(StoreError) {
            done(.success(try body(store)))
        } catch {
            done(.failure(error))
        }
    }

    private func take(_ request: Request) {
        pending.append(request)
        taken += 1
        if let trouble {
            request.delayed?(trouble)
            pending[pending.count - 1].delayed = nil
            thinOut()
            return
        }
        drainSoon()
    }

    /// Behind whatever is in the queue already, so that it is all written together.
    private func drainSoon() {
        guard !isDraining else { return }
        isDraining = true
        later { $0.drain() }
    }

    private func drain() {
        isDraining = false
        guard !pending.isEmpty else { return }
        var changes: [Store.Change] = []
        var count = 0
        while count < pending.count, changes.count < Self.changesPerCommit {
            changes += pending[count].changes
            count += 1
        }
        closes += changes.count { if case .close = $0 { true } else { false } }
        if closes >= Self.closesPerPrune {
            closes = 0
            changes.append(.prune(endedBefore: wall() - history))
        }
        do throws(StoreError) {
            let refused = try write(changes)
            finish(count, refused, hasWritten: !changes.isEmpty)
        } catch {
            wait(because: error)
        }
    }

    /// A change the store will never take must not hold up the others for ever: it alone is let go.
    private func write(_ changes: [Store.Change]) throws(StoreError) -> Set<Run.ID> {
        guard !changes.isEmpty else { return [] }
        do throws(StoreError) {
            return try store.commit(changes, durable: false)
        } catch {
            guard error.code == .other else { throw error }
        }
        var refused: Set<Run.ID> = []
        for change in changes {
            do throws(StoreError) {
                refused.formUnion(try store.commit([change], durable: false))
            } catch {
                guard error.code == .other else { throw error }
                log.error("\(error); this entry is left out: \(change)")
                if case .begin(let run, _) = change { refused.insert(run.id) }
            }
        }
        return refused
    }

    /// The first so many requests are done.
    private func finish(_ count: Int, _ refused: Set<Run.ID>, hasWritten: Bool) {
        if trouble != nil {
            trouble = nil
            log.notice("The account is being written again; nothing of it was lost")
        }
        let done = pending.prefix(count)
        pending.removeFirst(count)
        isSyncDue = isSyncDue || hasWritten
        for request in done {
            if request.durable {
                unsynced.append(Unsynced(request: request, refused: refused))
            } else {
                request.kept?(refused)
            }
        }
        // Of those that came before, a sync that is being made or planned takes care.
        if done.contains(where: \.durable) { sync() } else if isSyncDue { planSync() }
        if !pending.isEmpty { drainSoon() }
    }

    private func wait(because error: StoreError) {
        if trouble == nil {
            log.critical(
                "\(error); jobs that come due wait, and writing is tried again every second")
        }
        trouble = error
        for index in pending.indices {
            pending[index].delayed?(error)
            pending[index].delayed = nil
        }
        later(after: Self.retryDelay) { $0.drain() }
    }

    /// Of several accounts of one job that wait, only the newest matters. What carries a run stays.
    private func thinOut() {
        guard pending.count > Self.pendingMax else { return }
        var newest: Set<Job.Name> = []
        for index in pending.indices.reversed() {
            pending[index].changes.removeAll { change in
                guard case .save(let record) = change else { return false }
                return !newest.insert(record.job).inserted
            }
        }
        pending.removeAll { $0.changes.isEmpty && $0.kept == nil }
    }

    private func planSync() {
        guard !isSyncPlanned else { return }
        isSyncPlanned = true
        later(after: Self.syncDelay) { recorder in
            recorder.isSyncPlanned = false
            recorder.sync()
        }
    }

    /// Syncs what is written by now; what is written while it does is next.
    private func sync() {
        guard !isSyncing, isSyncDue || !unsynced.isEmpty else { return }
        do throws(StoreError) {
            if writeAheadLog == nil { writeAheadLog = try store.log() }
        } catch {
            return noteSync(of: take(), failure: error)
        }
        guard let writeAheadLog else { return }
        let waiting = take()
        isSyncing = true
        syncQueue.async {
            var failure: StoreError?
            do throws(StoreError) { try writeAheadLog.sync() } catch { failure = error }
            self.later { [failure] in $0.noteSync(of: waiting, failure: failure) }
        }
    }

    private func take() -> [Unsynced] {
        isSyncDue = false
        defer { unsynced = [] }
        return unsynced
    }

    private func noteSync(of waiting: [Unsynced], failure: StoreError?) {
        isSyncing = false
        do throws(StoreError) {
            // What could not be written once would not be tried again: it goes another way.
            if failure != nil { try store.checkpoint() }
            hasSyncFailed = false
            for one in waiting { one.request.kept?(one.refused) }
            if !unsynced.isEmpty { sync() } else if isSyncDue { planSync() }
        } catch {
            if !hasSyncFailed {
                log.error(
                    "\(error); a power cut now may cost what was recorded last, and orders wait")
            }
            hasSyncFailed = true
            var waiting = waiting
            for index in waiting.indices {
                waiting[index].request.delayed?(error)
                waiting[index].request.delayed = nil
            }
            unsynced = waiting + unsynced
            isSyncDue = true
            planSync()
        }
    }
}
