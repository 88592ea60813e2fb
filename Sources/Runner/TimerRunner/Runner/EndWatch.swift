// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which ends of processes may not have been handled yet, and who waits for that.
///
/// A barrier is passed at the end of the first loop iteration that began after it arrived, and that
/// handled everything that had happened by then.
struct EndWatch<Barrier> {
    /// Whether there may be more ended children, for which the kernel does not signal again.
    private(set) var mayHaveMore = false
    private var barriers: [Barrier] = []
    /// How many of them came before this iteration.
    private var before = 0

    /// Whether the next iteration must follow at once.
    var isBusy: Bool { mayHaveMore || !barriers.isEmpty }

    mutating func add(_ barrier: Barrier) { barriers.append(barrier) }

    mutating func beginIteration() { before = barriers.count }

    /// Some ended children were reaped.
    /// - Parameter areAll: whether no more of them have ended.
    mutating func didReap(areAll: Bool) { mayHaveMore = !areAll }

    /// Removes the barriers that are passed.
    /// - Parameter isComplete: whether everything was handled that had happened.
    mutating func endIteration(isComplete: Bool) -> [Barrier] {
        guard isComplete, !mayHaveMore, before > 0 else { return [] }
        defer {
            barriers.removeFirst(before)
            before = 0
        }
        return Array(barriers.prefix(before))
    }

    /// Removes all barriers, because no run is active any more.
    mutating func finish() -> [Barrier] {
        defer { barriers = [] }
        return barriers
    }
}
