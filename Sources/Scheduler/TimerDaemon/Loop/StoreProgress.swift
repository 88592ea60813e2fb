// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What the store has caught up with. Firings of a job may wait until the rows of earlier runs are
/// written. The deciding queue says whether any do, and the store's queue says what is written.
///
/// Whenever something is written while firings wait, a report is due, and one report at a time is on
/// its way. It does not matter in which order the two queues say something at the same moment.
final class StoreProgress: Sendable {
    private let writtenEvent = Atomic<UInt64>(0)
    private let isHolding = Atomic<Bool>(false)
    private let isOnItsWay = Atomic<Bool>(false)

    /// The number of the last event whose runs, and those of all events before it, are recorded.
    var written: UInt64 { writtenEvent.load(ordering: .acquiring) }

    /// Notes whether firings wait.
    ///
    /// - Parameter known: the event that the agenda knows to be written.
    /// - Returns: whether a report is due, because more was written just now.
    func note(isHolding holds: Bool, known: UInt64) -> Bool {
        guard holds || isHolding.load(ordering: .relaxed) else { return false }
        isHolding.store(holds, ordering: .sequentiallyConsistent)
        return holds && writtenEvent.load(ordering: .sequentiallyConsistent) != known
    }

    /// Notes that the runs of the events up to this one are recorded; 0 for none.
    ///
    /// - Returns: whether a report is due.
    func note(written event: UInt64) -> Bool {
        guard event > 0 else { return false }
        // Writes that keep their order finish one after the other, and only they are noted here, so
        // this check and the store cannot interleave.
        if event > writtenEvent.load(ordering: .relaxed) {
            writtenEvent.store(event, ordering: .sequentiallyConsistent)
        }
        return isHolding.load(ordering: .sequentiallyConsistent)
    }

    /// Whether a report that is due must be sent, because none is on its way.
    func beginReport() -> Bool { !isOnItsWay.exchange(true, ordering: .sequentiallyConsistent) }

    /// A report has arrived. This comes before the agenda handles it, so that each later write makes
    /// another one due.
    func endReport() { isOnItsWay.store(false, ordering: .sequentiallyConsistent) }
}
