// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What heartbeats say, and when a checkpoint of the time records is due.
///
/// Until the records of this instance are stored, its heartbeat also carries the time that heartbeats
/// of earlier instances prove, because the stored records are still based on those.
struct Heartbeats {
    /// How often a heartbeat is written while the time of some job counts: half of the time that a
    /// kill may cost, so that a late timer stays within that limit.
    static let interval: Duration = .milliseconds(500)
    /// How many heartbeats lie between two checkpoints: 25 s of the 30 s that a power cut may cost.
    static let perCheckpoint = 50

    /// How many heartbeats there were since `restart`.
    private var count = 0
    /// What heartbeats carry until the records of this instance are stored, and the reading of
    /// CLOCK_MONOTONIC from which its time counts.
    private var unstored: (state: Heartbeat.Unstored, since: AwakeInstant)?

    /// - Parameters:
    ///   - unstored: what heartbeats carry until the records of this instance are stored.
    ///   - since: from when the time of this instance counts.
    init(_ unstored: Heartbeat.Unstored, since: AwakeInstant) {
        self.unstored = (unstored, since)
    }

    /// Whether the first records of this instance are stored.
    var areRecordsStored: Bool { unstored == nil }

    /// The records of this instance are stored: from here on its heartbeats need no addition.
    mutating func noteStored() { unstored = nil }

    /// The heartbeat of this instance at this reading of the clocks.
    func heartbeat(of instance: DaemonInstance.ID, at now: Now) -> Heartbeat {
        let carried = unstored.map { $0.state.counting(max(.zero, now.awake - $0.since)) }
        return Heartbeat(instance: instance, at: now, unstored: carried)
    }

    /// The time of some job counts again.
    mutating func restart() { count = 0 }

    /// Counts a heartbeat.
    ///
    /// - Returns: whether a checkpoint is due.
    mutating func beat() -> Bool {
        count += 1
        return count.isMultiple(of: Self.perCheckpoint)
    }
}
