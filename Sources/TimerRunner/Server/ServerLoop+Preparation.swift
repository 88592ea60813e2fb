// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerRunnerProtocol

/// What a scheduler that starts wants to know: whether its runs can start at once.
extension ServerLoop {
    /// A reading of the configuration that a new connection made necessary.
    struct Preparation {
        /// Its number.
        var reading: UInt64
        /// Whether the scheduler waits for it.
        var isAwaited = false
    }

    /// Reads the configuration for a new connection, unless the definitions in use are up to date.
    mutating func prepare() {
        if definitions.isEmpty {
            isStale = true
        } else if settings.hasChanged() {
            mustCheck = true
        }
        let isDue = isStale || mustCheck
        if isDue || isReading { preparation = Preparation(reading: readings + (isDue ? 1 : 0)) }
    }

    mutating func answerOncePrepared() {
        if preparation == nil { answerPrepared() } else { preparation?.isAwaited = true }
    }

    /// Ends the preparation if its reading is done, whatever the result.
    mutating func endPreparation() {
        guard let ended = preparation, !isReading, readings >= ended.reading else { return }
        preparation = nil
        if ended.isAwaited { answerPrepared() }
    }

    /// Once for each connection, however often the scheduler asks.
    private func answerPrepared() {
        guard let connection, connection.isGreeted, !connection.isPrepared else { return }
        connection.isPrepared = true
        outbound.barrierReached(Wire.preparedToken)
    }
}
