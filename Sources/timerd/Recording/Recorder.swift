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
    /// How long others have their turn between two portions of pruning.
    static let pruneDelay: Duration = .milliseconds(20)
    /// How many changes are enough for one transaction. What follows the first of them need not wait for the
    /// last of a thousand.
    static let changesPerCommit = 64

    nonisolated let executor = QueueExecutor(label: "timerd.store", qos: SchedulingPriority.qos)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    typealias Request = RequestQueue.Request

    private struct Unsynced {
        var request: Request
        var refused: Set<Run.ID>
    }

    /// Nil until it can be opened.
    private(set) var store: Store?
    private let open: @Sendable () throws(StoreError) -> sending Store
    private let reader = StoreReader()
    let log: Logger
    /// How long runs that ended are kept.
    let history: Duration
    let wall: @Sendable () -> WallInstant
    private var followers = Followers()
    private var pending = RequestQueue()
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
    private var checkpoints = LogCheckpoints()
    private(set) var storeError: StoreErrorSince?
    /// How many runs have ended since the history was pruned last.
    var closes = 0
    /// What is written together and in many steps; the first of them is being written.
    var together: [Together] = []
    var pruning: Pruning?
    private var isMarkDue = true

    /// Why nothing can be written for now, and since when.
    struct StoreErrorSince {
        var error: StoreError
        var since: WallInstant
    }

    /// Who is told how the store is, on the recorder's queue.
    struct Followers: Sendable {
        /// The store cannot be written, or can be again.
        var storeError: (@Sendable (StoreError?) -> Void)?
        /// The store has this generation now.
        var marked: (@Sendable (Int64) -> Void)?
    }

    /// - Parameters:
    ///   - store: nil: it cannot be opened yet.
    ///   - history: how long runs that ended are kept.
    ///   - wall: the calendar clock, for pruning.
    ///   - open: opens a store that could not be opened; tried each second.
    init(
        store: sending Store?, history: Duration, log: Logger,
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

    /// To be called before anything is handed over.
    nonisolated func follow(_ followers: Followers) {
        later { $0.followers = followers }
    }

    /// Writes the changes after everything handed over before.
    ///
    /// - Parameters:
    ///   - durable: whether to fsync before `onCommit` is called; without it a power cut may take what was
    ///     written in the last second.
    ///   - kept: called on the recorder's queue once they are written, with the runs that were refused.
    ///   - delayed: called on the recorder's queue if they cannot be written for now.
    nonisolated func write(
        _ changes: [Store.Change], durable: Bool = false,
        onCommit: (@Sendable (Set<Run.ID>) -> Void)? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil
    ) {
        later { recorder in
            recorder.take(
                Request(
                    changes: changes, durable: durable, onCommit: onCommit, onDelayed: onDelayed))
        }
    }

    /// Reads from the store, behind everything that was handed over before and can be written. What comes later does
    /// not wait for it.
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
        guard storeError != nil || taken - UInt64(pending.count) >= number else {
            // The write it waits for is in the queue.
            return later { $0.read(body, done, behind: number) }
        }
        guard let store else { return done(.failure(storeError?.error ?? Self.noStore)) }
        reader.read(store.path, body, done)
    }

    private func take(_ request: Request) {
        pending.append(request)
        taken += 1
        if let storeError {
            pending.delay(because: storeError.error)
            pending.compactPending()
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
        var (changes, count) = pending.batch(of: Self.changesPerCommit)
        let hasChanges = !changes.isEmpty
        let isMarked = hasChanges && isMarkDue
        if isMarked { changes.append(.mark) }
        do throws(StoreError) {
            let refused = try write(changes)
            if isMarked, let store {
                isMarkDue = false
                followers.marked?(store.identity.generation)
            }
            finish(count, refused, hasWritten: hasChanges)
            noteCloses(changes.count { if case .close = $0 { true } else { false } })
        } catch {
            wait(because: error)
        }
    }

    /// A change the store will never take must not hold up the others for ever: it alone is left out.
    private func write(_ changes: [Store.Change]) throws(StoreError) -> Set<Run.ID> {
        guard !changes.isEmpty else { return [] }
        let store = try openStore()
        do throws(StoreError) {
            return try store.commit(changes, durable: false)
        } catch {
            guard error.code == .refused else { throw error }
        }
        var (refused, leftOut) = try store.commitWhatIsTaken(changes)
        for (change, error) in leftOut {
            log.error("\(error); this entry is left out: \(change)")
            if case .begin(let run, _) = change { refused.insert(run.id) }
        }
        return refused
    }

    private func openStore() throws(StoreError) -> Store {
        if let store { return store }
        let opened = try open()
        store = opened
        return opened
    }

    /// The first so many requests are done.
    private func finish(_ count: Int, _ refused: Set<Run.ID>, hasWritten: Bool) {
        if storeError != nil {
            storeError = nil
            followers.storeError?(nil)
            log.notice("The saved state can be written again; nothing was lost")
        }
        let done = pending.take(count)
        isSyncDue = isSyncDue || hasWritten
        for request in done {
            if request.durable {
                unsynced.append(Unsynced(request: request, refused: refused))
            } else {
                request.onCommit?(refused)
            }
        }
        // Of those that came before, a sync that is being made or planned takes care.
        if done.contains(where: \.durable) { sync() } else if isSyncDue { planSync() }
        if hasWritten { checkpointLog(isCalm: false) }
        if !pending.isEmpty { drainSoon() }
    }

    private func wait(because error: StoreError) {
        if storeError == nil {
            log.critical(
                "\(error); jobs that come due wait, and writing is tried again every second")
        }
        if storeError?.error != error { followers.storeError?(error) }
        storeError = StoreErrorSince(error: error, since: storeError?.since ?? wall())
        pending.delay(because: error)
        later(after: Self.retryDelay) { $0.drain() }
    }

    // MARK: - Stopping

    /// Says what would be lost if the daemon ended now: nil if everything handed over before can be written.
    nonisolated func unwritten(_ done: @escaping @Sendable (Unwritten?) -> Void) {
        later { recorder in
            guard let storeError = recorder.storeError else { return done(nil) }
            done(Unwritten(storeError, recorder.pending))
        }
    }

    /// Which database it is and how many jobs it knows, once that is on the disk; nil if it cannot be written for now.
    nonisolated func whenDurable(_ done: @escaping @Sendable ((Store.Identity, jobs: Int)?) -> Void)
    {
        later { recorder in
            guard recorder.storeError == nil, let store = recorder.store,
                let jobs = try? store.jobCount()
            else { return done(nil) }
            let identity = store.identity
            recorder.take(
                Request(changes: [], durable: true) { _ in
                    done((identity, jobs: jobs))
                } onDelayed: { _ in
                    done(nil)
                })
        }
    }

    // MARK: - Checkpoints of the log

    /// Has the log written into the database, if it is long enough.
    ///
    /// - Parameter isCalm: whether no more is recorded at once.
    private func checkpointLog(isCalm: Bool) {
        guard let store, let writeAheadLog else { return }
        checkpoints.begin(
            store.path, size: writeAheadLog.size, limit: store.logBytes, isCalm: isCalm
        ) { failure in
            self.later { $0.noteCheckpoint(failure) }
        }
    }

    private func noteCheckpoint(_ failure: StoreError?) {
        let (waiting, isNewFailure) = checkpoints.end(failure)
        if let failure, isNewFailure {
            log.warning("\(failure); nothing is lost, and it is tried again")
        }
        for one in waiting { one(self) }
    }

    /// Does this after the checkpoint that is under way, if one is, so that the log does not grow faster than it is
    /// written into the database.
    nonisolated func afterCheckpoint(_ body: @escaping @Sendable (isolated Recorder) -> Void) {
        later { recorder in
            guard recorder.checkpoints.isUnderWay else { return body(recorder) }
            recorder.checkpoints.wait(body)
        }
    }

    // MARK: - Syncing

    private func planSync() {
        guard !isSyncPlanned else { return }
        isSyncPlanned = true
        later(after: Self.syncDelay) { recorder in
            recorder.isSyncPlanned = false
            recorder.isMarkDue = true
            recorder.sync()
        }
    }

    /// Syncs what is written by now; what is written while it does is next.
    private func sync() {
        guard !isSyncing, isSyncDue || !unsynced.isEmpty else { return }
        do throws(StoreError) {
            if writeAheadLog == nil { writeAheadLog = try openStore().log() }
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
        if failure != nil, checkpoints.isUnderWay {
            return checkpoints.wait { $0.noteSync(of: waiting, failure: failure) }
        }
        isSyncing = false
        do throws(StoreError) {
            // What could not be written once would not be tried again: it goes another way.
            if failure != nil { try openStore().checkpoint() }
            hasSyncFailed = false
            for one in waiting { one.request.onCommit?(one.refused) }
            if !unsynced.isEmpty { sync() } else if isSyncDue { planSync() }
            checkpointLog(isCalm: true)
        } catch {
            if !hasSyncFailed {
                log.error(
                    "\(error); a power cut now may lose the latest changes, and commands wait")
            }
            hasSyncFailed = true
            var waiting = waiting
            for index in waiting.indices {
                waiting[index].request.onDelayed?(error)
                waiting[index].request.onDelayed = nil
            }
            unsynced = waiting + unsynced
            isSyncDue = true
            planSync()
        }
    }
}
