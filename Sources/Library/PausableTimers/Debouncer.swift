// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Handles the last of several values when no other one has come for a while: what a user types,
/// after they have stopped typing.
///
/// ```swift
/// let search = try Debouncer<String>(.milliseconds(300)) { text in find(text) }
/// search.send("p")
/// search.send("pa")   // after 300 ms: find("pa")
/// ```
///
/// It can be used from any thread, and exists as long as something references it. Each operation
/// takes O(log *n*) in the number of timers of the queue.
public final class Debouncer<Value: Sendable>: Sendable {
    private let timer: PausableTimer
    /// The lock is also held while the timer is started, so that a tick that is just handled does
    /// not take a newer value too early.
    private let latest: Latest<Value>

    /// Creates a debouncer without a value.
    ///
    /// - Parameters:
    ///   - quiet: how long no other value may come before one is handled; not negative.
    ///   - queue: the queue that runs the handler.
    ///   - handler: called with the value, and never twice at the same time.
    /// - Throws: `TimerArgumentError`.
    public convenience init(
        _ quiet: Duration, on queue: TimerQueue = .shared,
        handler: @escaping @Sendable (Value) -> Void
    ) throws(TimerArgumentError) {
        let latest = Latest<Value>()
        let timer = try PausableTimer.after(quiet, paused: true, on: queue) { tick in
            let value = latest.value.withLock { value -> Value? in
                guard tick.timer.state == .finished else { return nil }
                defer { value = nil }
                return value
            }
            if let value { handler(value) }
        }
        self.init(timer, latest)
    }

    private init(_ timer: PausableTimer, _ latest: Latest<Value>) {
        self.timer = timer
        self.latest = latest
    }

    /// Replaces the value that is not handled yet, and starts to wait again. Does nothing after
    /// `cancel()`.
    public func send(_ value: Value) {
        latest.value.withLock { latest in
            latest = value
            timer.restart()
        }
    }

    /// Handles the value now, if there is one that is not handled yet.
    public func flush() { timer.tickNow() }

    /// Drops the value that is not handled yet, and all further ones.
    public func cancel() {
        timer.cancel()
        latest.value.withLock { $0 = nil }
    }
}

/// A value that waits to be handled.
final class Latest<Value: Sendable>: Sendable {
    let value = Lock<Value?>(nil)
}
