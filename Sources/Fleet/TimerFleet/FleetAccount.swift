// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Which time counts for the account of an interval job. Time in which the job is paused or the fleet
/// is held never counts.
public enum FleetBasis: String, Hashable, Sendable {
    /// The time in which at least one machine is connected, by the fleet clock.
    case active
    /// All time, by the wall clocks of the machines.
    case wall
}

/// What the clocks of the accounts read, on one machine at one instant.
struct FleetReadings {
    /// The fleet clock.
    var fleet: Duration
    /// The number of the last opening that the fleet clock takes into account.
    var openings: Int64
    /// The wall clock without the time of the holds. Not negative.
    var wall: Duration

    /// The reading by which the time of this basis is counted.
    subscript(basis: FleetBasis) -> Duration {
        switch basis {
        case .active: fleet
        case .wall: wall
        }
    }
}

extension FleetMember {
    /// What the clocks of the accounts read; nil while the store was never known.
    ///
    /// - Parameter wall: what the wall clock reads; nil: now.
    func readings(_ now: Now, wall: WallInstant? = nil) -> FleetReadings? {
        guard let clock = fleetClock.estimate, let hold = store.last?.hold.value else {
            return nil
        }
        return FleetReadings(
            fleet: clock.reading(at: now.awake), openings: clock.openings,
            wall: hold.reading(at: wall ?? now.wall))
    }
}

/// The wall clock without the time of the holds: the clock of the accounts that count all time.
///
/// All machines calculate it from the same hold, and each transaction about a job compares the hold.
/// So it needs no value in the store that is written again and again, and it goes on while no machine
/// runs. Two machines read it with the difference of their wall clocks.
extension HoldValue {
    private static let epoch = WallInstant(microsecondsSinceEpoch: 0)

    /// The time since 1970 without the holds, when the wall clock reads this; zero before 1970. It
    /// stands during the last hold.
    func reading(at instant: WallInstant) -> Duration {
        var reading = min(instant, since ?? instant) - Self.epoch - earlier
        if !isHeld, let end { reading += max(.zero, instant - end) }
        return max(.zero, reading)
    }

    /// What the wall clock reads when that reading is reached; nil: only after the end of the hold.
    func instant(reaching target: Duration) -> WallInstant? {
        // Instants are whole microseconds, and it is reached at none before that.
        var sinceEpoch = target + earlier + .nanoseconds(999)
        if let since, let end, target + earlier > since - Self.epoch {
            guard !isHeld else { return nil }
            sinceEpoch += end - since
        }
        return Self.epoch + sinceEpoch
    }

    /// How long all holds took, including the last one if it has ended. Not negative.
    var held: Duration {
        guard !isHeld, let since, let end else { return earlier }
        return earlier + (end - since)
    }

    /// When the last hold ended. The clock of the machine that ended it can be behind that of the one
    /// that began it.
    private var end: WallInstant? { since.map { max($0, released ?? $0) } }
}

extension JobValue {
    /// Lets time count from now on. The fleet clock must be written with it, as its next opening.
    mutating func open(by readings: FleetReadings) {
        opened = readings[basis]
        if basis == .active { opening = readings.openings + 1 }
    }

    /// The reading by which the time of this job may be counted; nil if the fleet clock is one from
    /// before its account was opened.
    func reading(_ readings: FleetReadings) -> Duration? {
        let isKnown = opened == nil || basis == .wall || readings.openings >= opening
        return isKnown ? readings[basis] : nil
    }

    /// Adds the time up to now to the account. A reading that is smaller than the last one adds
    /// nothing.
    mutating func count(to time: Duration) {
        guard let opened else { return }
        let passed = max(.zero, time - opened)
        active += passed
        accrued += passed
        self.opened = max(time, opened)
    }
}
