// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Timers by name, which are looked up, paused and resumed by it. With an `AccountStore`, each goes on where
/// it was when the program ended, however that was.
///
/// An account is saved when its timer is paused, resumed, restarted or changed, before that call returns; while
/// it runs, every `saveInterval`; and at each tick, before its handler is called, if ticks are no more frequent
/// than that. So a program that is killed loses at most about `saveInterval` of each timer's time.
///
/// The group keeps its timers. A name that it does not know is harmless.
public final class TimerGroup: Sendable {
    /// Where the timers tick.
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
    /// Held while an account is taken and saved, so that none is replaced by an older one. Says whether the last
    /// save failed.
    private let saving = Lock(false)

    /// A group without timers.
    ///
    /// - Parameters:
    ///   - queue: where its timers tick.
    ///   - store: where their accounts are saved; nil: nowhere.
    ///   - saveInterval: how often those of running timers are; longer than zero.
    ///   - onSaveError: called when accounts cannot be saved, and not again until they could be. The timers go
    ///     on.
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

    // MARK: - Making timers

    /// A timer that ticks again and again, under a name. The parameters are those of `PausableTimer.every`.
    ///
    /// - Throws: `TimerArgumentError` for an argument, or if a timer of this name exists that is not cancelled;
    ///   what the store throws if the account cannot be loaded.
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

    /// A timer that ticks once, under a name. The parameters are those of `PausableTimer.after`.
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

    /// What a new timer of this name goes on from.
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
        // Released here, outside the lock.
        withExtendedLifetime(old) {}
        guard !isTaken else { throw Self.taken(name) }
        guard store != nil else { return timer }
        timer.reference.obey(.observe { [weak self] in self?.changed(name) })
        save(name)
        try followRunning()
        return timer
    }

    // MARK: - Looking up and controlling

    /// The timer of this name; nil if there is none.
    public subscript(name: String) -> PausableTimer? { state.withLock { $0.timers[name] } }

    /// The names of its timers, in no order.
    /// - Complexity: O(*n*).
    public var names: [String] { state.withLock { Array($0.timers.keys) } }

    /// Pauses a timer. Whether there is one of this name.
    @discardableResult
    public func pause(_ name: String) -> Bool { withTimer(name) { $0.pause() } }

    /// Lets a timer go on. Whether there is one of this name.
    @discardableResult
    public func resume(_ name: String, _ policy: ResumePolicy = .keepRemaining) -> Bool {
        withTimer(name) { $0.resume(policy) }
    }

    /// Lets a timer begin again. Whether there is one of this name.
    @discardableResult
    public func restart(_ name: String) -> Bool { withTimer(name) { $0.restart() } }

    /// Ends a timer for good and forgets its account; the name is free again. Whether there was one.
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

    /// Pauses all of them.
    public func pauseAll() { forAll { pause($0) } }

    /// Lets all of them go on.
    public func resumeAll() { forAll { resume($0) } }

    /// Ends all of them for good and forgets their accounts.
    public func cancelAll() { forAll { cancel($0) } }

    /// Saves every account now, as at the end of the program.
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

    /// The handler, before which the tick is saved: a program that is killed does not tick twice for it.
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
        // The interval was checked when the group was made.
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

    /// Accounts are saved again and again while some timer runs, and not otherwise: a program whose timers are
    /// paused is not woken.
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
