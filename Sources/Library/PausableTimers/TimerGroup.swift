// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Timers with names, by which they can be found, paused and resumed. With an `AccountStore`, each
/// timer continues where it was when the program ended, for whatever reason it ended.
///
/// The account of a timer is saved when the timer is paused, resumed, restarted or changed, before
/// that call returns; every `saveInterval` while it is running; and at each tick, before its
/// handler is called, unless ticks are more frequent than that. So a program that is killed loses
/// at most about `saveInterval` of the time of each timer.
///
/// The group keeps its timers alive. An unknown name is not an error.
public final class TimerGroup: Sendable {
    /// The queue on which all timers of the group run.
    public let queue: TimerQueue
    /// How often the accounts of running timers are saved.
    public let saveInterval: Duration

    private struct State: ~Copyable {
        var timers: [String: PausableTimer] = [:]
        var saver: PausableTimer?
    }

    private let store: (any AccountStore)?
    private let onSaveError: @Sendable (any Error) -> Void
    private let state = Lock(State())
    /// The lock is held while an account is read and saved, so that an older account never replaces
    /// a newer one. The value is whether the last save failed.
    private let saving = Lock(false)

    /// Creates a group without timers.
    ///
    /// - Parameters:
    ///   - queue: the queue of its timers.
    ///   - store: where their accounts are saved; nil: they are not saved.
    ///   - saveInterval: how often the accounts of running timers are saved; longer than zero.
    ///   - onSaveError: called when accounts cannot be saved, and again only after a save has
    ///     succeeded meanwhile. The timers continue.
    /// - Throws: `TimerArgumentError`.
    public init(
        on queue: TimerQueue = .shared, accounts store: (any AccountStore)? = nil,
        saveInterval: Duration = .milliseconds(500),
        onSaveError: @escaping @Sendable (any Error) -> Void = { _ in }
    ) throws(TimerArgumentError) {
        guard saveInterval > .zero else { throw .interval(saveInterval) }
        self.queue = queue
        self.store = store
        self.saveInterval = saveInterval
        self.onSaveError = onSaveError
    }

    // MARK: - Creating timers

    /// Creates a repeating timer with a name. The parameters are those of `PausableTimer.every`.
    ///
    /// - Throws: `TimerArgumentError` for an invalid argument, or if a timer with this name exists
    ///   that is not cancelled; the error of the store if the account cannot be loaded.
    @discardableResult
    public func every(
        _ name: String, _ interval: Duration, first: FirstTick? = nil, times: Int? = nil,
        tolerance: Duration = .zero, counting basis: TimeBasis = .active,
        paused isPaused: Bool = false, handlerQueue: DispatchQueue? = nil,
        handler: @escaping @Sendable (Tick) -> Void
    ) throws -> PausableTimer {
        try add(
            .every(
                interval, first: first, times: times, tolerance: tolerance, counting: basis,
                paused: isPaused, restoring: account(of: name), on: queue,
                handlerQueue: handlerQueue,
                handler: savingFirst(name, isRare: interval >= saveInterval, handler)), name)
    }

    /// Creates a timer with a name that ticks once. The parameters are those of
    /// `PausableTimer.after`.
    ///
    /// - Throws: as `every`.
    @discardableResult
    public func after(
        _ name: String, _ delay: Duration, tolerance: Duration = .zero,
        counting basis: TimeBasis = .active, paused isPaused: Bool = false,
        handlerQueue: DispatchQueue? = nil, handler: @escaping @Sendable (Tick) -> Void
    ) throws -> PausableTimer {
        try add(
            .after(
                delay, tolerance: tolerance, counting: basis, paused: isPaused,
                restoring: account(of: name), on: queue, handlerQueue: handlerQueue,
                handler: savingFirst(name, isRare: true, handler)), name)
    }

    /// The account from which a new timer with this name continues.
    private func account(of name: String) throws -> TimerAccount? {
        if let timer = self[name], timer.state != .cancelled { throw Self.taken(name) }
        return try store?.load(name)
    }

    private static func taken(_ name: String) -> TimerArgumentError {
        TimerArgumentError("a timer \"\(name)\" exists already; cancel that one first")
    }

