// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A timer that can be paused and later continues with the remaining time, and that measures its
/// active time to the nanosecond.
///
/// | | `pause()` | `resume()` | `restart()` | `cancel()` | released |
/// |---|---|---|---|---|---|
/// | running | paused; no later tick starts | – | from zero | cancelled; handler released | freed |
/// | paused | – | continues; ticks at once if due | running, from zero | cancelled | freed |
/// | finished | – | – | running, from zero | cancelled | freed |
/// | cancelled | – | – | – | – | freed |
///
/// A timer exists as long as something references it; its handler does not count. It can be used
/// from any thread, and its handler never runs twice at the same time. A late tick says how many
/// ticks it stands for (`Tick.missed`), and the next tick is on the original grid. Each operation
/// takes O(log *n*) in the number of timers of its queue, and reading a property O(1).
public final class PausableTimer: Sendable {
    /// A reference to the timer that does not keep it alive.
    public let reference: TimerReference

    init(_ reference: TimerReference) { self.reference = reference }

    deinit { reference.queue.release(Int(reference.slot), reference.generation) }

    /// The state at this moment. Another thread may change it at any time.
    public var state: TimerState { reference.state }

    /// The time that is left until it is due, zero if it is due; nil if it is finished or
    /// cancelled.
    public var remaining: Duration? { reference.remaining }

    /// How long it has been running in total since it was created or restarted, without pauses.
    public var activeTime: Duration { reference.activeTime }

    /// The time from each tick to the next; for a timer that ticks once, the time before its tick.
    public var interval: Duration { reference.interval }

    /// Its account as of now. It can be saved, and another timer can continue from it.
    public var account: TimerAccount { reference.account }

    /// The ticks from now on. If several ticks come before the reader takes one, they become one
    /// tick that says how many it stands for. The sequence keeps the timer alive, and ends when the
    /// timer is finished or cancelled.
    public var ticks: Ticks { Ticks(of: self) }

    /// Stops the time of the timer; its elapsed time is kept. Does nothing if the timer is not
    /// running.
    public func pause() { reference.pause() }

    /// Continues after a pause. Does nothing if the timer is not paused.
    ///
    /// - Parameter policy: what to do about the time of the pause; by default the timer continues
    ///   with the remaining time.
    public func resume(_ policy: ResumePolicy = .keepRemaining) { reference.resume(policy) }

    /// Starts the timer again, as if it was just created: without elapsed time and ticks, and
    /// running. Does nothing if the timer is cancelled.
    public func restart() { reference.restart() }

    /// Ends the timer permanently and releases its handler.
    ///
    /// - Returns: false if it was already cancelled.
    @discardableResult
    public func cancel() -> Bool { reference.cancel() }

    /// Cancels the timer, and returns when its handler is not running. The handler itself must not
    /// wait for this.
    public func finish() async { await reference.finish() }

    /// Changes the interval while the timer continues. The elapsed time counts towards the new
    /// interval. If it is already longer than that, the timer ticks at once. A next tick that was
    /// moved stays where it is.
    ///
    /// - Parameter interval: longer than zero; for a timer that ticks once, not negative.
    /// - Throws: `TimerArgumentError`; the timer continues as before.
    public func setInterval(_ interval: Duration) throws(TimerArgumentError) {
        try reference.setInterval(interval)
    }

    /// Lets the timer tick now, instead of at its next point; the tick after that comes a whole
    /// interval later. A timer that ticks once is then finished. Does nothing if the timer is not
    /// running.
    public func tickNow() { reference.tickNow() }

    /// Moves the next tick: it is due after this much counted time, and the ticks after that follow
    /// at intervals. A paused timer stays paused. Does nothing if the timer is finished or
    /// cancelled.
    ///
    /// - Parameter delay: not negative.
    /// - Throws: `TimerArgumentError`; the timer continues as before.
    public func setNextTick(after delay: Duration) throws(TimerArgumentError) {
        try reference.setNextTick(after: delay)
    }

    /// Moves the next tick by `span`: a countdown gets more time, or less if `span` is negative, at
    /// the least none. The ticks after that follow at intervals. Does nothing if the timer is
    /// finished or cancelled.
    public func addTime(_ span: Duration) { reference.addTime(span) }
}
