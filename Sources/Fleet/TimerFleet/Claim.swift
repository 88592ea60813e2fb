// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The claim of one attempt at a firing of one job, or the record that it is skipped: the next value
/// of the job and the value of the run, written together.
public struct Claim: Hashable, Sendable {
    /// The attempt.
    public var run: Run.ID
    /// The value to write for it.
    public var value: RunValue
    /// The next value of the job.
    public var job: JobValue
    /// The revision of the value from which it was made.
    public var known: Int64
    /// The revision of the run's key: 0 for a new run, and that of the request or of the claim by an
    /// earlier start of this daemon for one that exists.
    public var knownRun: Int64
    /// The attempt that this one follows, and its revision: what it became decides whether there is
    /// another one.
    public var previous: Versioned<Run.ID>?
    /// Final runs of the job that are removed, because the store keeps the newest ones only.
    public var removed: [Run.ID]

    /// Creates a claim.
    public init(
        run: Run.ID, value: RunValue, job: JobValue, known: Int64, knownRun: Int64 = 0,
        previous: Versioned<Run.ID>? = nil, removed: [Run.ID] = []
    ) {
        self.run = run
        self.value = value
        self.job = job
        self.known = known
        self.knownRun = knownRun
        self.previous = previous
        self.removed = removed
    }

    private var jobKey: FleetKey { .job(run.firing.job) }

    var branch: FleetTransaction.Branch {
        FleetTransaction.Branch(
            compares: [.modified(jobKey, known), .modified(.run(run), knownRun)]
                + (previous.map { [.modified(.run($0.value), $0.modified)] } ?? []),
            changes: [
                .put(jobKey, job.text, lease: nil), .put(.run(run), value.text, lease: nil),
            ] + removed.map { .delete(.run($0)) },
            reads: [jobKey, .run(run)] + (previous.map { [.run($0.value)] } ?? []))
    }

    /// Asks whether this claim was applied, and makes it impossible if it was not.
    ///
    /// A claim without an answer may still be on its way. That its run does not exist now proves
    /// nothing, so the job is written once more with its known value: after that, the revision that
    /// a late claim compares has passed.
    ///
    /// - Parameter current: the value of the job that is known now. It is not the claim's own if a
    ///   change was seen since; then the comparison fails, and what is read is certain.
    func resolving(_ current: Versioned<JobValue>) -> FleetTransaction.Branch {
        FleetTransaction.Branch(
            compares: [.modified(jobKey, known), .modified(jobKey, current.modified)],
            changes: [.put(jobKey, current.value.text, lease: nil)], reads: [jobKey, .run(run)])
    }
}

/// The result of a claim.
public enum ClaimResult: Hashable, Sendable {
    /// It was applied; the revision is the fence.
    case won(Int64)
    /// Something changed before it: the current values, nil if they do not exist.
    case refused(job: Versioned<JobValue>?, run: Versioned<RunValue>?)
    /// The lease, or the hold, is not what the claim assumes. No claim of the transaction was
    /// applied.
    case notAllowed
}

extension FleetTransaction {
    /// The claims of several jobs, at most `branchesMax`, each of another job.
    ///
    /// - Parameters:
    ///   - lease: that of this machine's key: without it, other machines believe that this one is
    ///     gone.
    ///   - hold: the revision of the hold that this machine knows. A hold that was made and released
    ///     since then stopped the fleet clock, which this machine does not know.
    public static func claiming(
        _ claims: [Claim], by machine: MachineName, lease: LeaseID, hold: Int64
    ) -> Self {
        Self(
            compares: [.lease(.member(machine), lease), .modified(.hold, hold)],
            branches: claims.map(\.branch), reads: [.member(machine), .hold])
    }
}

extension FleetAnswer {
    /// The result of one of the claims of a transaction that `claiming` made.
    ///
    /// - Parameter index: of the claim in the transaction.
    /// - Throws: `FleetFault` if a value cannot be read.
    public func result(
        of claim: Claim, at index: Int
    ) throws(FleetFault) -> ClaimResult {
        guard branches.indices.contains(index) else { return .notAllowed }
        guard case .refused(let reads) = branches[index] else { return .won(revision) }
        let job: Versioned<JobValue>? = try Self.value(.job(claim.run.firing.job), in: reads)
        let run: Versioned<RunValue>? = try Self.value(.run(claim.run), in: reads)
        guard let run, run.value.nonce == claim.value.nonce else {
            return .refused(job: job, run: run)
        }
        return .won(run.modified)
    }

    /// Parses what a key had; nil if it does not exist.
    public static func value<Value: FleetValue>(
        _ key: FleetKey, in reads: Reads
    ) throws(FleetFault) -> Versioned<Value>? {
        guard let found = reads[key] ?? nil else { return nil }
        return Versioned(
            try Value(text: found.value), created: found.created, modified: found.modified)
    }
}
