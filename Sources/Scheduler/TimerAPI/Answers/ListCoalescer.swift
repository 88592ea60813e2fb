// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerCore

/// Makes expensive answers one at a time, each for all clients that had asked when it was started,
/// and rests between them. However many clients ask, and however often, the processors are free for
/// due runs most of the time. (A lower nice value would not help: a preempted thread that holds the
/// lock of the heap delays all others.)
final class ListCoalescer<Input: Sendable, Answer: Sendable>: Sendable {
    /// How long to rest after an answer, as a multiple of the time that the answer took.
    private static var rest: UInt64 { 4 }

    /// Collects the data for the answer, on the queue of its owner, and passes it on.
    typealias Gather = @Sendable (_ done: @escaping @Sendable (Input) -> Void) -> Void

    // No `Task` is used here; see `DispatchQueue.answers`. The queues are separate, so that short answers
    // there do not wait for a long one here.
    private let queue = DispatchQueue(label: "timerd.listings", qos: .utility)
    private let gather: Gather
    private let make: @Sendable (Input) -> Answer
    private let state = Mutex(State())

    private struct State {
        var waiting: [@Sendable (Answer) -> Void] = []
        var isBusy = false
    }

    /// - Parameter make: makes the answer from the collected data; may be slow.
    init(
        gather: @escaping Gather, make: @escaping @Sendable (Input) -> Answer
    ) {
        self.gather = gather
        self.make = make
    }

    /// Calls `reply` once, with an answer that is not older than this call.
    func list(_ reply: @escaping @Sendable (Answer) -> Void) {
        let isFirst = state.withLock { state in
            state.waiting.append(reply)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if isFirst { begin() }
    }

    private func begin() {
        let replies = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        let began = DispatchTime.now()
        gather { [self] input in
            // Encoding many jobs is slow, so it happens on this queue: neither the caller nor due
            // runs wait for it.
            queue.async { [self] in
                let answer = make(input)
                for reply in replies { reply(answer) }
                let end = DispatchTime.now()
                let took = end.uptimeNanoseconds - began.uptimeNanoseconds
                queue.asyncAfter(deadline: end + .nanoseconds(Int(took * Self.rest))) { [self] in
                    resume()
                }
            }
        }
    }

    private func resume() {
        let isDone = state.withLock { state in
            state.isBusy = !state.waiting.isEmpty
            return !state.isBusy
        }
        if !isDone { begin() }
    }
}
