// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Tells a scheduler when all ends of runs up to its request have been reported. A scheduler may
/// ask any number of times: its tokens increase, only one is passed to the runner at a time, and
/// the response to it also answers all earlier ones.
final class Barriers: Sendable {
    private struct State {
        /// Counts the connections: a token from an earlier connection gets no response.
        var connection = 0
        /// The latest token that was requested and not yet passed to the runner.
        var wanted: UInt64?
        var isUnderWay = false
    }

    private let runner: Runner
    private let answer: @Sendable (_ token: UInt64) -> Void
    private let state = Mutex(State())

    init(runner: Runner, answer: @escaping @Sendable (_ token: UInt64) -> Void) {
        self.runner = runner
        self.answer = answer
    }

    /// A scheduler has connected, and its tokens start from the beginning.
    func restart() {
        state.withLock { state in
            state.connection += 1
            state.wanted = nil
        }
    }

    /// Answers the token when every end that has happened before this call is reported.
    func barrier(_ token: UInt64) {
        let isFirst = state.withLock { state in
            state.wanted = max(token, state.wanted ?? 0)
            defer { state.isUnderWay = true }
            return !state.isUnderWay
        }
        if isFirst { askRunner() }
    }

    private func askRunner() {
        let asked: (token: UInt64, connection: Int)? = state.withLock { state in
            guard let token = state.wanted.take() else {
                state.isUnderWay = false
                return nil
            }
            return (token, state.connection)
        }
        guard let asked else { return }
        runner.barrier { [self] in
            if state.withLock({ $0.connection == asked.connection }) { answer(asked.token) }
            askRunner()
        }
    }
}
