// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The transactions of one machine: what is collected to be sent together, and what is not answered yet.
///
/// There is at most one transaction about a job at a time. Two writes of the fleet clock at a time would be
/// one too many: each compares the last one, so only one of them would be applied.
struct FleetOutbox {
    typealias ID = FleetMember.TransactionID
    typealias Change = (job: Job.Name, branch: FleetTransaction.Branch)

    /// What a transaction without an answer is about.
    enum Purpose {
        case claims([Claim], sent: BootInstant)
        /// Asks what became of claims without an answer, and makes them impossible.
        case resolution([Claim], sent: BootInstant)
        /// Changes of these jobs.
        case jobs([Job.Name])
        case hold
        case clock
        /// Opens the accounts of these jobs, and writes the clock.
        case opening([Job.Name])
        case member
        case adoption(IdentityValue)
        /// Raises the format, or ends a recovery.
        case identity
        /// Asks for commands whether what is known is so; it changes nothing.
        case question
    }

    /// A transaction that is answered, or never will be.
    struct Taken {
        var purpose: Purpose
        var transaction: FleetTransaction
        /// The jobs that it was about, and those that waited for it.
        var jobs: [Job.Name]
    }

    /// How many transactions with changes of jobs are on their way at most. Meanwhile further changes
    /// come together: the transport makes one transaction after the other, and of a thousand runs that
    /// start at once, each alone would wait for those before it. One that is lost stops no other.
    static let changesSentMax = 4

    private var nonces: UInt64
    /// The number of the last transaction that was sent.
    private(set) var last: ID = 0
    private var sent: [ID: (purpose: Purpose, transaction: FleetTransaction)] = [:]
    private var busy: [Job.Name: ID] = [:]
    private var changes: [Change] = []
    private var openings: [Change] = []
    /// The jobs that are changed after an answer about other jobs, or to a write of the clock.
    private var changesLater: [Job.Name] = []
    private var openingsLater: [Job.Name] = []
    /// Claims whose answer is missing, until it is known what became of them.
    private var unresolved: [(claims: [Claim], sent: BootInstant)] = []

    /// - Parameter seed: of the nonces; drawn at random for each start.
    init(seed: UInt64) { nonces = seed }

    /// A text by which a machine recognizes its own claim in the store.
    mutating func nonce() -> String {
        nonces &+= 0x9e37_79b9_7f4a_7c15
        var mixed = nonces
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return String(mixed ^ (mixed >> 31), radix: 16)
    }

    // MARK: - What is sent

    /// Notes a transaction that is sent now. Until it is answered, its jobs are busy.
    mutating func add(_ transaction: FleetTransaction, for purpose: Purpose) -> ID {
        last += 1
        sent[last] = (purpose, transaction)
        for job in purpose.jobs { busy[job] = last }
        return last
    }

    /// Takes a transaction that is answered or never will be.
    mutating func take(_ id: ID) -> Taken? {
        guard let (purpose, transaction) = sent.removeValue(forKey: id) else { return nil }
        var taken = Taken(purpose: purpose, transaction: transaction, jobs: purpose.jobs)
        for job in taken.jobs where busy[job] == id { busy[job] = nil }
        if purpose.changesJobs {
            taken.jobs += changesLater
            changesLater = []
        }
        if purpose.writesClock {
            taken.jobs += openingsLater
            openingsLater = []
        }
        return taken
    }

    /// The transaction with this number; nil if it was taken.
    func transaction(_ id: ID) -> FleetTransaction? { sent[id]?.transaction }

    /// Whether a transaction about the job is not answered.
    func isBusy(_ job: Job.Name) -> Bool { busy[job] != nil }

    /// Whether a transaction for such a purpose is not answered.
    ///
    /// - Complexity: O(*n*) in those that are not answered, which are few.
    func has(where isMeant: (Purpose) -> Bool) -> Bool {
        sent.values.contains { isMeant($0.purpose) }
    }

    /// Whether a write of the fleet clock is not answered.
    var writesClock: Bool { has(where: \.writesClock) }

    /// Whether further changes of jobs must wait for an answer.
    var isFull: Bool {
        sent.values.count { $0.purpose.changesJobs } >= Self.changesSentMax
    }

    // MARK: - What is collected

    /// Collects a change of one job.
    ///
    /// - Parameter opensAccount: whether it is sent together with a write of the fleet clock.
    mutating func collect(_ change: Change, opensAccount: Bool) {
        if opensAccount { openings.append(change) } else { changes.append(change) }
    }

    /// What was collected since the last call, except for openings.
    mutating func takeChanges() -> [Change] {
        defer { changes = [] }
        return changes
    }

    /// The openings that were collected since the last call.
    mutating func takeOpenings() -> [Change] {
        defer { openings = [] }
        return openings
    }

    /// These jobs are decided about again after the next answer about other jobs.
    mutating func waitForChanges(_ jobs: some Sequence<Job.Name>) { changesLater += jobs }

    /// These jobs are decided about again after the answer to the write of the clock.
    mutating func waitForClock(_ jobs: some Sequence<Job.Name>) { openingsLater += jobs }

    // MARK: - Claims without an answer

    /// It is not known whether the claims of a transaction were applied.
    mutating func keepUnresolved(_ purpose: Purpose) {
        switch purpose {
        case .claims(let claims, let sent), .resolution(let claims, let sent):
            unresolved.append((claims, sent))
        case .jobs, .hold, .clock, .opening, .member, .adoption, .identity, .question: break
        }
    }

    /// The claims of which that must be asked.
    mutating func takeUnresolved() -> [(claims: [Claim], sent: BootInstant)] {
        defer { unresolved = [] }
        return unresolved
    }
}

extension FleetOutbox.Purpose {
    /// The jobs that are busy until it is answered.
    var jobs: [Job.Name] {
        switch self {
        case .claims(let claims, _), .resolution(let claims, _): claims.map(\.run.firing.job)
        case .jobs(let jobs), .opening(let jobs): jobs
        case .hold, .clock, .member, .adoption, .identity, .question: []
        }
    }

    fileprivate var changesJobs: Bool { if case .jobs = self { true } else { false } }

    fileprivate var writesClock: Bool {
        switch self {
        case .clock, .opening: true
        case .claims, .resolution, .jobs, .hold, .member, .adoption, .identity, .question: false
        }
    }

    var isMember: Bool { if case .member = self { true } else { false } }
    var isHold: Bool { if case .hold = self { true } else { false } }
    var isAdoption: Bool { if case .adoption = self { true } else { false } }
    var isQuestion: Bool { if case .question = self { true } else { false } }
    /// Whether it changes the format, or ends a recovery.
    var isIdentity: Bool { if case .identity = self { true } else { false } }
}
