// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerFleet

/// A store like etcd: one sequence of changes, leases, a history that can be compacted. The tests
/// against a real etcd compare both.
package struct SimulatedStore {
    package struct Commit {
        package var revision: Int64
        package var changes: [FleetKey: Versioned<String>?]
    }

    package struct Lease {
        package var expires: Int64
        package var keys: Set<FleetKey> = []
    }

    package var cluster = "c1"
    package var revision: Int64 = 1
    /// The entries of its log: one for each revision, and for what changes no key.
    package private(set) var entries: Int64 = 4
    package var keys: [FleetKey: Versioned<String>] = [:]
    package var leases: [LeaseID: Lease] = [:]
    /// The commits that a watch can still ask for.
    package var history: [Commit] = []
    package var compacted: Int64 = 1
    private var lastLease: Int64 = 0

    /// An empty store.
    package init() {}

    package mutating func grant(until: Int64) -> LeaseID {
        lastLease += 1
        entries += 1
        leases[LeaseID(lastLease)] = Lease(expires: until)
        return LeaseID(lastLease)
    }

    /// Removes a lease and its keys.
    package mutating func revoke(_ lease: LeaseID) -> Commit? {
        guard let found = leases.removeValue(forKey: lease) else { return nil }
        return commit(found.keys.map { .delete($0) })
    }

    private func holds(_ compare: FleetCompare) -> Bool {
        switch compare {
        case .modified(let key, let revision): (keys[key]?.modified ?? 0) == revision
        case .lease(let key, let lease):
            keys[key] != nil && leases[lease]?.keys.contains(key) == true
        case .text(let key, let text): keys[key]?.value == text
        }
    }

    private func read(_ wanted: [FleetKey]) -> FleetAnswer.Reads {
        var reads: FleetAnswer.Reads = [:]
        for key in wanted { reads[key] = .some(keys[key]) }
        return reads
    }

    /// Applies a transaction.
    ///
    /// - Returns: what etcd answers, and the change if there is one; nil if a branch that would be
    ///   applied names a lease that does not exist: etcd then refuses the whole transaction.
    package mutating func apply(_ transaction: FleetTransaction) -> (FleetAnswer, Commit?)? {
        guard transaction.compares.allSatisfy({ holds($0) }) else {
            return (
                FleetAnswer(
                    cluster: cluster, revision: revision, branches: [],
                    reads: read(transaction.reads)), nil
            )
        }
        var changes: [FleetChange] = []
        var branches: [FleetAnswer.Branch] = []
        for branch in transaction.branches {
            if branch.compares.allSatisfy({ holds($0) }) {
                guard branch.changes.allSatisfy({ isLeased($0) }) else { return nil }
                changes += branch.changes
                branches.append(.applied)
            } else {
                branches.append(.refused(read(branch.reads)))
            }
        }
        let commit = commit(changes)
        return (FleetAnswer(cluster: cluster, revision: revision, branches: branches), commit)
    }

    /// Whether the lease that a change names exists, if it names one.
    private func isLeased(_ change: FleetChange) -> Bool {
        if case .put(_, _, let lease?) = change { leases[lease] != nil } else { true }
    }

    /// Applies changes. The deletion of a key that does not exist is none.
    private mutating func commit(_ changes: [FleetChange]) -> Commit? {
        let changes = changes.filter { change in
            if case .delete(let key) = change { keys[key] != nil } else { true }
        }
        if changes.isEmpty { return nil }
        revision += 1
        entries += 1
        var seen: FleetAnswer.Reads = [:]
        for change in changes {
            for lease in leases.keys { leases[lease]?.keys.remove(change.key) }
            switch change {
            case .put(let key, let text, let lease):
                let value = Versioned(
                    text, created: keys[key]?.created ?? revision, modified: revision)
                keys[key] = value
                seen[key] = .some(value)
                if let lease { leases[lease]?.keys.insert(key) }
            case .delete(let key):
                keys[key] = nil
                seen[key] = .some(nil)
            }
        }
        let commit = Commit(revision: revision, changes: seen)
        history.append(commit)
        return commit
    }

    package mutating func compact() {
        compacted = revision
        history.removeAll()
    }

    /// The store as a copy that was made earlier, with a log that begins again.
    ///
    /// - Parameter cluster: another cluster, or the same one.
    package mutating func restore(_ copy: SimulatedStore?, cluster: String) {
        let last = lastLease
        self = copy ?? SimulatedStore()
        lastLease = max(last, lastLease) + 1000
        self.cluster = cluster
        entries = 4
        compact()
        // What was leased in the copy has no daemon that prolongs it under this number.
        for lease in leases.keys { _ = revoke(lease) }
    }
}
