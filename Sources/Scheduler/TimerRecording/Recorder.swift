// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
package import HostQueues
package import Logging
package import TimerCore
package import TimerStore

/// Writes the decisions of the agenda, on a queue of its own, so that no fsync delays a decision.
///
/// Waiting requests are written together in one transaction, in their order. A further queue waits
/// for the disk, so that writes without fsync do not wait for the fsync of others, and later writes
/// are synced together. If the store refuses a write, nothing is dropped: the log says so once, and
/// the write is tried again each second. What must follow a write (the start of a run, the answer
/// to a command) waits until the write is done.
package actor Recorder: QueueActor {
    /// How long a write may wait for its fsync if no caller requires it at once.
    static let syncDelay: Duration = .milliseconds(900)
    /// How long to wait before a refused write is tried again.
    static let retryDelay: Duration = .seconds(1)
    /// How many runs may end before the history is pruned again.
    static let closesPerPrune = 1000
    /// How many changes one transaction has at most, about. The work that waits for the first of a
    /// thousand changes then does not wait for the last.
    static let changesPerCommit = 64

    package nonisolated let executor = QueueExecutor(
        label: "timerd.store", qos: SchedulingPriority.qos)
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package typealias Request = RequestQueue.Request

    struct Unsynced {
        var request: Request
        var refused: Set<Run.ID>
    }

    /// Nil until it could be opened.
    private(set) var store: Store?
    private let open: @Sendable () throws(StoreError) -> sending Store
    private let reader = StoreReader()
    /// How long writes take, and how many fail.
    package nonisolated let meter = StoreMeter()
    let log: Logger
    /// How much of the history is kept; read and written on other queues too.
    package nonisolated let history: HistoryLimits
    let wall: @Sendable () -> WallInstant
    var followers = Followers()
    /// Whether notifications were added to the outbox before anything followed them.
    var hasUnreported = false
    private var pending = RequestQueue()
    /// How many requests have arrived since the start.
    private var taken: UInt64 = 0
    private var isDraining = false
    /// This queue waits for the disk, while commits without fsync continue.
    let syncQueue = DispatchQueue(label: "timerd.sync", qos: .default)
    var writeAheadLog: WriteAheadLog?
    /// The requests that were written and wait for their fsync.
    var unsynced: [Unsynced] = []
    /// How many of the requests that wait for an fsync, planned or in progress, keep their order.
    var orderedUnsynced = 0
    /// Whether anything was written since the last sync started.
    var isSyncDue = false
    var isSyncPlanned = false
    var isSyncing = false
    var hasSyncFailed = false
    var checkpoints = LogCheckpoints()
    private(set) var storeError: StoreErrorSince?
    /// How many runs have ended since the last pruning.
    var closes = 0
    /// The jobs that may have more runs than they keep, and whose turn it is.
    var jobsToPrune = JobsToPrune()
    /// Whether a step of the pruning is planned, and how fast it goes.
    var isPrunePlanned = false
    var prunePace = PrunePace()
    /// Whether it is the turn of what is old or too much for all, and not of single jobs.
    var arePrunedInTurn = false
    /// The groups of changes that are written in many steps; the first one is in progress.
    var stagedCommits: [StagedCommit] = []
    var pruning: Pruning?
    /// Before which instant runs were deleted because of the size of the database.
    var prunedBefore: WallInstant?
    var isMarkDue = true

    /// Why nothing can be written for now, and since when.
    package struct StoreErrorSince {
        var error: StoreError
        var since: WallInstant
    }

    /// - Parameters:
    ///   - store: nil if it cannot be opened yet.
    ///   - history: how much of the history is kept.
    ///   - wall: the wall clock, for pruning.
    ///   - open: opens a store that could not be opened; tried each second.
    package init(
        store: sending Store?, history: HistoryLimits, log: Logger,
        wall: @escaping @Sendable () -> WallInstant,
        open: @escaping @Sendable () throws(StoreError) -> sending Store = {
            () throws(StoreError) in throw Recorder.noStore
        }
    ) {
        self.open = open
        self.store = store
        self.history = history
        self.log = log
        self.wall = wall
    }

    private static let noStore = StoreError(code: .other, path: "", what: "there is no store")

    /// Writes the changes after everything that was submitted before.
    ///
    /// - Parameters:
    ///   - durable: whether to fsync before `onCommit` is called. Without it, a power cut may lose
    ///     the writes of the last second.
    ///   - onCommit: called on the recorder's queue once they are written, with the runs that were
    ///     refused.
    ///   - onDelayed: called on the recorder's queue if they cannot be written for now.
    package nonisolated func write(
        _ changes: [Store.Change], durable: Bool = false,
        onCommit: (@Sendable (Set<Run.ID>) -> Void)? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil
    ) {
        write([
            Request(changes: changes, durable: durable, onCommit: onCommit, onDelayed: onDelayed)
        ])
    }

    /// Writes these requests, together if they are few.
    package nonisolated func write(_ requests: [Request]) {
        later { recorder in
            for request in requests { recorder.handle(request) }
        }
    }

    /// Reads from the store, after all earlier requests that can be written. The reading does not
    /// wait for later ones.
    package nonisolated func read<Value: Sendable>(
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
        guard storeError != nil || taken - UInt64(pending.count) >= number else {
            // An earlier write is still in the queue of this actor; try again after it.
            return later { $0.read(body, done, behind: number) }
        }
        guard let store else { return done(.failure(storeError?.error ?? Self.noStore)) }
        reader.read(store.path, body, done)
    }

    private func handle(_ request: Request) {
        pending.append(request)
        taken += 1
        if let storeError {
            pending.delay(because: storeError.error)
            pending.compactPending()
            return
        }
        drainSoon()
    }

    /// Writes after the requests that are already in the queue of this actor have arrived, so that
    /// all are written together.
    private func drainSoon() {
        guard !isDraining else { return }
        isDraining = true
        later { $0.drain() }
    }

    private func drain() {
        isDraining = false
        guard !pending.isEmpty else { return }
        let (changes, count) = pending.batch(of: Self.changesPerCommit)
        let hasChanges = !changes.isEmpty
        let isMarked = hasChanges && isMarkDue
        do throws(StoreError) {
            let began = DispatchTime.now()
            let refused = try write(changes, isMarked: isMarked)
            if hasChanges {
                meter.addWrite(
                    .nanoseconds(
                        Int64(DispatchTime.now().uptimeNanoseconds - began.uptimeNanoseconds)))
            }
            if isMarked, let store {
                isMarkDue = false
                followers.marked?(store.identity.generation)
            }
            finish(count, refused, hasWritten: hasChanges)
            noteHistory(changes)
            if changes.contains(where: \.isNotification) {
                hasUnreported = followers.notified == nil
                followers.notified?()
            }
        } catch {
            wait(because: error)
        }
    }

    /// A change that the store will never accept, because it breaks a rule of the schema, must not
    /// block the others. Only this change is dropped, and logged.
    private func write(
        _ changes: [Store.Change], isMarked: Bool
    ) throws(StoreError) -> Set<Run.ID> {
        guard !changes.isEmpty else { return [] }
        let store = try openStore()
        do throws(StoreError) {
            return try store.commit(changes, isMarked: isMarked, durable: false)
        } catch {
            guard error.code == .refused else { throw error }
        }
        var (refused, leftOut) = try store.commitWhatIsTaken(changes, isMarked: isMarked)
        for (change, error) in leftOut {
            log.error("\(error); not saved: \(change.summary)")
            if case .begin(let run, _, _) = change { refused.insert(run.id) }
        }
        return refused
    }

    func openStore() throws(StoreError) -> Store {
        if let store { return store }
        let opened = try open()
        store = opened
        return opened
    }

    /// Finishes the first requests.
    private func finish(_ count: Int, _ refused: Set<Run.ID>, hasWritten: Bool) {
        if storeError != nil {
            storeError = nil
            followers.storeError?(nil)
            log.notice("The saved state can be written again; nothing was lost")
        }
        let done = pending.take(count)
        isSyncDue = isSyncDue || hasWritten
        for request in done {
            if request.durable || (request.keepsOrder && orderedUnsynced > 0) {
                if request.keepsOrder { orderedUnsynced += 1 }
                unsynced.append(Unsynced(request: request, refused: refused))
            } else {
                request.onCommit?(refused)
            }
        }
        // A sync that is in progress or planned covers the earlier requests.
        if done.contains(where: \.durable) { sync() } else if isSyncDue { planSync() }
        if hasWritten { checkpointLog(isCalm: false) }
        if !pending.isEmpty { drainSoon() }
    }

    private func wait(because error: StoreError) {
        meter.addError()
        if storeError == nil {
            log.critical(
                "\(error); jobs that become due wait, and writing is tried again every second")
        }
        if storeError?.error != error { followers.storeError?(error) }
        storeError = StoreErrorSince(error: error, since: storeError?.since ?? wall())
        pending.delay(because: error)
        later(after: Self.retryDelay) { $0.drain() }
    }

    // MARK: - Stopping

    /// Reports what would be lost if the daemon ended now; nil if everything submitted before can
    /// be written.
    package nonisolated func unwritten(_ done: @escaping @Sendable (Unwritten?) -> Void) {
        later { recorder in
            guard let storeError = recorder.storeError else { return done(nil) }
            done(Unwritten(storeError, recorder.pending))
        }
    }

    /// Reports the identity of the database and its number of jobs, once these are on the disk; nil
    /// if they cannot be written for now.
    nonisolated func whenDurable(_ done: @escaping @Sendable ((Store.Identity, jobs: Int)?) -> Void)
    {
        later { recorder in
            guard recorder.storeError == nil, let store = recorder.store,
                let jobs = try? store.jobCount()
            else { return done(nil) }
            let identity = store.identity
            recorder.handle(
                Request(changes: [], durable: true) { _ in
                    done((identity, jobs: jobs))
                } onDelayed: { _ in
                    done(nil)
                })
        }
    }
}
