// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Finds out when many runs start within a short time. In such a burst only the runner's thread gets
/// the short time slice, and not the processes that it starts.
struct StartBurst {
    /// More starts than this within this time, in nanoseconds, are a burst.
    static let many = (starts: 16, within: Int64(100_000_000))

    enum Change: Hashable { case began, ended }

    private var count = 0
    /// Since when they are counted, by CLOCK_MONOTONIC.
    private var since: Int64 = 0

    /// Counts the runs that start now.
    /// - Returns: whether a burst began or ended with that; nil if nothing changed.
    mutating func note(starts: Int, at now: Int64) -> Change? {
        let wereMany = count > Self.many.starts
        if now - since >= Self.many.within { (count, since) = (0, now) }
        count += starts
        let areMany = count > Self.many.starts
        return areMany == wereMany ? nil : areMany ? .began : .ended
    }
}
