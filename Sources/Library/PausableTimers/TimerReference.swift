// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A reference that does not keep its timer alive. It is passed to the handler, and closures can
/// use it if they must not keep the timer alive. After the timer was released, all operations are
/// ignored and the state is `cancelled`.
///
/// Everything can be called from any thread, also in the handler of the timer itself. After
/// `pause()` or `cancel()` has returned, no later tick starts, but the handler of an earlier tick
/// may still be running.
public struct TimerReference: Sendable {
    let queue: TimerQueue
    let slot: Int32
    let generation: UInt32

    /// The state at this moment; `cancelled` if the timer is gone.
    public var state: TimerState { view?.state ?? .cancelled }

    /// The time that is left until it is due, zero if it is due; nil if it is finished or
    /// cancelled.
    public var remaining: Duration? { view?.remaining }

    /// How long it has been running in total since it was created or restarted, without pauses.
    public var activeTime: Duration { view?.active ?? .zero }

    /// The time from each tick to the next; for a timer that ticks once, the time before its tick.
    public var interval: Duration { view?.interval ?? .zero }

    /// Its account as of now. It can be saved, and another timer can continue from it.
    public var account: TimerAccount {
        @inline(never)
        get {
            queue.account(Int(slot), generation) ?? TimerAccount(savedAt: queue.now())
        }
    }

    /// Stops the time of the timer; its elapsed time is kept. Does nothing if the timer is not
    /// running.
    public func pause() { execute(.pause) }

    /// Continues after a pause. Does nothing if the timer is not paused.
    ///
    /// - Parameter policy: what to do about the time of the pause; by default the timer continues
    ///   with the remaining time.
    public func resume(_ policy: ResumePolicy = .keepRemaining) { execute(.resume(policy)) }

    /// Starts the timer again, as if it was just created: without elapsed time and ticks, and
    /// running. Does nothing if the timer is cancelled.
    public func restart() { execute(.restart) }

    /// Ends the timer permanently and releases its handler.
    ///
    /// - Returns: false if it was already cancelled.
    @discardableResult
    public func cancel() -> Bool { execute(.cancel) }

    /// Cancels the timer, and returns when its handler is not running. The handler itself must not
    /// wait for this.
    public func finish() async {
        await withCheckedContinuation { waiter in _ = execute(.finish(waiter)) }
    }

    /// Changes the interval while the timer continues. The elapsed time counts towards the new
    /// interval. If it is already longer than that, the timer ticks at once. A next tick that was
    /// moved stays where it is.
    ///
    /// - Parameter interval: longer than zero; for a timer that ticks once, not negative.
    /// - Throws: `TimerArgumentError`; the timer continues as before.
    public func setInterval(_ interval: Duration) throws(TimerArgumentError) {
        guard interval > .zero || (interval == .zero && view?.isOnce != false) else {
            throw .interval(interval)
        }
        execute(.setInterval(interval))
    }

    /// Lets the timer tick now, instead of at its next point; the tick after that comes a whole
    /// interval later. A timer that ticks once is then finished. Does nothing if the timer is not
    /// running.
    ///
    /// - Complexity: O(log *n*) in the number of timers of the queue, like all operations.
    public func tickNow() { execute(.tickNow) }

    /// Moves the next tick: it is due after this much counted time, and the ticks after that follow
    /// at intervals. A paused timer stays paused. Does nothing if the timer is finished or
    /// cancelled.
    ///
    /// - Parameter delay: not negative.
    /// - Throws: `TimerArgumentError`; the timer continues as before.
    public func setNextTick(after delay: Duration) throws(TimerArgumentError) {
        guard delay >= .zero else { throw .delay(delay) }
        execute(.moveNext(delay))
    }

    /// Moves the next tick by `span`: a countdown gets more time, or less if `span` is negative, at
    /// the least none. The ticks after that follow at intervals. Does nothing if the timer is
    /// finished or cancelled.
    public func addTime(_ span: Duration) { execute(.addTime(span)) }

    /// Says that the handler has returned, for a timer that `completesLater`.
    func complete() { queue.complete(Int(slot), generation) }

    func isSame(as other: TimerReference) -> Bool {
        slot == other.slot && generation == other.generation && queue === other.queue
    }

    var view: TimerView? { queue.look(Int(slot), generation) }

    @discardableResult
    func execute(_ command: TimerCommand) -> Bool { queue.execute(command, Int(slot), generation) }
}
