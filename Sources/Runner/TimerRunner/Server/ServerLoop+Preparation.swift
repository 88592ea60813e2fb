// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerRunnerProtocol

/// What a scheduler that starts wants to know: whether its runs can start at once.
extension ServerLoop {
    /// Reads the configuration for a new connection, unless the definitions in use are up to date.
    mutating func prepare(_ connection: Connection) {
        if definitions.isEmpty {
            isStale = true
        } else if settings.hasChanged() {
            mustCheck = true
        }
        connection.reading = readings + (isStale || mustCheck ? 1 : 0)
    }

    /// Answers the scheduler's question once the reading for its connection is done, whatever the
    /// result.
    func answerIfPrepared() {
        let done = readings - (isReading ? 1 : 0)
        guard let connection, connection.question == .asked, done >= connection.reading else {
            return
        }
        connection.question = .answered
        outbound.barrierReached(Wire.preparedToken)
    }
}
