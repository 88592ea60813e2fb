// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerJSON

/// One attempt at a firing, at `run/<name>/<slot>:<n>`.
public struct RunValue: FleetValue {
    /// How far it is.
    public enum State: String, CaseIterable, Hashable, Sendable {
        /// A user wants a run on a machine, which has not yet claimed it.
        case requested
        /// A machine may start it, up to its start deadline.
        case claimed
        /// Its process was started.
        case began
        /// Its process ended.
        case ended
        /// The firing was skipped.
        case skipped
        /// It was claimed, and not started before its start deadline.
        case unstarted
        /// It is not known what became of it: its machine disappeared.
        case lost

        /// Whether it is not expected to change.
        public var isFinal: Bool {
            switch self {
            case .requested, .claimed, .began: false
            case .ended, .skipped, .unstarted, .lost: true
            }
        }
    }

    /// Who claimed or skipped it.
    public var machine: MachineName
    /// The start of the daemon that did.
    public var incarnation: Incarnation
    /// Drawn at random for each claim: by it a machine recognizes its own claim whose answer was
    /// lost.
    public var nonce: String
    /// The revision of the claim, `TIMERD_FENCE`; nil until it began: the store assigns the revision
    /// when it writes the claim.
    public var fence: Int64?
    /// How far it is.
    public var state: State
    /// The slots after this one up to its own are accounted for by it; nil for a run that is not
    /// scheduled or is a retry.
    public var after: WallInstant?
    /// How many slots besides its own it accounts for. Not negative.
    public var missed: Int64
    /// How it ended, for `ended`.
    public var outcome: RunOutcome?
    /// Why it was skipped, for `skipped`.
    public var reason: SkipKind?
    /// When it was claimed or skipped, by the wall clock of that machine.
    public var claimed: WallInstant
    /// When its process was started.
    public var began: WallInstant?
    /// When its process ended, or it became known that it would not start or is lost.
    public var ended: WallInstant?

    /// Creates a value.
    public init(
        machine: MachineName, incarnation: Incarnation, nonce: String, state: State = .claimed,
        after: WallInstant? = nil, missed: Int64 = 0, reason: SkipKind? = nil,
        claimed: WallInstant
    ) {
        self.machine = machine
        self.incarnation = incarnation
        self.nonce = nonce
        self.state = state
        self.after = after
        self.missed = missed
        self.reason = reason
        self.claimed = claimed
    }

    public init(reading fields: inout FleetFields) throws(FleetFault) {
        machine = try fields.parsed("machine", MachineName.init)
        incarnation = try fields.parsed("inc", Incarnation.init)
        nonce = try fields.text("nonce")
        fence = try fields.optionalNumber("fence")
        state = try fields.parsed("state", State.init(rawValue:))
        after = try fields.optionalWall("after_us")
        missed = try fields.count("missed")
        outcome = fields.has("outcome") ? try fields.parsed("outcome", RunOutcome.init) : nil
        reason =
            fields.has("reason") ? try fields.parsed("reason", SkipKind.init(stored:)) : nil
        claimed = try fields.wall("claimed_us")
        began = try fields.optionalWall("began_us")
        ended = try fields.optionalWall("ended_us")
        guard (outcome != nil) == (state == .ended), (reason != nil) == (state == .skipped) else {
            throw FleetFault("'outcome' belongs to an ended run, 'reason' to a skipped one")
        }
    }

    public var members: [String: JSONValue?] {
        [
            "machine": .string(machine.description), "inc": .string(incarnation.description),
            "nonce": .string(nonce), "fence": fence.map { .integer($0) },
            "state": .string(state.rawValue), "after_us": after?.json, "missed": .integer(missed),
            "outcome": outcome.map { .string($0.description) },
            "reason": reason.map { .string($0.stored) }, "claimed_us": claimed.json,
            "began_us": began?.json, "ended_us": ended?.json,
        ]
    }
}

extension RunValue {
    /// What became of the run. Of what is not given, what is known stays.
    mutating func settle(
        _ state: State, outcome: RunOutcome? = nil, reason: SkipKind? = nil,
        began: WallInstant? = nil, ended: WallInstant? = nil
    ) {
        self.state = state
        self.outcome = state == .ended ? outcome ?? self.outcome : nil
        self.reason = state == .skipped ? reason ?? self.reason : nil
        if let began { self.began = began }
        self.ended = state.isFinal ? ended ?? self.ended : nil
    }
}

extension RunValue {
    /// How the run of a job ended, in the words of one machine; nil while it has not ended, and of a
    /// firing that was skipped.
    func result(of job: FleetJob) -> RunOutcome? {
        switch state {
        case .unstarted: .lost(.unstarted)
        case .lost: .lost(.machine)
        case .ended: outcome?.judged(skipExitCodes: job.skipExitCodes)
        case .requested, .claimed, .began, .skipped: nil
        }
    }
}

extension SkipKind {
    /// The word for it in the store. It never changes: other machines may have other versions, and a word
    /// that they do not know is an error for them. So it has no words for what only one machine alone
    /// distinguishes.
    var stored: String {
        switch self {
        case .stillRunning, .concurrencyMax, .queueFull, .slotBusy: "overlap"
        case .missed, .catchUpMax, .clockSet, .outsideWindow: "missed"
        case .byOrder: "skip-next"
        case .deadline, .paused, .held, .redefined, .adopted, .away: word
        }
    }

    /// The reason with this word in the store; nil if there is none.
    init?(stored word: String) {
        guard let kind = Self.allCases.first(where: { $0.stored == word }) else { return nil }
        self = kind
    }
}
