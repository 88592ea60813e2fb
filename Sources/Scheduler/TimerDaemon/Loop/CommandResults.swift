// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
package import TimerCore

/// The results of a command for many jobs, collected until all are there.
package final class CommandResults: Sendable {
    /// The result for one job.
    package struct Result: Sendable {
        package var command: JobCommand
        package var answer: Answer
        package var snapshot: JobSnapshot?
    }

    private let state: Mutex<State>

    private struct State {
        var results: [Result?]
        /// How many results are missing; the transaction itself counts as one.
        var missing: Int
        let done: @Sendable ([Result]) -> Void
    }

    init(count: Int, done: @escaping @Sendable ([Result]) -> Void) {
        state = Mutex(
            State(results: Array(repeating: nil, count: count), missing: count + 1, done: done))
    }

    func note(_ result: Result, at index: Int) { note { $0.results[index] = result } }

    func noteSaved() { note { _ in } }

    private func note(_ change: (inout State) -> Void) {
        let isWhole = state.withLock { state in
            change(&state)
            state.missing -= 1
            return state.missing == 0
        }
        guard isWhole else { return }
        // No result comes after this.
        let whole = state.withLock { state in
            defer { state.results = [] }
            return state
        }
        // With many results this takes a while, so it does not happen on the deciding queue.
        DispatchQueue.answers.async { whole.done(whole.results.compactMap { $0 }) }
    }
}
