// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Saves the accounts of a group on a queue of its own, so that a slow disk delays neither the
/// timers nor the callers.
///
/// For each name at most one change waits: if the disk is slower than the changes, what is saved is
/// the account as of when its turn comes, and the accounts in between are never written. Only a
/// tick waits for its own save, and a timer has at most one of them.
final class AccountSaver: Sendable {
    enum Change: Sendable {
        case save(TimerReference)
        case remove
    }

    /// A tick that is handled when it is saved.
    private struct TickSave: Sendable {
        var name: String
        var timer: TimerReference
        var handle: @Sendable () -> Void
    }

    private struct State: ~Copyable {
        var changes: [String: Change] = [:]
        /// The names with a change, in the order in which they are saved.
        var names = Line<String>()
        var ticks = Line<TickSave>()
        /// Whether the last step saved a tick: the next one saves a change, if there is one.
        var wasTick = false
        var isScheduled = false
        /// How many callers make very many changes at this moment.
        var holds = 0
        var isWriting = false
        var hasFailed = false
    }

    let queue = DispatchQueue(label: "PausableTimers.accounts")
    private let store: any AccountStore
    private let saveInterval: Duration
    private let onError: @Sendable (any Error) -> Void
    /// Whether the time is manual: then everything is saved at once, on the thread of the caller.
    private let isManual: Bool
    private let state = Lock(State())
    /// The lock is held while an account is read and saved, so that an older account never replaces
    /// a newer one.
    private let storing = Lock(())

    init(
        _ store: any AccountStore, saveInterval: Duration, isManual: Bool,
        onError: @escaping @Sendable (any Error) -> Void
    ) {
        self.store = store
        self.saveInterval = saveInterval
        self.isManual = isManual
        self.onError = onError
    }

    // MARK: - What is to be saved

    /// Plans a change, which replaces an earlier one of that name. The caller then calls `start`.
    func plan(_ change: Change, of name: String) {
        state.withLock { state in
            if state.changes.updateValue(change, forKey: name) == nil { state.names.append(name) }
        }
    }

    /// Saves what is planned, soon.
    func start() {
        let isNew = state.withLock { state in
            guard state.holds == 0 else { return false }
            defer { state.isScheduled = true }
            return !state.isScheduled || isManual
        }
        guard isNew else { return }
        if isManual { saveAll() } else { schedule() }
    }

    /// Starts nothing while `body` runs, which makes very many changes: saving some of them
    /// meanwhile would only slow it down.
    func holding(_ body: () -> Void) {
        state.withLock { $0.holds += 1 }
        body()
        state.withLock { $0.holds -= 1 }
        start()
    }

    /// Saves the timer, and then calls `handle`, on the queue of the saver.
    func saveTick(_ name: String, _ timer: TimerReference, _ handle: @escaping @Sendable () -> Void)
    {
        state.withLock { $0.ticks.append(TickSave(name: name, timer: timer, handle: handle)) }
        start()
    }

    /// Saves everything that is planned now, and returns when that is done. It does not wait if it
    /// is called while the store saves: then it is saved after that.
    func saveAll() {
        let end = state.withLock { state -> (ticks: Int, names: Int)? in
            state.isWriting && isManual ? nil : (state.ticks.appended, state.names.appended)
        }
        guard let end else { return }
        while isManual
            || state.withLock({ $0.ticks.taken < end.ticks || $0.names.taken < end.names })
        {
            guard step() else { break }
        }
        // Another thread may still be writing what it took before.
        storing.withLock { _ in }
    }

    /// The account from which a new timer of this name continues.
    func load(_ name: String) throws -> TimerAccount? {
        let result = storing.withLock { _ -> Result<TimerAccount?, any Error> in
            if state.withLock({ $0.changes[name] != nil }) { return .success(nil) }
            return Result { try store.load(name) }
        }
        // A timer that had made its last tick is forgotten, also if its account is still there.
        return try result.get().flatMap { $0.state == .finished ? nil : $0 }
    }

    // MARK: - Saving

    private func schedule() {
        queue.async {
            if self.step() { return self.schedule() }
            // Something may have been planned since.
            let isEmpty = self.state.withLock { state in
                state.isScheduled = !state.names.isEmpty || !state.ticks.isEmpty
                return !state.isScheduled
            }
            if !isEmpty { self.schedule() }
        }
    }

    private enum Work {
        case tick(TickSave)
        case change(String, Change)
    }

    /// Saves one account. Returns false if there is nothing to save.
    private func step() -> Bool {
        var handle: (@Sendable () -> Void)?
        var failure: (any Error)?
        let isDone = storing.withLock { _ -> Bool in
            guard let work = state.withLock({ Self.take(from: &$0) }) else { return false }
            do {
                switch work {
                case .tick(let tick):
                    handle = tick.handle
                    try save(tick.timer, as: tick.name)
                case .change(let name, .save(let timer)): try save(timer, as: name)
                case .change(let name, .remove): try store.remove(name)
                }
                note(hasFailed: false)
            } catch {
                if note(hasFailed: true) { failure = error }
            }
            return true
        }
        if let failure { onError(failure) }
        handle?()
        return isDone
    }

    private static func take(from state: inout State) -> Work? {
        let isTick = !state.ticks.isEmpty && !(state.wasTick && !state.names.isEmpty)
        state.wasTick = isTick
        if isTick, let tick = state.ticks.popFirst() {
            state.isWriting = true
            return .tick(tick)
        }
        guard let name = state.names.popFirst(),
            let change = state.changes.removeValue(forKey: name)
        else { return nil }
        state.isWriting = true
        return .change(name, change)
    }

    /// Saves the account as of now. That of a timer that has made its last tick is deleted, and a
    /// cancelled or released timer is not saved.
    private func save(_ timer: TimerReference, as name: String) throws {
        guard timer.state != .cancelled else { return }
        var account = timer.account
        guard account.state != .finished else { return try store.remove(name) }
        account.saveInterval = saveInterval
        try store.save(account, as: name)
    }

    /// Returns whether an error is the first one since something was saved.
    @discardableResult
    private func note(hasFailed: Bool) -> Bool {
        state.withLock { state in
            state.isWriting = false
            defer { state.hasFailed = hasFailed }
            return hasFailed && !state.hasFailed
        }
    }
}

/// Elements that leave in the order in which they came. It is as long as it was at most.
private struct Line<Element> {
    private var elements: [Element?] = []
    private var first = 0
    /// The numbers of elements that came and left so far.
    private(set) var appended = 0
    private(set) var taken = 0

    var isEmpty: Bool { appended == taken }

    mutating func append(_ element: Element) {
        elements.append(element)
        appended += 1
    }

    /// - Complexity: O(1), amortized.
    mutating func popFirst() -> Element? {
        guard !isEmpty, let element = elements[first] else { return nil }
        elements[first] = nil
        first += 1
        taken += 1
        if first * 2 > elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
