// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a scheduler that starts wants to know: whether its runs can start at once.
extension ServerLoop {
    /// A reading of the configuration that a new connection made necessary.
    struct Preparation {
        /// Its number.
        var reading: UInt64
        /// The first barrier of the connection: it is held until the reading is done.
        var barrier: UInt64?
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

    /// A second barrier is for a decision that must not wait for a disk. The answer to it is one to the
    /// first, too.
    mutating func barrier(_ token: UInt64) {
        if preparation != nil, preparation?.barrier == nil {
            preparation?.barrier = token
        } else {
            preparation = nil
            barriers.barrier(token)
        }
    }

    /// Answers the barrier that is held if the reading for it is done, whatever its result.
    mutating func endPreparation() {
        guard let ended = preparation, !isReading, readings >= ended.reading else { return }
        preparation = nil
        if let token = ended.barrier { barriers.barrier(token) }
    }
}
