// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerControl
import TimerCore

/// The latest events, for their readers. The deciding queue only adds values, under a short lock; everything else is
/// done by the readers.
package final class EventFeed: Sendable {
    package init() {}

    package typealias Ring = EventRing<RecordedEvent>

    private struct State: ~Copyable {
        var ring = Ring(capacity: EventQuery.kept)
        /// Called with the next event, once; nil while no publisher waits.
        var waker: (@Sendable () -> Void)?
    }

    /// How many events are copied while the lock is held.
    private static let perLock = 64

    private let state = Mutex(State())

    /// Adds an event, and wakes the reader that waits for one. May be called on any thread.
    package func append(_ event: RecordedEvent) {
        let waker = state.withLock { state in
            state.ring.append(event)
            defer { state.waker = nil }
            return state.waker
        }
        waker?()
    }

    /// The number of the latest event; 0 without one.
    var newest: UInt64 { state.withLock { $0.ring.newest } }

    /// Has this called when there is an event behind `number`, once, on the thread that adds it.
    ///
    /// - Returns: false if there is one already; then it is not called.
    func wake(behind number: UInt64, _ body: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.ring.newest <= number else { return false }
            state.waker = body
            return true
        }
    }

    /// The events behind a number, at most `max` of them and through `last`.
    /// - Complexity: O(`max`).
    package func excerpt(after: UInt64, max: Int, through last: UInt64 = .max) -> Ring.Excerpt {
        var found = state.withLock { $0.ring.excerpt(after: after, max: min(max, Self.perLock)) }
        while found.elements.count < max {
            let through = found.through
            let more = state.withLock { $0.ring.excerpt(after: through, max: Self.perLock) }
            // What was lost meanwhile is a gap for the next time.
            guard more.gap == nil, !more.elements.isEmpty else { break }
            found.elements += more.elements
            found.through = more.through
        }
        if found.elements.count > max { found.elements.removeLast(found.elements.count - max) }
        found.elements.removeAll { $0.number > last }
        found.through = found.elements.last?.number ?? min(found.through, last)
        return found
    }

    /// The number behind which the last events begin: of a job, or of all.
    /// - Complexity: O(*n*) in the events that are kept.
    func start(ofLast count: Int, of job: Job.Name?) -> UInt64 {
        var number = newest
        var left = count
        while left > 0, number > 0 {
            // Not all of them with one lock: to look at them takes a while.
            let first = number - min(number, UInt64(Self.perLock))
            let found = excerpt(after: first, max: Self.perLock, through: number)
            for (place, event) in found.elements.reversed() where left > 0 {
                number = place - 1
                if job == nil || event.job == job { left -= 1 }
            }
            // The events before those are not kept any more.
            guard found.gap == nil, !found.elements.isEmpty else { break }
        }
        return number
    }
}
