// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Timers with names, by which they can be found, paused and resumed. With an `AccountStore`, each
/// timer continues where it was when the program ended, for whatever reason it ended.
///
/// Accounts are saved on a queue of their own, which delays neither the timers nor the callers: soon
/// after a timer was paused, resumed, restarted or changed; every `saveInterval` while it is
/// running; and at each tick, unless ticks are more frequent than that. The handler of such a tick
/// is called when the tick is saved, so a program that is killed in the handler does not repeat the
/// tick. If the disk is slower than the changes, the newest account of each timer is saved, and
/// those in between are not. So a program that is killed loses at most about `saveInterval` of the
/// time of each timer, and the changes that were not saved yet; `save()` waits until they are.
///
/// The group keeps its timers alive. A timer that is cancelled or that has made its last tick leaves
/// the group when its handler has returned: its account is deleted, and its name can be used again.
/// An unknown name is not an error. Releasing the group waits until everything is saved.
///
/// A group can be used from any thread. Operations on one timer take O(log *n*) in the number of
/// timers of the queue, and operations on all of them O(*n* log *n*).
public final class TimerGroup: Sendable {
    /// The queue on which all timers of the group run.
    public let queue: TimerQueue
    /// How often the accounts of running timers are saved.
    public let saveInterval: Duration

    private struct Entry {
        let timer: PausableTimer
        /// Whether it was running at its last change.
        var isRunning = false

        /// Whether its name can be used by another timer.
        var isGone: Bool { timer.reference.view?.isGone ?? true }
    }

    private struct State: ~Copyable {
        var entries: [String: Entry] = [:]
        /// How many of them are running.
        var running = 0
        /// Saves the accounts repeatedly.
        var clock: PausableTimer?
        var isClockRunning = false

        mutating func forget(_ name: String) -> PausableTimer? {
            guard let entry = entries.removeValue(forKey: name) else { return nil }
            if entry.isRunning { running -= 1 }
            return entry.timer
        }

        /// Saves the accounts repeatedly while any timer is running, and only then: a program whose
        /// timers are all paused is not woken up.
        mutating func followRunning() {
            guard (running > 0) != isClockRunning else { return }
            isClockRunning.toggle()
            if isClockRunning { clock?.resume() } else { clock?.pause() }
        }
    }

    let saver: AccountSaver?
    private let state = Lock(State())
    /// Saves everything. The linker keeps what the deinitializer calls, also in a program without
    /// groups; a function that is made with the group is not kept.
    private let finishSaving: (@Sendable () -> Void)?

    /// Creates a group without timers.
    ///
    /// - Parameters:
    ///   - queue: the queue of its timers.
    ///   - store: where their accounts are saved; nil: they are not saved.
    ///   - saveInterval: how often the accounts of running timers are saved; longer than zero.
    ///   - onSaveError: called when accounts cannot be saved, and again only after a save has
    ///     succeeded meanwhile; on the queue that saves, or in `save()`. The timers continue.
    /// - Throws: `TimerArgumentError`; no group was created.
    public convenience init(
        on queue: TimerQueue = .shared, accounts store: (any AccountStore)? = nil,
        saveInterval: Duration = .milliseconds(500),
        onSaveError: @escaping @Sendable (any Error) -> Void = { _ in }
    ) throws(TimerArgumentError) {
        guard saveInterval > .zero else { throw .interval(saveInterval) }
        guard let store else {
            self.init(queue, saveInterval, nil, nil)
            return
        }
        let saver = AccountSaver(
            store, saveInterval: saveInterval, isManual: queue.activity != nil,
            onError: onSaveError)
        self.init(queue, saveInterval, saver) { saver.saveAll() }
        let clock = try PausableTimer.every(
            saveInterval, for: self, tolerance: saveInterval / 10, paused: true, on: queue,
            handlerQueue: saver.queue
        ) { group, _ in group.saveRunning() }
        state.withLock { $0.clock = clock }
    }

    private init(
        _ queue: TimerQueue, _ saveInterval: Duration, _ saver: AccountSaver?,
        _ finishSaving: (@Sendable () -> Void)?
    ) {
        self.queue = queue
        self.saveInterval = saveInterval
        self.saver = saver
        self.finishSaving = finishSaving
    }

    deinit { finishSaving?() }

    // MARK: - Looking up and controlling

    /// The timer with this name; nil if there is none.
    /// - Complexity: O(1).
    public subscript(name: String) -> PausableTimer? {
        state.withLock { $0.entries[name]?.timer }
    }

