// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A lease of the store.
public struct LeaseID: Hashable, Sendable {
    /// The number that the store gave it; not 0.
    public var number: Int64

    /// The lease with this number.
    public init(_ number: Int64) { self.number = number }
}

/// A value of the store with the revisions of its key.
public struct Versioned<Value: Hashable & Sendable>: Hashable, Sendable {
    public var value: Value
    /// The revision at which the key was created.
    public var created: Int64
    /// The revision of its last change.
    public var modified: Int64

    /// Creates a value with its revisions.
    public init(_ value: Value, created: Int64, modified: Int64) {
        self.value = value
        self.created = created
        self.modified = modified
    }
}

/// What the store must find for a transaction to do what it is for.
public enum FleetCompare: Hashable, Sendable {
    /// The key was last changed at this revision; 0: it does not exist.
    case modified(FleetKey, Int64)
    /// The key exists and has this lease.
    case lease(FleetKey, LeaseID)
    /// The key exists and has exactly this text.
    case text(FleetKey, String)
}

/// One change of a transaction.
public enum FleetChange: Hashable, Sendable {
    /// Writes the text of a value, with a lease or without.
    case put(FleetKey, String, lease: LeaseID?)
    case delete(FleetKey)

    /// The key that is changed.
    public var key: FleetKey {
        switch self {
        case .put(let key, _, _), .delete(let key): key
        }
    }
}

/// A transaction of the store: all comparisons are made and all changes applied at one revision, or
/// none.
public struct FleetTransaction: Hashable, Sendable {
    /// A transaction within the transaction, about one job. It is tried only if the comparisons of
    /// the whole hold, and succeeds or fails by itself.
    public struct Branch: Hashable, Sendable {
        /// What must hold.
        public var compares: [FleetCompare]
        /// What is then changed.
        public var changes: [FleetChange]
        /// What is read otherwise.
        public var reads: [FleetKey]

        /// Creates a branch.
        public init(compares: [FleetCompare], changes: [FleetChange], reads: [FleetKey]) {
            self.compares = compares
            self.changes = changes
            self.reads = reads
        }
    }

    /// How many operations the store permits: the longest of the lists of the whole, plus the
    /// longest list of any branch.
    public static let operationsMax = 128
    /// How many runs a claim removes at most. It writes two keys as well.
    public static let removalsMax = 8
    /// How many branches a transaction has at most, so that each may remove that many runs.
    public static let branchesMax = operationsMax - removalsMax - 2

    /// What must hold for all branches.
    public var compares: [FleetCompare]
    /// The branches, each about other keys.
    public var branches: [Branch]
    /// What is read if the comparisons of the whole do not hold.
    public var reads: [FleetKey]

    /// Creates a transaction.
    public init(compares: [FleetCompare] = [], branches: [Branch], reads: [FleetKey] = []) {
        self.compares = compares
        self.branches = branches
        self.reads = reads
    }

    /// A transaction about one thing.
    public init(
        compares: [FleetCompare], changes: [FleetChange], reads: [FleetKey]
    ) {
        self.init(branches: [Branch(compares: compares, changes: changes, reads: reads)])
    }

    /// How many operations the store counts in it, of which it permits `operationsMax`.
    ///
    /// - Complexity: O(*n*) in the branches.
    public var operations: Int {
        let inBranches = branches.map {
            max($0.compares.count, $0.changes.count, $0.reads.count)
        }
        return max(compares.count, branches.count, reads.count) + (inBranches.max() ?? 0)
    }

    /// The same transaction, which does nothing in a store that has another identity.
    ///
    /// A revision alone does not tell stores apart: another store may have a key with the same
    /// revision. And a store that is adopted once more skips what was due before that, which a
    /// machine that has not yet read the new identity would still start.
    ///
    /// - Parameter identity: the text of the identity as it was read.
    public func bound(to identity: String) -> Self {
        var bound = self
        bound.compares.append(.text(.identity, identity))
        bound.reads.append(.identity)
        return bound
    }
}

/// What the store answers to a transaction.
public struct FleetAnswer: Hashable, Sendable {
    /// What a key had; nil: it does not exist. The text is not yet parsed.
    public typealias Reads = [FleetKey: Versioned<String>?]

    /// The result of a branch.
    public enum Branch: Hashable, Sendable {
        case applied
        case refused(Reads)
    }

    /// The cluster that answered. After an exchange of the store it is another one.
    public var cluster: String
    /// The revision of the store at the transaction. It is the revision of all changes it made.
    public var revision: Int64
    /// The result of each branch, in their order; empty if the comparisons of the whole did not hold.
    public var branches: [Branch]
    /// What was read because they did not hold.
    public var reads: Reads

    /// Creates an answer.
    public init(cluster: String, revision: Int64, branches: [Branch], reads: Reads = [:]) {
        self.cluster = cluster
        self.revision = revision
        self.branches = branches
        self.reads = reads
    }
}