    private func add(_ timer: PausableTimer, _ name: String) throws -> PausableTimer {
        let (old, isTaken) = state.withLock { state -> (PausableTimer?, Bool) in
            let old = state.timers[name]
            if let old, old.state != .cancelled { return (nil, true) }
            state.timers[name] = timer
            return (old, false)
        }
        // The old timer is released here, outside the lock.
        withExtendedLifetime(old) {}
        guard !isTaken else { throw Self.taken(name) }
        guard store != nil else { return timer }
        timer.reference.execute(.observe { [weak self] in self?.changed(name) })
        save(name)
        try followRunning()
        return timer
    }

    // MARK: - Looking up and controlling

    /// The timer with this name; nil if there is none.
    public subscript(name: String) -> PausableTimer? { state.withLock { $0.timers[name] } }

    /// The names of its timers, in no particular order.
    /// - Complexity: O(*n*).
    public var names: [String] { state.withLock { Array($0.timers.keys) } }

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
    public func cancel(_ name: String) -> Bool {
        let timer = state.withLock { $0.timers.removeValue(forKey: name) }
        guard let timer else { return false }
        timer.cancel()
        let failure = saving.withLock { _ -> (any Error)? in
            do { try store?.remove(name) } catch { return error }
            return nil
        }
        if let failure { onSaveError(failure) }
        return true
    }

    /// Pauses all timers of the group, one after the other.
    public func pauseAll() { forAll { pause($0) } }

    /// Resumes all timers of the group, one after the other.
    public func resumeAll() { forAll { resume($0) } }

    /// Ends all timers permanently and deletes their accounts.
    public func cancelAll() { forAll { cancel($0) } }

    /// Saves all accounts now, for example before the program ends.
    public func save() { forAll { save($0) } }

    @inline(never)
    private func forAll(_ body: (String) -> Void) {
        for name in names { body(name) }
    }

    @inline(never)
    private func withTimer(_ name: String, _ body: (PausableTimer) -> Void) -> Bool {
        guard let timer = self[name] else { return false }
        body(timer)
        return true
    }

    // MARK: - Saving

    /// Wraps the handler so that the tick is saved first. A program that is killed in the handler
    /// then does not repeat the tick.
    private func savingFirst(
        _ name: String, isRare: Bool, _ handler: @escaping @Sendable (Tick) -> Void
    ) -> @Sendable (Tick) -> Void {
        guard store != nil, isRare else { return handler }
        return { [weak self] tick in
            self?.save(name)
            handler(tick)
        }
    }

    private func changed(_ name: String) {
        save(name)
        // The error is ignored because the interval was checked when the group was created.
        try? followRunning()
    }

    @inline(never)
    private func save(_ name: String) {
        guard let store else { return }
        let failure = saving.withLock { hasFailed -> (any Error)? in
            guard let timer = self[name], timer.state != .cancelled else { return nil }
            var account = timer.account
            account.saveInterval = saveInterval
            do {
                try store.save(account, as: name)
                hasFailed = false
            } catch {
                defer { hasFailed = true }
                return hasFailed ? nil : error
            }
            return nil
        }
        if let failure { onSaveError(failure) }
    }

    /// Saves the accounts repeatedly while any timer is running, and only then: a program whose
    /// timers are all paused is not woken up.
    @inline(never)
    private func followRunning() throws(TimerArgumentError) {
        let saver: PausableTimer
        if let made = state.withLock({ $0.saver }) {
            saver = made
        } else {
            let made = try PausableTimer.every(
                saveInterval, for: self, tolerance: saveInterval / 10, paused: true, on: queue
            ) { group, _ in group.saveRunning() }
            saver = state.withLock { state in
                let kept = state.saver ?? made
                state.saver = kept
                return kept
            }
        }
        if state.withLock({ $0.timers.values.contains { $0.state == .running } }) {
            saver.resume()
        } else {
            saver.pause()
        }
    }

    private func saveRunning() {
        for name in names where self[name]?.state == .running { save(name) }
        try? followRunning()
    }
}
