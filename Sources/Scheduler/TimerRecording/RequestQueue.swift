// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import DequeModule
package import TimerCore
package import TimerStore

/// The requests that wait to be written, in their order.
package struct RequestQueue {
    /// Changes that are written together, and the callbacks for the result.
    package struct Request: Sendable {
        package var changes: [Store.Change]
        package var durable: Bool
        /// Whether it is done only after all earlier requests of which this is true.
        var keepsOrder = false
        package var onCommit: (@Sendable (Set<Run.ID>) -> Void)?
        package var onDelayed: (@Sendable (StoreError) -> Void)?

        package init(
            changes: [Store.Change], durable: Bool, keepsOrder: Bool = false,
            onCommit: (@Sendable (Set<Run.ID>) -> Void)? = nil,
            onDelayed: (@Sendable (StoreError) -> Void)? = nil
        ) {
            self.changes = changes
            self.durable = durable
            self.keepsOrder = keepsOrder
            self.onCommit = onCommit
            self.onDelayed = onDelayed
        }
    }

    /// How many requests may wait before older records of a job are dropped in favour of its
    /// newest.
    static let countMax = 100_000

    private var requests = Deque<Request>()
    /// How many of the first requests know already that they are delayed.
    private var delayedCount = 0
    private var compactAt = Self.countMax

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }
    /// The changes of all requests, in their order.
    var changes: some Sequence<Store.Change> { requests.lazy.flatMap(\.changes) }

    mutating func append(_ request: Request) { requests.append(request) }

    /// The changes of the first requests: of at least one, and of more while there are not too
    /// many. Those of a single request, which may have the changes of all jobs, are copied only if
    /// something is added to them.
    func batch(of changesMax: Int) -> (changes: [Store.Change], requests: Int) {
        var changes = requests.first?.changes ?? []
        var count = min(1, self.count)
        while count < self.count, changes.count < changesMax {
            changes += requests[count].changes
            count += 1
        }
        return (changes, count)
    }

    /// Removes the first requests and returns them.
    /// - Complexity: O(`count`).
    mutating func take(_ count: Int) -> [Request] {
        let taken = Array(requests.prefix(count))
        requests.removeFirst(count)
        delayedCount = max(0, delayedCount - count)
        if isEmpty { compactAt = Self.countMax }
        return taken
    }

    /// Tells all waiting requests that they are delayed, each of them once.
    /// - Complexity: O(*n*) in the number of requests since the last call.
    mutating func delay(because error: StoreError) {
        for index in delayedCount..<requests.count {
            requests[index].onDelayed?(error)
            requests[index].onDelayed = nil
        }
        delayedCount = requests.count
    }

    /// Drops all waiting records of a job except the newest, because only that one matters. Changes
    /// with a run are kept, and so are the first records of a start that renewed the others: in a
    /// job's row, the renewal alone would be half of a record.
    /// - Complexity: O(1) on average for each appended request.
    mutating func compactPending() {
        guard count > compactAt else { return }
        var newest: Set<Job.Name> = []
        for index in requests.indices.reversed()
        where !requests[index].changes.contains(where: \.isRenewal) {
            requests[index].changes.removeAll { change in
                guard case .save(let record) = change else { return false }
                return !newest.insert(record.job).inserted
            }
        }
        requests.removeAll { $0.changes.isEmpty && $0.onCommit == nil && $0.onDelayed == nil }
        // The index is not valid any more, so all requests are reported again.
        delayedCount = 0
        // Not again before the number of requests has doubled.
        compactAt = max(Self.countMax, 2 * requests.count)
    }
}

extension Store.Change {
    fileprivate var isRenewal: Bool { if case .renew = self { true } else { false } }
}
