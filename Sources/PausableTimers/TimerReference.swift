// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A timer, without keeping it alive: what its handler gets, and what closures may hold that must not. Of a
/// timer that was released, every order is ignored and the state is `cancelled`.
///
/// All of it may be called from any thread, also in the handler of the timer itself. After `pause()` or
/// `cancel()` has returned no later tick begins; the handler of an earlier one may still be running.
public struct TimerReference: Sendable {
    let queue: TimerQueue
    let slot: Int32
    let generation: UInt32

    /// What the timer does now.
    public var state: TimerState { view?.state ?? .cancelled }

    /// What is left of its time until it is due, zero if it is; nil once it is finished or cancelled.
    public var remaining: Duration? { view?.remaining }

    /// How long it was running in all since it was made or restarted; time in which it was paused left out.
    public var activeTime: Duration { view?.active ?? .zero }

    /// The time from each tick to the next; of a timer that ticks once, the time before its tick.
    public var interval: Duration { view?.interval ?? .zero }

    /// Its account as of now, to be saved and handed to a timer that goes on from there.
    public var account: TimerAccount {
        @inline(never)
        get {
            queue.account(Int(slot), generation) ?? TimerAccount(savedAt: queue.now())
        }
    }

    /// Stops its time, of which nothing is lost. Nothing happens to a timer that is not running.
    public func pause() { obey(.pause) }

    /// Goes on after a pause. Nothing happens to a timer that is not paused.
    ///
    /// - Parameter policy: what becomes of the time it was paused; by default it goes on with what was left.
    public func resume(_ policy: ResumePolicy = .keepRemaining) { obey(.resume(policy)) }

    /// Begins again as if it was just made: nothing accrued, no tick counted, running. Nothing happens to a
    /// timer that is cancelled.
    public func restart() { obey(.restart) }

    /// Ends it for good and releases its handler.
    ///
    /// - Returns: whether it was not cancelled before.
    @discardableResult
    public func cancel() -> Bool { obey(.cancel) }

    /// Cancels it, and returns once its handler is not running. Not to be waited for in the handler.
    public func finish() async {
        await withCheckedContinuation { waiter in _ = obey(.finish(waiter)) }
    }

    /// Changes the interval while the timer goes on. What accrued counts towards the new one; if it is past
    /// that already, the timer ticks at once.
    ///
    /// - Parameter interval: longer than zero; of a timer that ticks once, not negative.
    /// - Throws: `TimerArgumentError`; the timer goes on as before.
    public func setInterval(_ interval: Duration) throws(TimerArgumentError) {
        guard interval > .zero || (interval == .zero && view?.isOnce != false) else {
            throw .interval(interval)
        }
        obey(.setInterval(interval))
    }

    private var view: TimerView? { queue.look(Int(slot), generation) }

    @discardableResult
    func obey(_ order: Order) -> Bool { queue.obey(order, Int(slot), generation) }
}
