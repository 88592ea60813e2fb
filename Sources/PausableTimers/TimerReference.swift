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
    public var state: TimerState { look { state, _ in state.rows[place].state } ?? .cancelled }

    /// What is left of its time until it is due, zero if it is; nil once it is finished or cancelled.
    public var remaining: Duration? {
        look { state, now in state.rows[place].remaining(at: now) } ?? nil
    }

    /// How long it was running in all since it was made or restarted; time in which it was paused left out.
    public var activeTime: Duration {
        look { state, now in state.rows[place].ledger.active(at: now) } ?? .zero
    }

    /// The time from each tick to the next; of a timer that ticks once, the time before its tick.
    public var interval: Duration { look { state, _ in state.rows[place].grid.span } ?? .zero }

    /// Its account as of now, to be saved and handed to a timer that goes on from there.
    public var account: TimerAccount {
        let now = queue.now()
        return look { state, counted in
            TimerAccount(
                of: state.rows[place], maxLoss: state.extras(of: place)?.maxLoss ?? .zero,
                counted: counted, at: now)
        } ?? TimerAccount(savedAt: now)
    }

    /// Stops its time, of which nothing is lost. Nothing happens to a timer that is not running.
    public func pause() {
        change { state, now, _ -> Void? in
            guard state.rows[place].state == .running else { return nil }
            state.rows[place].pause(at: now)
            return ()
        }
    }

    /// Goes on after a pause. Nothing happens to a timer that is not paused.
    ///
    /// - Parameter policy: what becomes of the time it was paused; by default it goes on with what was left.
    public func resume(_ policy: ResumePolicy = .keepRemaining) {
        change { state, now, _ -> Void? in
            guard state.rows[place].state == .paused else { return nil }
            state.rows[place].resume(policy, at: now)
            return ()
        }
    }

    /// Begins again as if it was just made: nothing accrued, no tick counted, running. Nothing happens to a
    /// timer that is cancelled.
    public func restart() {
        change { state, now, _ -> Void? in
            guard !state.rows[place].flags.contains(.cancelled) else { return nil }
            state.rows[place].restart(at: now)
            state.change(place, makes: false) { $0.maxLoss = .zero }
            return ()
        }
    }

    /// Ends it for good and releases its handler.
    ///
    /// - Returns: whether it was not cancelled before.
    @discardableResult
    public func cancel() -> Bool {
        change { state, _, leftovers in state.cancel(place, into: &leftovers) ? true : nil }
            ?? false
    }

    /// Cancels it, and returns once its handler is not running. Not to be waited for in the handler.
    public func finish() async {
        await withCheckedContinuation { continuation in
            let isWaiting = change { state, _, leftovers in
                _ = state.cancel(place, into: &leftovers)
                guard state.rows[place].flags.contains(.handling) else { return false }
                state.change(place) { $0.waiters.append(continuation) }
                return true
            }
            if isWaiting != true { continuation.resume() }
        }
    }

    /// Changes the interval while the timer goes on. What accrued counts towards the new one; if it is past
    /// that already, the timer ticks at once.
    ///
    /// - Parameter interval: longer than zero; of a timer that ticks once, not negative.
    /// - Throws: `TimerArgumentError`; the timer goes on as before.
    public func setInterval(_ interval: Duration) throws(TimerArgumentError) {
        let isRefused = change { state, now, _ -> Bool? in
            let isOnce = state.rows[place].flags.contains(.once)
            guard interval > .zero || (isOnce && interval == .zero) else { return true }
            state.rows[place].setInterval(interval, at: now)
            return false
        }
        if isRefused == true { throw .interval(interval) }
    }

    /// Adds a sequence that gets each tick from now on; nil if there will be none.
    func addStream() -> TickStream? {
        change { state, _, _ -> TickStream? in
            guard state.rows[place].remainsActive else { return nil }
            let stream = TickStream()
            state.change(place) { $0.streams.append(stream) }
            return stream
        }
    }

    func removeStream(_ stream: TickStream) {
        change { state, _, _ in
            state.change(place, makes: false) { $0.streams.removeAll { $0 === stream } }
            return ()
        }
    }

    /// Has `body` called after each order that changed the timer.
    func onChange(_ body: @escaping @Sendable () -> Void) {
        change { state, _, _ -> Void? in
            state.change(place) { $0.onChange = body }
            return nil
        }
    }

    private var place: Int { Int(slot) }

    private func look<Result: Sendable>(
        _ body: (borrowing QueueState, CountedInstant) -> Result
    ) -> Result? {
        queue.look(Int(slot), generation, body)
    }

    @discardableResult
    private func change<Result: Sendable>(
        _ body: (inout QueueState, CountedInstant, inout Leftovers) -> Result?
    ) -> Result? {
        queue.change(Int(slot), generation, body)
    }
}

extension Row {
    /// Whether it may tick again without being restarted.
    var remainsActive: Bool { state == .running || state == .paused }
}
