// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The tasks that a manual time woke up and that do not wait for it again yet, so that time can wait
/// for them.
final class Activity: Sendable {
    private struct State: ~Copyable {
        /// The tasks, by their hash values, and negative numbers for handlers whose tasks have not
        /// started yet.
        var busy: [Int] = []
        var lastStart = 0
        /// How many tasks wait for a tick.
        var waiting = 0
        var observers: [Observer] = []

        mutating func insert(_ task: Int) { if !busy.contains(task) { busy.append(task) } }

        @discardableResult
        mutating func remove(_ task: Int) -> Bool {
            guard let index = busy.firstIndex(of: task) else { return false }
            busy.remove(at: index)
            return true
        }

        mutating func takeObservers() -> [Observer] {
            var met: [Observer] = []
            var others: [Observer] = []
            for observer in observers {
                if observer.isMet(busy.count, waiting) {
                    met.append(observer)
                } else {
                    others.append(observer)
                }
            }
            observers = others
            return met
        }
    }

    /// A test that waits until the tasks have reached some state.
    private final class Observer: Sendable {
        /// Whether it is reached with these numbers of busy and of waiting tasks.
        let isMet: @Sendable (Int, Int) -> Bool
        let task: CheckedContinuation<Void, Never>

        init(
            _ isMet: @escaping @Sendable (Int, Int) -> Bool,
            _ task: CheckedContinuation<Void, Never>
        ) {
            self.isMet = isMet
            self.task = task
        }
    }

    private let state = Lock(State())

    /// Identifies the task that calls this. Two tasks have the same number only by an accident that
    /// does not happen.
    static var currentTask: Int {
        withUnsafeCurrentTask { task in task.map { $0.hashValue & .max } ?? 0 }
    }

    private func change(_ body: (inout State) -> Void) {
        let met = state.withLock { state -> [Observer] in
            body(&state)
            return state.observers.isEmpty ? [] : state.takeObservers()
        }
        for observer in met { observer.task.resume() }
    }

    /// A handler was called whose task has not started yet.
    func start() -> Int {
        var number = 0
        change { state in
            state.lastStart -= 1
            number = state.lastStart
            state.insert(number)
        }
        return number
    }

    /// The task of the handler has started.
    func begin(_ start: Int) {
        let task = Self.currentTask
        change { state in
            state.remove(start)
            state.insert(task)
        }
    }

    /// The current task has no more to do because of the tick that woke it up.
    func end(_ task: Int = Activity.currentTask) { change { _ = $0.remove(task) } }

    /// The task waits for a tick. Returns whether it was busy.
    func wait(_ task: Int) -> Bool {
        var wasBusy = false
        change { state in
            wasBusy = state.remove(task)
            state.waiting += 1
        }
        return wasBusy
    }

    /// A task that waited is woken up.
    func wake(_ task: Int, isBusy: Bool) {
        change { state in
            state.waiting -= 1
            if isBusy { state.insert(task) }
        }
    }

    /// Resumes the continuation when a condition on the numbers of busy and of waiting tasks is met.
    func resume(
        _ task: CheckedContinuation<Void, Never>, when isMet: @escaping @Sendable (Int, Int) -> Bool
    ) {
        let observer = Observer(isMet, task)
        change { $0.observers.append(observer) }
    }
}
