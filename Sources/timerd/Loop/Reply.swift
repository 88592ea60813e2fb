// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// Somebody who waits for the answer to an order. The first answer is the one they get.
final class Reply: Sendable {
    private struct Waiting {
        var answer: (@Sendable (Answer) -> Void)?
    }

    private let waiting: Mutex<Waiting>

    /// Whether the order is one of an order for many jobs, of which a line in the log tells.
    let isPart: Bool

    init(isPart: Bool = false, _ answer: @escaping @Sendable (Answer) -> Void) {
        self.isPart = isPart
        waiting = Mutex(Waiting(answer: answer))
    }

    func callAsFunction(_ answer: Answer) {
        let take = waiting.withLock { waiting in
            defer { waiting.answer = nil }
            return waiting.answer
        }
        take?(answer)
    }
}
