// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which readings of the configuration are needed, and how far they are. Each has a number, from 1
/// on, so that what waits for one knows when it is over.
///
/// A reading is needed because the scheduler has requested a reload, or, as a check, because the
/// files have changed since the last one. If both is true, it is a reload. What is needed while one
/// is in progress is done by the next one: the files may have changed after it began.
struct ConfigReadings {
    private enum Phase {
        case idle
        case reading(isCheck: Bool)
        /// The latest one is over, and what waited for it is being handled.
        case applying(isCheck: Bool)
    }

    private var phase = Phase.idle
    private var needsReload = false
    private var needsCheck = false
    /// The number of the latest that was begun; 0: none.
    private(set) var latest: UInt64 = 0
    /// The number of the one with which the previous definitions are forgotten; nil: none.
    private var lastOfFormer: UInt64?

    // MARK: - What is needed

    /// A reload is needed; until the scheduler has finished its own, runs also start with the
    /// previous definitions.
    mutating func reload() {
        needsReload = true
        lastOfFormer = nil
    }

    /// The configuration was never read, or a job is unknown.
    mutating func read() { needsReload = true }

    /// The files may have changed.
    mutating func check() { needsCheck = true }

    /// A job is unknown, and the reading in progress may have it. Otherwise another one is needed.
    mutating func readUnlessUnderWay() {
        if !isReading, !needsCheck { needsReload = true }
    }

    /// A run waits for a later one than that which is over. What was only checked is checked again:
    /// the scheduler has not requested a reload.
    mutating func readOnceMore() {
        if isChecking { needsCheck = true } else if !needsCheck { needsReload = true }
    }

    var isNeeded: Bool { needsReload || needsCheck }

    /// Whether the definitions of jobs whose files have changed may not be the current ones.
    var mayDiffer: Bool { needsCheck || isChecking }

    /// The number of the first one that covers what has changed until now.
    var covering: UInt64 { latest + (isNeeded ? 1 : 0) }

    // MARK: - Progress

    var isReading: Bool { if case .reading = phase { true } else { false } }

    /// Whether the one that is in progress, or was until just now, is a check.
    var isChecking: Bool {
        switch phase {
        case .reading(let isCheck), .applying(let isCheck): isCheck
        case .idle: false
        }
    }

    /// The number of the latest that is over.
    var over: UInt64 { latest - (isReading ? 1 : 0) }

    /// Begins the one that is needed.
    /// - Returns: whether it is a check; nil if none is needed, or if one is in progress.
    mutating func begin() -> Bool? {
        guard isNeeded, !isReading else { return nil }
        let isCheck = !needsReload
        (needsReload, needsCheck) = (false, false)
        phase = .reading(isCheck: isCheck)
        latest += 1
        return isCheck
    }

    /// Ends the one in progress: what waited for it is handled next, up to `didApply`.
    /// - Returns: whether the previous definitions are forgotten with it.
    mutating func apply() -> Bool {
        phase = .applying(isCheck: isChecking)
        guard let last = lastOfFormer, last <= latest else { return false }
        lastOfFormer = nil
        return true
    }

    mutating func didApply() { phase = .idle }

    /// The scheduler has finished its reload, and does not need the previous definitions.
    /// - Returns: whether they are forgotten now; otherwise once the new ones are read.
    mutating func forgetFormer() -> Bool {
        guard needsReload || isReading else { return true }
        lastOfFormer = latest + (needsReload ? 1 : 0)
        return false
    }
}
