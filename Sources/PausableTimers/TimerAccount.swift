// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What a timer's time amounts to at one reading of the clocks: enough to go on from in another run of the
/// program, also after a restart of the machine.
///
/// What counts between the runs is up to the basis: `active` time is what the program ran; `uptime` goes on
/// while the machine is awake, `boottime` while it is switched on, `wall` always. Time is never gained: what
/// may or may not have counted is left out, and told in `maxLoss`.
public struct TimerAccount: Hashable, Sendable {
    /// What the timer did. One that was cancelled is kept as it was before.
    public enum State: String, Hashable, Sendable, Codable {
        /// Its time counted.
        case running
        /// It was paused, and is after it was restored.
        case paused
        /// It had ticked for the last time.
        case finished
    }

    /// What the timer did.
    public var state: State
    /// Its active time in all.
    public var active: Duration
    /// Its active time since the last point of its grid.
    public var accrued: Duration
    /// How many points of its grid were passed.
    public var passed: Int
    /// How often it ticked.
    public var ticks: Int
    /// What counted as its time.
    public var basis: TimeBasis
    /// How much of its time may be missing at most, for the time between the last save and the end of a run.
    public var maxLoss: Duration
    /// How often it is saved: so much may be missing if the program is killed.
    public var saveInterval: Duration
    /// The clocks it holds for.
    public var savedAt: Now

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
    init(of row: Row, maxLoss: Duration, counted: CountedInstant, at now: Now) {
        let state: State =
            switch row.phase {
            case .running: .running
            case .paused: .paused
            case .finished: .finished
            }
        self.init(
            state: state, active: row.ledger.active(at: counted),
            accrued: row.ledger.accrued(at: counted), passed: row.grid.passed, ticks: row.ticks,
            basis: row.basis, maxLoss: maxLoss, savedAt: now)
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
    private enum Key: String, CodingKey {
        case state, active, accrued, passed, ticks, basis, maxLoss, saveInterval
        case wall, awake, boot, bootID
    }

    /// - Throws: `DecodingError` for anything that cannot be an account.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        func wrong(_ key: Key, _ what: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: values, debugDescription: what)
        }
        guard let basis = TimeBasis(rawValue: try values.decode(String.self, forKey: .basis)) else {
            throw wrong(.basis, "not active, uptime, boottime or wall")
        }
        guard let bootID = BootID(try values.decode(String.self, forKey: .bootID)) else {
            throw wrong(.bootID, "not a boot id")
        }
        let now = Now(
            wall: WallInstant(
                microsecondsSinceEpoch: try values.decode(Int64.self, forKey: .wall)),
            awake: AwakeInstant(nanoseconds: try values.decode(Int64.self, forKey: .awake)),
            boot: BootInstant(nanoseconds: try values.decode(Int64.self, forKey: .boot)),
            bootID: bootID)
        self.init(
            state: try values.decode(State.self, forKey: .state),
            active: try values.decode(Duration.self, forKey: .active),
            accrued: try values.decode(Duration.self, forKey: .accrued),
            passed: try values.decode(Int.self, forKey: .passed),
            ticks: try values.decode(Int.self, forKey: .ticks), basis: basis,
            maxLoss: try values.decode(Duration.self, forKey: .maxLoss),
            saveInterval: try values.decode(Duration.self, forKey: .saveInterval), savedAt: now)
        guard isValid else { throw wrong(.accrued, "impossible times") }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(state, forKey: .state)
        try values.encode(active, forKey: .active)
        try values.encode(accrued, forKey: .accrued)
        try values.encode(passed, forKey: .passed)
        try values.encode(ticks, forKey: .ticks)
        try values.encode(basis.rawValue, forKey: .basis)
        try values.encode(maxLoss, forKey: .maxLoss)
        try values.encode(saveInterval, forKey: .saveInterval)
        try values.encode(savedAt.wall.microsecondsSinceEpoch, forKey: .wall)
        try values.encode(savedAt.awake.nanoseconds, forKey: .awake)
        try values.encode(savedAt.boot.nanoseconds, forKey: .boot)
        try values.encode(savedAt.bootID.description, forKey: .bootID)
    }
}
