// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// What waits to be written, in the order it came.
struct RequestQueue {
    /// Changes that are written together, and who is told of it.
    struct Request {
        var changes: [Store.Change]
        var durable: Bool
        var onCommit: (@Sendable (Set<Run.ID>) -> Void)?
        var onDelayed: (@Sendable (StoreError) -> Void)?
    }

    /// How many requests may wait before older records of a job give way to its newest.
    static let countMax = 100_000

    private var requests: [Request] = []
    /// Those before it are taken.
    private var first = 0
    /// Those before it know already that they have to wait.
    private var told = 0
    private var thinOutAt = Self.countMax

    var count: Int { requests.count - first }
    var isEmpty: Bool { count == 0 }
    /// The changes of all of them, in their order.
    var changes: some Sequence<Store.Change> { requests[first...].lazy.flatMap(\.changes) }

    mutating func append(_ request: Request) { requests.append(request) }

    /// The changes of the first requests: of at least one, and of more as long as there are not too many.
    func batch(of changesMax: Int) -> (changes: [Store.Change], requests: Int) {
        var changes: [Store.Change] = []
        var count = 0
        while count < self.count, changes.count < changesMax {
            changes += requests[first + count].changes
            count += 1
        }
        return (changes, count)
    }

    /// Takes the first requests out.
    /// - Complexity: O(`count`) on average.
    mutating func take(_ count: Int) -> [Request] {
        let taken = Array(requests[first..<first + count])
        for index in first..<first + count {
            requests[index] = Request(changes: [], durable: false)
        }
        first += count
        if first * 2 >= requests.count {
            removeTaken()
        }
        if isEmpty { thinOutAt = Self.countMax }
        return taken
    }

    /// Tells all that wait that they have to, each once.
    /// - Complexity: O(*n*) in the number of those that came since the last time.
    mutating func delay(because error: StoreError) {
        for index in max(first, told)..<requests.count {
            requests[index].onDelayed?(error)
            requests[index].onDelayed = nil
        }
        told = requests.count
    }

    private mutating func removeTaken() {
        requests.removeFirst(first)
        told = max(0, told - first)
        first = 0
    }

    /// Of several records of one job that wait, only the newest matters. What carries a run stays.
    /// - Complexity: O(1) on average for each request that was appended.
    mutating func compactPending() {
        guard count > thinOutAt else { return }
        removeTaken()
        var newest: Set<Job.Name> = []
        for index in requests.indices.reversed() {
            requests[index].changes.removeAll { change in
                guard case .save(let record) = change else { return false }
                return !newest.insert(record.job).inserted
            }
        }
        requests.removeAll { $0.changes.isEmpty && $0.onCommit == nil && $0.onDelayed == nil }
        // Who has yet to be told cannot be told apart any more: all are asked.
        told = 0
        // Not again before as many have come as there are.
        thinOutAt = max(Self.countMax, 2 * requests.count)
    }
}
