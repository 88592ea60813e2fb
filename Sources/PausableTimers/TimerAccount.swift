// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a timer's time amounts to at one reading of the clocks: enough to go on from in another run of the
/// program, also after a restart of the machine.
///
/// What counts between the runs is up to the basis: `active` time is what the program ran; `uptime` goes on
/// while the machine is awake, `boottime` while it is switched on, `wall` always. Time is never gained: what
/// may or may not have counted is left out, and told in `maxLoss`.
public struct TimerAccount: Equatable, Sendable {
    /// What the timer did. One that was cancelled is kept as it was before.
    public enum State: String, Sendable {
        /// Its time counted.
        case running
        /// It was paused, and is after it was restored.
        case paused
        /// It had ticked for the last time.
        case finished
    }

    /// What the timer did.
    public let state: State
    /// Its active time in all.
    public let active: Duration
    /// Its active time since the last point of its grid.
    public let accrued: Duration
    /// How many points of its grid were passed.
    public let passed: Int
    /// How often it ticked.
    public let ticks: Int
    /// What counted as its time.
    public let basis: TimeBasis
    /// How much of its time may be missing at most, for the time between the last save and the end of a run.
    public let maxLoss: Duration
    /// How often it is saved: so much may be missing if the program is killed.
    public internal(set) var saveInterval: Duration
    /// The clocks it holds for.
    public let savedAt: Now

    /// An account as described; by default that of a timer which has just begun.
    public init(
        state: State = .running, active: Duration = .zero, accrued: Duration = .zero,
        passed: Int = 0, ticks: Int = 0, basis: TimeBasis = .active, maxLoss: Duration = .zero,
        saveInterval: Duration = .seconds(1), savedAt: Now
    ) {
        self.state = state
        self.active = active
        self.accrued = accrued
        self.passed = passed
        self.ticks = ticks
        self.basis = basis
        self.maxLoss = maxLoss
        self.saveInterval = saveInterval
        self.savedAt = savedAt
    }

    /// Whether it can be one: nothing in it is negative, and no more accrued than was active.
    public var isValid: Bool {
        accrued >= .zero && active >= accrued && passed >= 0 && ticks >= 0 && ticks <= passed
            && maxLoss >= .zero && saveInterval >= .zero
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
        self.init(
            state: state, active: row.ledger.active(at: counted),
            accrued: row.ledger.accrued(at: counted), passed: row.grid.passed, ticks: row.ticks,
            basis: row.basis, maxLoss: row.extras?.maxLoss ?? .zero, savedAt: now)
    }
}

extension Row {
    /// Goes on from an account, with what counted since it was saved.
    ///
    /// - Returns: how much of the time may be missing.
    /// - Throws: `TimerArgumentError` if it is no account.
    mutating func restore(
        _ account: TimerAccount, at now: Now
    ) throws(TimerArgumentError) -> Duration {
        guard account.isValid else {
            throw TimerArgumentError("an account with impossible times cannot be restored")
        }
        ledger = Ledger(active: account.active, accrued: account.accrued)
        grid.passed = account.passed
        ticks = account.ticks
        switch account.state {
        case .paused: phase = .paused
        case .finished: phase = .finished
        case .running:
            let credit = Credit(
                account.basis, since: account.savedAt, lastProven: nil, at: now,
                lossBound: account.saveInterval)
            ledger.credit(credit.counted)
            return account.maxLoss + credit.maxLoss
        }
        return account.maxLoss
    }
}

extension TimerAccount: Codable {
    /// One string, the line that `AccountFolder` writes without its number and checksum.
    ///
    /// - Throws: `DecodingError` for anything that cannot be an account.
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
