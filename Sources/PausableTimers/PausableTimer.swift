// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A timer that can be paused and goes on with what was left, and that knows to the nanosecond how long it ran.
///
/// | | `pause()` | `resume()` | `restart()` | `cancel()` | released |
/// |---|---|---|---|---|---|
/// | running | paused; no later tick begins | – | at zero | cancelled; handler freed | freed |
/// | paused | – | goes on; what is due ticks at once | running, at zero | cancelled | freed |
/// | finished | – | – | running, at zero | cancelled | freed |
/// | cancelled | – | – | – | – | freed |
///
/// A timer exists for as long as something holds it; its handler does not. It may be used from any thread, and
/// never overlaps itself. A tick that comes late says how many it stands for (`Tick.missed`), and the next one
/// is on the original grid.
public final class PausableTimer: Sendable {
    /// The timer, without keeping it alive.
    public let reference: TimerReference

    init(_ reference: TimerReference) { self.reference = reference }

    deinit { reference.queue.release(Int(reference.slot), reference.generation) }

    /// What the timer does now.
    public var state: TimerState { reference.state }

    /// What is left of its time until it is due, zero if it is; nil once it is finished or cancelled.
    public var remaining: Duration? { reference.remaining }

    /// How long it was running in all since it was made or restarted; time in which it was paused left out.
    public var activeTime: Duration { reference.activeTime }

    /// The time from each tick to the next; of a timer that ticks once, the time before its tick.
    public var interval: Duration { reference.interval }

    /// Its account as of now, to be saved and handed to a timer that goes on from there.
    public var account: TimerAccount { reference.account }

    /// The ticks from now on. Ticks that come while the last one is not taken yet are one, which says how many
    /// it stands for. The sequence keeps the timer, and ends when the timer is finished or cancelled.
    public var ticks: Ticks { Ticks(of: self) }

    /// Stops its time, of which nothing is lost. Nothing happens to a timer that is not running.
    public func pause() { reference.pause() }

    /// Goes on after a pause. Nothing happens to a timer that is not paused.
    ///
    /// - Parameter policy: what becomes of the time it was paused; by default it goes on with what was left.
    public func resume(_ policy: ResumePolicy = .keepRemaining) { reference.resume(policy) }

    /// Begins again as if it was just made: nothing accrued, no tick counted, running. Nothing happens to a
    /// timer that is cancelled.
    public func restart() { reference.restart() }

    /// Ends it for good and releases its handler.
    ///
    /// - Returns: whether it was not cancelled before.
    @discardableResult
    public func cancel() -> Bool { reference.cancel() }

    /// Cancels it, and returns once its handler is not running. Not to be waited for in the handler.
    public func finish() async { await reference.finish() }

    /// Changes the interval while the timer goes on. What accrued counts towards the new one; if it is past
    /// that already, the timer ticks at once.
    ///
    /// - Parameter interval: longer than zero; of a timer that ticks once, not negative.
    /// - Throws: `TimerArgumentError`; the timer goes on as before.
    public func setInterval(_ interval: Duration) throws(TimerArgumentError) {
        try reference.setInterval(interval)
    }
}
