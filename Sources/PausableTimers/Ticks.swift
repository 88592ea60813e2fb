// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The ticks of a timer, to be awaited one after the other.
///
/// ```swift
/// for await tick in try PausableTimer.every(.seconds(1)).ticks {
///     print(tick.number, tick.missed)
/// }
/// ```
///
/// Each iterator gets every tick from when it was made. It holds at most one that was not taken yet.
public struct Ticks: AsyncSequence, Sendable {
    /// What the sequence consists of.
    public typealias Element = Tick
    /// It ends without an error.
    public typealias Failure = Never

    private let timer: PausableTimer

    init(of timer: PausableTimer) { self.timer = timer }

    /// Begins with the next tick.
    public func makeAsyncIterator() -> Iterator { Iterator(timer) }

    /// Takes the ticks one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription

        fileprivate init(_ timer: PausableTimer) { subscription = Subscription(timer) }

        /// The next tick; nil when the timer is finished or cancelled, and when the task is cancelled.
        public mutating func next() async -> Tick? { await subscription.stream.next() }
    }

    /// Ends the delivery when the iterator is gone.
    private final class Subscription: Sendable {
        let timer: PausableTimer
        let stream = TickStream()

        init(_ timer: PausableTimer) {
            self.timer = timer
            timer.reference.obey(.add(stream))
        }

        deinit { timer.reference.obey(.remove(stream)) }
    }
}

/// The latest tick that was not taken yet, and who waits for one.
final class TickStream: Sendable {
    private struct State: ~Copyable {
        var pending: Tick?
        var waiter: CheckedContinuation<Tick?, Never>?
        var isFinished = false
    }

    private let state = Lock(State())

    /// Hands the tick over, or lets it stand for one that was not taken.
    @inline(never)
    func send(_ tick: Tick) {
        let waiter = state.withLock { state -> CheckedContinuation<Tick?, Never>? in
            guard !state.isFinished else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            var merged = tick
            if let pending = state.pending { merged.missed += pending.missed + 1 }
            state.pending = merged
            return nil
        }
        waiter?.resume(returning: tick)
    }

    /// No tick comes any more. One that was not taken still can be.
    @inline(never)
    func finish() {
        let waiter = state.withLock { state -> CheckedContinuation<Tick?, Never>? in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    func next() async -> Tick? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> Tick?? in
                    if let pending = state.pending {
                        state.pending = nil
                        return pending
                    }
                    // Another task that waits for the same iterator would wait for ever.
                    if state.isFinished || Task.isCancelled || state.waiter != nil {
                        return .some(nil)
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
