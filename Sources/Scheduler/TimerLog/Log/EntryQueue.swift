// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Dispatch
import Synchronization
import TimerCore

/// Writes entries in their order, on a queue of its own. An entry about a firing that is decided
/// ahead of the clocks is not written before that firing is due; later entries wait behind it. It is
/// written a moment later, together with the entries of that moment: a wake-up for each costs more
/// than the entry.
final class EntryQueue: Sendable {
    /// How long an entry waits for others once the firing is due that it waited for.
    static let timeout: Duration = .milliseconds(10)

    private let queue: DispatchQueue
    private let together: @Sendable (_ body: () -> Void) -> Void
    private let waiting = Mutex<Deque<Waiting>>([])

    private struct Waiting: Sendable {
        /// By CLOCK_MONOTONIC, in nanoseconds; 0: at once.
        var at: UInt64
        var write: @Sendable () -> Void
        var written: (@Sendable () -> Void)?
    }

    /// - Parameter together: calls its argument, which writes a batch of entries. When it returns,
    ///   all of them are written, as far as their reader takes them.
    init(
        label: String, together: @escaping @Sendable (_ body: () -> Void) -> Void = { $0() }
    ) {
        queue = DispatchQueue(label: label, qos: .utility)
        self.together = together
    }

    /// Adds an entry to the end of the queue.
    ///
    /// - Parameters:
    ///   - delay: how long it waits at least.
    ///   - written: called on the queue when the entry is written, with all others of its batch.
    ///   - write: called on the queue to write it.
    func add(
        after delay: Duration = .zero, written: (@Sendable () -> Void)? = nil,
        _ write: @escaping @Sendable () -> Void
    ) {
        var one = Waiting(at: 0, write: write, written: written)
        if delay > .zero {
            one.at = DispatchTime.now().uptimeNanoseconds + UInt64(delay.wholeNanoseconds)
        }
        let place = waiting.withLock { [one] waiting in
            if waiting.isEmpty, one.at == 0 { return 0 }
            waiting.append(one)
            return waiting.count
        }
        // Further ones are written behind the first that waits.
        if place == 0 {
            queue.async {
                write()
                written?()
            }
        }
        if place == 1 { writeWaiting(at: one.at) }
    }

    private func writeWaiting(at instant: UInt64) {
        let deadline = instant + UInt64(Self.timeout.wholeNanoseconds)
        queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: deadline)) { [self] in
            var written: [@Sendable () -> Void] = []
            together {
                while let one = takeFirst() {
                    one.write()
                    if let done = one.written { written.append(done) }
                }
            }
            for done in written { done() }
            guard let next = waiting.withLock({ $0.first?.at }) else { return }
            writeWaiting(at: next)
        }
    }

    /// The first entry, if its time has come.
    private func takeFirst() -> Waiting? {
        let now = DispatchTime.now().uptimeNanoseconds
        return waiting.withLock { waiting in
            guard let first = waiting.first, first.at <= now else { return nil }
            return waiting.popFirst()
        }
    }
}
