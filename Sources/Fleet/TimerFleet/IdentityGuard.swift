// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a machine has seen of the jobs of a store, and of the time and the hold of its fleet. If the store
/// is lost, the machines bring this back.
public struct SeenValues: Hashable, Sendable {
    /// The highest revision that was seen of any key.
    public var revision: Int64
    /// The jobs, with the revisions at which they were seen.
    public var jobs: [Job.Name: Versioned<JobValue>]
    /// The hold; nil: not seen.
    public var hold: Versioned<HoldValue>?
    /// The fleet clock, which can be older than the rest; nil: not seen.
    public var clock: ClockValue?
    /// When that was remembered, by the wall clock of this machine.
    public var clockAt: WallInstant?

    /// What was seen up to a revision.
    public init(
        revision: Int64 = 0, jobs: [Job.Name: Versioned<JobValue>] = [:],
        hold: Versioned<HoldValue>? = nil, clock: ClockValue? = nil, clockAt: WallInstant? = nil
    ) {
        self.clockAt = clockAt
        self.revision = revision
        self.jobs = jobs
        self.hold = hold
        self.clock = clock
    }

    /// Takes what was seen besides. Of each key the newest value stays.
    ///
    /// - Complexity: O(*k*) in the jobs of `more`.
    public mutating func merge(_ more: Self) {
        revision = max(revision, more.revision)
        jobs.merge(more.jobs) { $0.modified > $1.modified ? $0 : $1 }
        if let new = more.hold, new.modified >= hold?.modified ?? 0 { hold = new }
        clock = more.clock ?? clock
        clockAt = more.clockAt ?? clockAt
    }
}

/// What a machine remembers of the store, to notice that it was replaced, emptied or restored from
/// an older copy: then runs that were started are missing in it, and would be started again.
public struct IdentityGuard: Hashable, Sendable {
    /// What is wrong with a store.
    public enum Finding: Hashable, Sendable {
        /// The fleet was never formed in it, or the store was emptied.
        case notFormed
        /// It is another cluster than the one that was adopted, or another fleet than the one
        /// this machine knows.
        case foreign
        /// It is older than what this machine has seen in it.
        case older
        /// It was restored from a snapshot since it was adopted, as its log shows. What it had after the
        /// snapshot is missing.
        case restored
        /// Its values are of a format that this version does not know.
        case newer
    }

    /// The cluster that this machine knows; nil before the first contact.
    public var cluster: String?
    /// The identity of the fleet in it.
    public var identity: IdentityValue?
    /// What was seen in it.
    public var seen: SeenValues

    /// A machine that knows no store.
    public init() { seen = SeenValues() }

    /// What is wrong with a store, nil if this machine may take part: it is the one that was
    /// adopted, and this machine knows it, saw no later one, or knows none.
    ///
    /// - Parameters:
    ///   - cursors: those of the jobs in the store.
    ///   - identity: that of the store; nil: the fleet was not formed in it.
    /// - Complexity: O(*n*) in the jobs that are known.
    public func check(
        cluster: String, identity: Versioned<IdentityValue>?, revision: Int64, log: FleetLog?,
        cursors: [Job.Name: WallInstant]
    ) -> Finding? {
        guard let stored = identity, let identity = identity?.value else { return .notFormed }
        guard identity.cluster == cluster else { return .foreign }
        // A member that does not have the adoption yet has fewer entries.
        if let log, log.revision >= stored.modified, let lead = identity.logLead, log.lead < lead {
            return .restored
        }
        guard let known = self.identity else { return nil }
        guard known.fleet == identity.fleet else { return .foreign }
        // The format is never lowered, except by a machine with an older version that adopted a store in
        // which nothing was left. It does not bring back what the others remember.
        guard identity.format >= known.format else { return .older }
        // The adoption skipped all that was due before it, so nothing that is known is needed.
        if identity.epoch > known.epoch { return nil }
        guard identity.epoch == known.epoch, revision >= seen.revision else { return .older }
        guard self.cluster == cluster else { return .foreign }
        let isOlder = seen.jobs.contains { job, known in
            cursors[job].map { $0 < known.value.cursor } ?? true
        }
        return isOlder ? .older : nil
    }

    /// Takes what was seen in a store that was checked.
    public mutating func see(cluster: String, identity: IdentityValue, _ seen: SeenValues) {
        guard self.identity != identity else { return self.seen.merge(seen) }
        self.cluster = cluster
        self.identity = identity
        self.seen = seen
    }

    /// The store is older than what was seen in it: nothing but an adoption makes it right again, also
    /// if its revision becomes as high.
    ///
    /// - Returns: whether it was trusted up to now.
    public mutating func distrust() -> Bool {
        guard seen.revision < .max else { return false }
        seen.revision = .max
        return true
    }
}
