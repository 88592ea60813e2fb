// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The jobs that are due and wait until an earlier run of theirs is recorded. Before that it is not
/// known whether the earlier run can start.
///
/// Each event has a number, and a run keeps the number of the event that decided it. A run is known
/// to be recorded when the shell says so of its event or of a later one.
struct StoreHold: Sendable {
    /// How many events were handled.
    private(set) var event: UInt64 = 0
    /// The runs that were decided up to this event are recorded and started.
    private(set) var storedThrough = UInt64.max
    private var slots: Set<Int> = []

    /// The number of jobs that wait.
    var count: Int { slots.count }

    /// The slots of the jobs that wait, in ascending order.
    var inOrder: [Int] { slots.sorted() }

    /// Numbers an event.
    mutating func beginEvent() { event += 1 }

    /// Notes that the runs that were decided up to this event are recorded.
    mutating func note(storedThrough event: UInt64) { storedThrough = event }

    /// Whether a run is not known to be recorded yet that was decided by this event.
    func isUnrecorded(_ event: UInt64) -> Bool { event > storedThrough }

    /// Lets a job wait.
    mutating func hold(_ slot: Int) { slots.insert(slot) }

    /// Ends the wait of a job.
    /// - Returns: whether it waited.
    @discardableResult
    mutating func release(_ slot: Int) -> Bool {
        !slots.isEmpty && slots.remove(slot) != nil
    }
}
