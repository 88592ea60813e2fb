// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// Somebody who waits for the answer to an order. The first answer is the one they get.
final class Reply: Sendable {
    private let waiting: Mutex<(@Sendable (Answer) -> Void)?>

    /// Whether the order is one of an order for many jobs, of which a line in the log tells.
    let isPart: Bool

    init(isPart: Bool = false, _ answer: @escaping @Sendable (Answer) -> Void) {
        self.isPart = isPart
        waiting = Mutex(answer)
    }

    func callAsFunction(_ answer: Answer) {
        let take = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        take?(answer)
    }
}
