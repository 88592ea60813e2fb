// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Has the runner say when every end that has come to pass is told. A scheduler may ask as often as it likes: its
/// tokens count upwards, one is on its way at a time, and the answer to it is the answer to all before it.
final class Barriers: Sendable {
    private struct State {
        /// Counts the connections: what was asked on an earlier one is answered to nobody.
        var connection = 0
        /// The latest token that was asked for and is not on its way.
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

    /// A scheduler has connected, whose tokens count anew.
    func restart() {
        state.withLock { state in
            state.connection += 1
            state.wanted = nil
        }
    }

    /// Answers the token once every end that has come to pass by now is told.
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
