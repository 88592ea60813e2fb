// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The fleet clock as one machine follows it: its estimate, and whether that was compared with those of
/// the others. Only then this machine opens and closes accounts, because an opening discards what others
/// are ahead.
struct FollowedClock {
    /// What was read or changed in the store, beside its values.
    struct Seen {
        /// Whether the watch brought it. What it brings is new; what a transaction reads may be as old as
        /// a write of the clock.
        var isWatched: Bool
        /// Whether this machine wrote it just now.
        var isOwn: Bool
        /// The revisions that were read; nil: the key was not read, or there is none.
        var hold: Int64?
        var clock: Int64?
    }

    /// Nil while the store is not known.
    private(set) var estimate: FleetClock?
    private(set) var isCompared = false {
        didSet { if !isCompared { comparison = ClockComparison() } }
    }
    /// What is known until then.
    private var comparison = ClockComparison()

    /// The store is another one.
    mutating func forget() { estimate = nil }

    /// The estimate may be behind those of the others by any time.
    mutating func loseTrack() { isCompared = false }

    /// The store was read.
    mutating func load(
        hold: Versioned<HoldValue>, clock: Versioned<ClockValue>?, at now: AwakeInstant
    ) {
        var estimate = estimate ?? FleetClock(hold: hold, at: now)
        estimate.receive(hold, at: now)
        if let clock {
            // Accounts were opened while this machine was away, and what it knew does not count any
            // more. The value that it takes instead may be old.
            if clock.value.openings > estimate.openings { isCompared = false }
            estimate.receive(clock, at: now)
        }
        estimate.loaded(at: now)
        if self.estimate == nil { isCompared = false }
        // During a hold the clock stands, and its reading is exactly known.
        if hold.value.isHeld { isCompared = true }
        comparison.began = now
        self.estimate = estimate
    }

    /// Something was read or changed.
    ///
    /// - Returns: the revision of a change of the clock that may be a comparison: see `compare`.
    mutating func see(
        hold: Versioned<HoldValue>, clock: Versioned<ClockValue>?, _ seen: Seen,
        at now: AwakeInstant
    ) -> Int64? {
        guard var estimate else { return nil }
        let openings = estimate.openings
        if estimate.receive(hold, at: now) {
            isCompared = hold.value.isHeld
            comparison.began = now
        }
        if let clock {
            estimate.receive(clock, at: now, isOwn: seen.isOwn && seen.clock != nil)
        }
        self.estimate = estimate
        if seen.isWatched, seen.hold == hold.modified {
            isCompared = true
        } else if seen.isWatched, seen.clock == estimate.modified {
            return estimate.modified
        } else if estimate.openings > openings, !seen.isOwn, isCompared {
            // The watch brings the same value soon.
            isCompared = false
            comparison.changes = 1
            comparison.began = now
        }
        return nil
    }

    /// This machine wrote the clock, while it reads the store again. The snapshot brings the same value, but
    /// perhaps seconds later, and the time between would be discarded: an opening sets the estimate to its
    /// value.
    mutating func applyOwn(_ value: ClockValue, revision: Int64, at now: AwakeInstant) {
        estimate?.receive(Versioned(value, created: revision, modified: revision), at: now)
    }

    /// A change of the clock is new, but its value may be old: its write can have been delayed by the
    /// store. The next one was calculated after this one was written, because it compares that.
    ///
    /// So a second change is a comparison if it is of another machine, whose own clock is compared.
    /// Without that, the other machines get the time for a write that was lost before. So does a machine
    /// that seems to be alone: after an outage of the store, others may not have a lease again yet.
    ///
    /// - Parameter grace: how long the others may need to be there again.
    mutating func compare(
        _ revision: Int64, isOfOther: Bool, grace: Duration, at now: AwakeInstant
    ) {
        guard comparison.see(revision, at: now) else { return }
        let isLong = comparison.began.map { now >= $0 + grace } ?? false
        if isLong || isOfOther && comparison.changes >= 2 { isCompared = true }
    }
}

/// What a machine has seen of the clock since it began to compare its estimate with the others'.
private struct ClockComparison {
    /// When it began; nil while the store is not known.
    var began: AwakeInstant?
    /// How many changes it has seen. Those that come together count as one: they waited somewhere, for
    /// example while the machine slept, and more of them may follow.
    var changes = 0
    /// When the last one that counts came.
    private var counted: AwakeInstant?
    /// The revision of the last one.
    private var last: Int64 = 0

    /// - Returns: whether the change counts.
    mutating func see(_ revision: Int64, at now: AwakeInstant) -> Bool {
        guard revision > last else { return false }
        last = revision
        guard counted.map({ now >= $0 + FleetClock.period / 2 }) ?? true else { return false }
        changes += 1
        counted = now
        return true
    }
}
