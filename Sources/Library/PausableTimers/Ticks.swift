// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The ticks of a timer as an asynchronous sequence.
///
/// ```swift
/// for await tick in try PausableTimer.every(.seconds(1)).ticks {
///     print(tick.number, tick.missed)
/// }
/// ```
///
/// Each iterator receives all ticks since it was created. It stores at most one tick that was not
/// read yet.
public struct Ticks: AsyncSequence, Sendable {
    /// Each element is one tick, which may stand for earlier ones too.
    public typealias Element = Tick
    /// The sequence never throws.
    public typealias Failure = Never

    private let timer: PausableTimer

    init(of timer: PausableTimer) { self.timer = timer }

    /// Creates an iterator that starts with the next tick.
    public func makeAsyncIterator() -> Iterator { Iterator(timer) }

    /// Reads the ticks one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription

        init(_ timer: PausableTimer, isSleep: Bool = false) {
            subscription = Subscription(timer, isSleep: isSleep)
        }

        /// The next tick; nil when the timer is finished or cancelled, and when the task is
        /// cancelled.
        public mutating func next() async -> Tick? { await subscription.stream.next() }
    }

    /// Ends the subscription when the iterator is released.
    private final class Subscription: Sendable {
        let timer: PausableTimer
        let stream: TickStream

        init(_ timer: PausableTimer, isSleep: Bool) {
            self.timer = timer
            stream = TickStream(activity: timer.reference.queue.activity, isSleep: isSleep)
            timer.reference.execute(.add(stream))
        }

        deinit {
            timer.reference.execute(.remove(stream))
            stream.readerEnded()
        }
    }
}

/// The latest tick that was not read yet, and the task that waits for one.
final class TickStream: Sendable {
    private struct State: ~Copyable {
        var pending: Tick?
        var waiter: CheckedContinuation<Tick?, Never>?
        var isFinished = false
        /// The task that waits, or waited last, if the time is manual.
        var task: Int?
        /// Whether that task was busy before it waited here for the first time.
        var wasBusy = false
    }

    /// The tasks that work because of ticks, for a manual time.
    private let activity: Activity?
    /// Whether the reader waits for one tick only, and then does something else.
    private let isSleep: Bool

    private let state = Lock(State())

    init(activity: Activity?, isSleep: Bool) {
        self.activity = activity
        self.isSleep = isSleep
    }

    /// Passes the tick to the waiting task, or stores it, combined with a tick that was not read
    /// yet.
    @inline(never)
    func send(_ tick: Tick) {
        let waiter = state.withLock { state -> CheckedContinuation<Tick?, Never>? in
            guard !state.isFinished else { return nil }
            if let waiter = takeWaiter(of: &state) { return waiter }
            var merged = tick
            if let pending = state.pending {
                merged.missed = merged.missed.adding(clamping: pending.missed)
                    .adding(clamping: 1)
            }
            state.pending = merged
            return nil
        }
        waiter?.resume(returning: tick)
    }

    /// Ends the stream. A tick that was not read yet can still be read.
    @inline(never)
    func finish() {
        let waiter = state.withLock { state -> CheckedContinuation<Tick?, Never>? in
            state.isFinished = true
            return takeWaiter(of: &state)
        }
        waiter?.resume(returning: nil)
    }

    private func takeWaiter(of state: inout State) -> CheckedContinuation<Tick?, Never>? {
        guard let waiter = state.waiter else { return nil }
        state.waiter = nil
        if let task = state.task { activity?.wake(task, isBusy: !isSleep || state.wasBusy) }
        return waiter
    }

    /// The iterator was released: its task does not work because of its ticks any more.
    func readerEnded() {
        guard let activity, !isSleep else { return }
        let task = state.withLock { $0.wasBusy ? nil : $0.task }
        if let task { activity.end(task) }
    }

    func next() async -> Tick? {
        let task = activity == nil ? nil : Activity.currentTask
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> Tick?? in
                    if let pending = state.pending {
                        state.pending = nil
                        return pending
                    }
                    // A second task that waits with the same iterator would wait forever, so it
                    // gets nil.
                    if state.isFinished || Task.isCancelled || state.waiter != nil {
                        return .some(nil)
                    }
                    if let activity, let task {
                        let wasBusy = activity.wait(task)
                        if state.task == nil { state.wasBusy = wasBusy }
                        state.task = task
                    }
                    state.waiter = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            finish()
        }
    }
}
