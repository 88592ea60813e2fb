// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

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
        /// Its values are of a format that this version does not know.
        case newer
    }

    /// The cluster that this machine knows; nil before the first contact.
    public var cluster: String?
    /// The identity of the fleet in it.
    public var identity: IdentityValue?
    /// The highest revision that was seen in it.
    public var revision: Int64
    /// The highest cursor that was seen of each job.
    public var cursors: [Job.Name: WallInstant]

    /// A machine that knows no store.
    public init() {
        revision = 0
        cursors = [:]
    }

    /// What is wrong with a store, nil if this machine may take part: it is the one that was
    /// adopted, and this machine knows it, saw no later one, or knows none.
    ///
    /// - Parameters:
    ///   - cursors: those of the jobs in the store.
    /// - Complexity: O(*n*) in the jobs that are known.
    public func check(
        cluster: String, identity: IdentityValue?, revision: Int64,
        cursors: [Job.Name: WallInstant]
    ) -> Finding? {
        guard let identity else { return .notFormed }
        guard identity.cluster == cluster else { return .foreign }
        guard let known = self.identity else { return nil }
        guard known.fleet == identity.fleet else { return .foreign }
        // The adoption skipped all that was due before it, so nothing that is known is needed.
        if identity.epoch > known.epoch { return nil }
        guard identity.epoch == known.epoch, revision >= self.revision else { return .older }
        guard self.cluster == cluster else { return .foreign }
        let isOlder = self.cursors.contains { job, cursor in
            cursors[job].map { $0 < cursor } ?? true
        }
        return isOlder ? .older : nil
    }

    /// Takes what was seen in a store that was checked.
    public mutating func see(
        cluster: String, identity: IdentityValue, revision: Int64,
        cursors: [Job.Name: WallInstant]
    ) {
        if self.identity != identity {
            self.cluster = cluster
            self.identity = identity
            self.revision = revision
            self.cursors = cursors
            return
        }
        see(revision: revision, cursors: cursors)
    }

    /// The store is older than what was seen in it: nothing but an adoption makes it right again, also
    /// if its revision becomes as high.
    ///
    /// - Returns: whether it was trusted up to now.
    public mutating func distrust() -> Bool {
        guard revision < .max else { return false }
        revision = .max
        return true
    }

    /// Takes the cursors of some jobs in a store that is known.
    ///
    /// - Complexity: O(*k*) in the cursors that are given.
    public mutating func see(revision: Int64, cursors: [Job.Name: WallInstant]) {
        self.revision = max(self.revision, revision)
        self.cursors.merge(cursors) { max($0, $1) }
    }
}
