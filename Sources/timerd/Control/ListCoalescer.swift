// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerCore

/// Makes answers that take long, one at a time, each for all clients that had asked when it was begun, and rests
/// between them: however many ask, and however often, what is due has the processors for most of the time.
/// (A lower nice value would not do: what is preempted while it holds the heap's lock holds up all others.)
final class ListCoalescer<Input: Sendable, Answer: Sendable>: Sendable {
    /// How long it rests after an answer, by how long that took.
    private static var rest: UInt64 { 4 }

    /// Gathers what there is to show.
    typealias Gather = @Sendable (_ done: @escaping @Sendable (Input) -> Void) -> Void

    // No `Task`: see `Control.queue`, whose short answers are not to wait for a long one here.
    private let queue = DispatchQueue(label: "timerd.listings", qos: .utility)
    private let gather: Gather
    private let make: @Sendable (Input) -> Answer
    private let state = Mutex(State())

    private struct State {
        var waiting: [@Sendable (Answer) -> Void] = []
        var isBusy = false
    }

    /// - Parameter make: makes the answer of what was gathered; may take its time.
    init(
        gather: @escaping Gather, make: @escaping @Sendable (Input) -> Answer
    ) {
        self.gather = gather
        self.make = make
    }

    /// Calls `reply`, once, with an answer of what is so no earlier than now.
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
            // Putting many jobs into words takes its time: not the time of whoever gathered them, nor of what
            // is due meanwhile.
            queue.async { [self] in
                let answer = make(input)
                for reply in replies { reply(answer) }
                let end = DispatchTime.now()
                let took = end.uptimeNanoseconds - began.uptimeNanoseconds
                queue.asyncAfter(deadline: end + .nanoseconds(Int(took * Self.rest))) { [self] in
                    goOn()
                }
            }
        }
    }

    private func goOn() {
        let isDone = state.withLock { state in
            state.isBusy = !state.waiting.isEmpty
            return !state.isBusy
        }
        if !isDone { begin() }
    }
}
