// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerCore

/// Answers one command. Only the first answer counts.
package final class Reply: Sendable {
    private struct Waiting {
        var answer: (@Sendable (Answer) -> Void)?
    }

    private let waiting: Mutex<Waiting>

    /// The job that the command is about; nil if the answer rests on no job.
    let job: Job.Name?

    /// Whether it belongs to a command for many jobs, which has a log entry of its own.
    let isPart: Bool

    init(
        about job: Job.Name? = nil, isPart: Bool = false,
        _ answer: @escaping @Sendable (Answer) -> Void
    ) {
        self.job = job
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
