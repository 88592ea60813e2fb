// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerFleet

/// What is to happen at an instant. Things of one instant happen in the order in which they were
/// planned, so that a seed always gives the same case.
struct Agendum {
    var time: Int64
    var number: Int
    var body: () -> Void
}

/// A heap of what is to happen.
struct Plan {
    private var heap: [Agendum] = []
    private var count = 0

    mutating func add(at time: Int64, _ body: @escaping () -> Void) {
        count += 1
        heap.append(Agendum(time: time, number: count, body: body))
        var index = heap.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
    }

    mutating func next() -> Agendum? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return last }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && precedes(child, least) { least = child }
            if least == index { return first }
            heap.swapAt(index, least)
            index = least
        }
    }
}

/// A store like etcd: one sequence of changes, leases, a history that can be compacted.
struct SimulatedStore {
    struct Commit {
        var revision: Int64
        var changes: [FleetKey: Versioned<String>?]
    }

    struct Lease {
        var expires: Int64
        var keys: Set<FleetKey> = []
    }

    var cluster = "c1"
    var revision: Int64 = 1
    var keys: [FleetKey: Versioned<String>] = [:]
    var leases: [LeaseID: Lease] = [:]
    /// The commits that a watch can still ask for.
    var history: [Commit] = []
    var compacted: Int64 = 1
    private var lastLease: Int64 = 0

    mutating func grant(until: Int64) -> LeaseID {
        lastLease += 1
        leases[LeaseID(lastLease)] = Lease(expires: until)
        return LeaseID(lastLease)
    }

    /// Removes a lease and its keys.
    mutating func revoke(_ lease: LeaseID) -> Commit? {
        guard let found = leases.removeValue(forKey: lease) else { return nil }
        let existing = found.keys.filter { keys[$0] != nil }
        if existing.isEmpty { return nil }
        return commit(existing.map { .delete($0) })
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

    /// How many operations etcd counts in a transaction, of which it permits 128.
    static func operations(_ transaction: FleetTransaction) -> Int {
        let whole = max(
            transaction.compares.count, transaction.branches.count, transaction.reads.count)
        let branches = transaction.branches.map {
            max($0.compares.count, $0.changes.count, $0.reads.count)
        }
        return whole + (branches.max() ?? 0)
    }

    /// Applies a transaction; nil if a put names a lease that does not exist, which etcd refuses.
    mutating func apply(_ transaction: FleetTransaction) -> (FleetAnswer, Commit?) {
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
            let isLeased = branch.changes.allSatisfy { change in
                if case .put(_, _, let lease?) = change { leases[lease] != nil } else { true }
            }
            if isLeased, branch.compares.allSatisfy({ holds($0) }) {
                changes += branch.changes
                branches.append(.applied)
            } else {
                branches.append(.refused(read(branch.reads)))
            }
        }
        let commit = changes.isEmpty ? nil : commit(changes)
        return (FleetAnswer(cluster: cluster, revision: revision, branches: branches), commit)
    }

    private mutating func commit(_ changes: [FleetChange]) -> Commit {
        revision += 1
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

    mutating func compact() {
        compacted = revision
        history.removeAll()
    }

    /// The store as a copy that was made earlier, as another cluster.
    mutating func restore(_ copy: SimulatedStore?, cluster: String) {
        let last = lastLease
        self = copy ?? SimulatedStore()
        lastLease = max(last, lastLease) + 1000
        self.cluster = cluster
        compact()
        // What was leased in the copy has no daemon that prolongs it under this number.
        for lease in leases.keys { _ = revoke(lease) }
    }
}
