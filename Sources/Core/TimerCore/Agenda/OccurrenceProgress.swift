// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How far the occurrences of a schedule by the wall clock are processed, and which one is next.
///
/// What is processed only moves on, so that no occurrence fires twice. It goes back only when the
/// schedule restarts, and for what fires once in each boot.
struct OccurrenceProgress: Sendable {
    /// All occurrences up to this instant were processed.
    private(set) var through: WallInstant
    /// The next occurrence; nil if there is none, or if it is not known.
    @PackedInstant private(set) var next: WallInstant? = nil

    init(through instant: WallInstant) { through = instant }

    /// Notes that the occurrences up to this instant are processed.
    mutating func pass(_ instant: WallInstant) { through = max(through, instant) }

    /// Makes the occurrences after this instant due again.
    mutating func goBack(to instant: WallInstant) { through = min(through, instant) }

    /// Notes which occurrence is next; nil for none.
    mutating func expect(_ occurrence: WallInstant?) { next = occurrence }

    /// Forgets what was processed: the schedule begins after this instant.
    mutating func restart(after instant: WallInstant) {
        through = instant
        next = nil
    }
}
