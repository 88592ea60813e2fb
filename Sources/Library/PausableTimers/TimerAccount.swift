// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Timekeeping

/// The saved time of a timer at one reading of the clocks. With it, a timer can continue in another
/// run of the program, also after a restart of the machine.
///
/// The basis decides what counts between the runs: `active` time counts only while the program
/// runs, `uptime` while the machine is awake, `boottime` while it is switched on, and `wall`
/// always. Time is never gained: time that may or may not have counted is left out, and `maxLoss`
/// says how much that may be.
public struct TimerAccount: Equatable, Sendable {
    /// The state of the timer. For a cancelled timer it is the state before it was cancelled.
    public enum State: String, Sendable {
        /// Its time counted.
        case running
        /// It was paused, and is paused again after it is restored.
        case paused
        /// It had made its last tick.
        case finished
    }

    /// The state as of `savedAt`.
    public let state: State
    /// Its active time in total, without pauses.
    public let active: Duration
    /// Its active time since the last grid point.
    public let accrued: Duration
    /// The active time from the last grid point to its next tick, if that tick was moved; nil if it
    /// is due as the interval says.
    public let next: Duration?
    /// The number of grid points that were passed.
    public let passed: Int
    /// The number of its ticks since it was created or restarted.
    public let ticks: Int
    /// What counted as its time, and so by which clock it can continue.
    public let basis: TimeBasis
    /// The maximum of its time that may be missing, because it passed between the last save and the
    /// end of a run.
    public let maxLoss: Duration
    /// How often it is saved: this much may be missing if the program is killed.
    public internal(set) var saveInterval: Duration
    /// The reading of the clocks to which it applies.
    public let savedAt: Now

    /// The maximum of each time in an account: what 63 bits of nanoseconds can count, or 292 years.
    public static let spanMax = Duration.nanoseconds(Int64.max)

    /// Creates an account; by default that of a timer that has just started.
    public init(
        state: State = .running, active: Duration = .zero, accrued: Duration = .zero,
        next: Duration? = nil, passed: Int = 0, ticks: Int = 0, basis: TimeBasis = .active,
        maxLoss: Duration = .zero,
        saveInterval: Duration = .seconds(1), savedAt: Now
    ) {
        self.state = state
        self.active = active
        self.accrued = accrued
        self.next = next
        self.passed = passed
        self.ticks = ticks
        self.basis = basis
        self.maxLoss = maxLoss
        self.saveInterval = saveInterval
        self.savedAt = savedAt
    }

    /// Whether the values are possible: no time is negative or longer than `spanMax`, the time
    /// since the last grid point is not more than the total, and there are no more ticks than grid
    /// points that were passed.
    public var isValid: Bool {
        let spans = [active, accrued, next ?? .zero, maxLoss, saveInterval]
        return spans.allSatisfy { $0 >= .zero && $0 <= Self.spanMax }
            && active >= accrued && ticks >= 0 && ticks <= passed
    }
}

extension TimerAccount {
    init(of row: borrowing Row, at now: Now) {
        let counted = now.counted(row.basis)
        let state: State =
            switch row.phase {
            case .running: .running
            case .paused: .paused
            case .finished: .finished
            }
        // The limits are for times that were restored from elsewhere: no timer runs for so long.
        self.init(
            state: state, active: min(row.ledger.active(at: counted), Self.spanMax),
            accrued: min(row.ledger.accrued(at: counted), Self.spanMax),
            next: row.flags.contains(.moved) ? min(row.next, Self.spanMax) : nil,
            passed: row.grid.passed, ticks: row.ticks, basis: row.basis,
            maxLoss: min(row.extras?.maxLoss ?? .zero, Self.spanMax), savedAt: now)
    }
}

extension Row {
    /// Continues from an account, with the time that counted since it was saved.
    ///
    /// - Throws: `TimerArgumentError` if the account is not valid.
    mutating func restore(_ account: TimerAccount, at now: Now) throws(TimerArgumentError) {
        guard account.isValid else {
            throw TimerArgumentError("an account with impossible times cannot be restored")
        }
        ledger = Ledger(active: account.active, accrued: account.accrued)
        grid.passed = account.passed
        ticks = account.ticks
        if let next = account.next {
            flags.insert(.moved)
            makeExtras().next = next
        }
        var maxLoss = account.maxLoss
        switch account.state {
        case .paused: phase = .paused
        // If the number of ticks was raised since, it goes on.
        case .finished: if ticksMax == .max || ticks >= ticksMax { phase = .finished }
        case .running:
            if ticks >= ticksMax { phase = .finished }
            let credit = Credit(
                account.basis, since: account.savedAt, lastProven: nil, at: now,
                lossBound: account.saveInterval)
            ledger.credit(credit.counted)
            maxLoss += credit.maxLoss
        }
        if maxLoss > .zero { makeExtras().maxLoss = maxLoss }
    }
}

extension TimerAccount: Codable {
    /// Decodes an account from one string: the line that `AccountFolder` writes, without its number
    /// and checksum.
    ///
    /// - Throws: `DecodingError` for anything that is not a valid account.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let account = TimerAccount(line: Array(try container.decode(String.self).utf8)[...])
        else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not the account of a timer")
        }
        self = account
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: line, as: UTF8.self))
    }
}
