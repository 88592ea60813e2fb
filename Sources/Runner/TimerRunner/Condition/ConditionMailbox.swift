// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// What other threads report to the server's thread about conditions.
final class ConditionMailbox: Sendable {
    enum Message: Sendable {
        /// A thread has looked at the machine.
        case looked(Run.ID, number: UInt64, Condition.Answer)
        /// A command has begun.
        case began(Run.ID)
        /// A command has ended, and had written this line first.
        case ended(Run.ID, RunOutcome, line: [UInt8])
    }

    private struct State {
        var messages: [Message] = []
        /// The first line of each command that has written one.
        var lines: [Run.ID: [UInt8]] = [:]
    }

    private let state = Mutex(State())
    private let wake: Int32

    /// - Parameter wake: the eventfd(2) of the server's thread.
    init(wake: Int32) { self.wake = wake }

    func post(_ message: Message) {
        state.withLock { $0.messages.append(message) }
        EventFD.signal(wake)
    }

    func drain() -> [Message] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Takes an event about a command, on the runner's thread. Of its output only the first line is kept.
    func take(_ event: RunnerEvent) {
        switch event {
        case .output(let run, _, let line, _):
            state.withLock { state in
                guard state.lines[run] == nil, !line.isEmpty else { return }
                state.lines[run] = Array(line.prefix(ConditionCommand.lineBytesMax))
            }
        case .began(let run, _, _): post(.began(run))
        case .ended(let run, let end):
            let line = state.withLock { $0.lines.removeValue(forKey: run) }
            post(.ended(run, end.outcome, line: line ?? []))
        case .unfinished, .dropped, .limited, .slowed, .leftBehind: break
        }
    }

    /// Whether more output of a command is of any use.
    func outputGate(of run: Run.ID) -> OutputGate {
        state.withLock { $0.lines[run] == nil } ? .open : .discard
    }
}