    /// The names of its timers, in no particular order.
    /// - Complexity: O(*n*).
    public var names: [String] { state.withLock { Array($0.entries.keys) } }

    /// Pauses a timer. Returns false if there is none with this name.
    @discardableResult
    public func pause(_ name: String) -> Bool { withTimer(name) { $0.pause() } }

    /// Resumes a timer. Returns false if there is none with this name.
    @discardableResult
    public func resume(_ name: String, _ policy: ResumePolicy = .keepRemaining) -> Bool {
        withTimer(name) { $0.resume(policy) }
    }

    /// Restarts a timer. Returns false if there is none with this name.
    @discardableResult
    public func restart(_ name: String) -> Bool { withTimer(name) { $0.restart() } }

    /// Ends a timer permanently and deletes its account, so that the name can be used again.
    /// Returns false if there is none with this name.
    @discardableResult
    public func cancel(_ name: String) -> Bool { withTimer(name) { $0.cancel() } }

    /// Pauses all timers of the group, one after the other.
    /// - Complexity: O(*n* log *n*).
    public func pauseAll() { forAll { $0.pause() } }

    /// Resumes all timers of the group, one after the other.
    /// - Complexity: O(*n* log *n*).
    public func resumeAll() { forAll { $0.resume() } }

    /// Ends all timers permanently and deletes their accounts.
    /// - Complexity: O(*n* log *n*).
    public func cancelAll() { forAll { $0.cancel() } }

    /// Saves all accounts now, and returns when they are saved and the changes before this call are
    /// too: before the program ends, or when it must not lose a pause. It waits for the store, so it
    /// must not be called by the store.
    /// - Complexity: O(*n*).
    public func save() {
        guard let saver else { return }
        planAll(onlyRunning: false)
        saver.saveAll()
    }

    @inline(never)
    private func forAll(_ body: (PausableTimer) -> Void) {
        let timers = state.withLock { $0.entries.values.map(\.timer) }
        guard let saver else { return timers.forEach(body) }
        saver.holding { timers.forEach(body) }
    }

    @inline(never)
    private func withTimer(_ name: String, _ body: (PausableTimer) -> Void) -> Bool {
        guard let timer = self[name] else { return false }
        body(timer)
        return true
    }

    // MARK: - Adding and forgetting

    /// Adds a timer, which continues from the account of this name.
    @inline(never)
    func add(
        _ name: String, _ kind: TimerSettings.Kind, _ made: consuming TimerSettings
    ) throws -> PausableTimer {
        if state.withLock({ $0.entries[name]?.isGone == false }) { throw Self.taken(name) }
        var settings = made
        settings.account = try saver?.load(name)
        let timer = try settings.make(kind)
        let (old, isTaken) = state.withLock { state -> (PausableTimer?, Bool) in
            if let entry = state.entries[name], !entry.isGone { return (nil, true) }
            let old = state.forget(name)
            state.entries[name] = Entry(timer: timer)
            return (old, false)
        }
        // The old timer is released here, outside the lock.
        withExtendedLifetime(old) {}
        guard !isTaken else { throw Self.taken(name) }
        // It may have ticked, and even be finished, before it was added.
        changed(name, timer.reference)
        return timer
    }

    private static func taken(_ name: String) -> TimerArgumentError {
        TimerArgumentError("a timer \"\(name)\" exists already; cancel that one first")
    }

    /// Handles that the timer was changed, or that the handler of its last tick has returned. The
    /// state is read here, so that of two changes at the same time the later one counts.
    @inline(never)
    func changed(_ name: String, _ timer: TimerReference) {
        let gone = state.withLock { state -> PausableTimer? in
            guard let entry = state.entries[name], entry.timer.reference.isSame(as: timer),
                let view = timer.view
            else { return nil }
            var gone: PausableTimer?
            if view.isGone {
                gone = state.forget(name)
            } else if (view.state == .running) != entry.isRunning {
                state.entries[name]?.isRunning = !entry.isRunning
                state.running += entry.isRunning ? -1 : 1
            }
            // This is planned while the lock is held: what is planned for the next timer of this
            // name comes later.
            saver?.plan(gone == nil ? .save(timer) : .remove, of: name)
            state.followRunning()
            return gone
        }
        withExtendedLifetime(gone) {}
        saver?.start()
    }

    // MARK: - Saving

    private func planAll(onlyRunning: Bool) {
        state.withLock { state in
            for (name, entry) in state.entries where entry.isRunning || !onlyRunning {
                saver?.plan(.save(entry.timer.reference), of: name)
            }
        }
    }

    private func saveRunning() {
        planAll(onlyRunning: true)
        saver?.start()
    }
}
