// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// One pass over the history that takes out what is too old, some rows at a time: of millions of runs, all at once
/// would hold up every commit for seconds.
public struct Pruning: Sendable {
    /// How many runs are looked at in one portion, and how many pages are given back to the disk in one.
    static let rowsPerPortion: Int64 = 200
    static let pagesPerPortion: Int64 = 100
    /// How many free pages the database keeps for the runs to come; what is beyond is given back.
    static let freePagesKept: Int64 = 256

    private enum Step {
        case runs
        case pages
        case none
    }

    private let endedBefore: WallInstant
    private var step = Step.runs
    /// The last run looked at: when it ended, and its row.
    private var ended: Int64 = .min
    private var row: Int64 = .min

    /// A pass that takes out the runs that ended before this. Each job keeps its latest run, however old.
    public init(endedBefore: WallInstant) { self.endedBefore = endedBefore }

    /// Whether there is nothing left to do.
    public var isDone: Bool { step == .none }

    /// Takes out the next portion, in one transaction that is not synced to the disk.
    ///
    /// - Parameter store: the store to prune, outside of any transaction.
    /// - Throws: `StoreError`; nothing of this portion was done, and it may be tried again.
    /// - Complexity: O(log *n*) in the number of runs: a portion looks at a fixed number of rows or pages.
    public mutating func advance(in store: Store) throws(StoreError) {
        switch step {
        case .runs:
            guard let last = try store.pruneRuns(after: (ended, row), endedBefore: endedBefore)
            else { return step = .pages }
            (ended, row) = last
        case .pages: if try !store.giveBackPages() { step = .none }
        case .none: break
        }
    }
}

extension Store {
    /// Takes out those of the next runs, by the time they ended, that are not their job's latest.
    /// - Returns: the last one looked at; nil if there was none.
    fileprivate func pruneRuns(
        after last: (ended: Int64, row: Int64), endedBefore: WallInstant
    ) throws(StoreError) -> (ended: Int64, row: Int64)? {
        var rows: [(ended: Int64, row: Int64)] = []
        try connection.run(
            """
            SELECT ended_us, id FROM run
            WHERE outcome IS NOT NULL AND (ended_us, id) > (?, ?) AND ended_us < ?
            ORDER BY ended_us, id LIMIT ?
            """,
            [
                .integer(last.ended), .integer(last.row),
                .integer(endedBefore.microsecondsSinceEpoch), .integer(Pruning.rowsPerPortion),
            ], doing: "read the history"
        ) { row in rows.append((row.integer(0) ?? 0, row.integer(1) ?? 0)) }
        guard let next = rows.last else {
            try pruneLives()
            return nil
        }
        try setDurable(false)
        try connection.transaction(doing: "prune the history") { () throws(StoreError) in
            for row in rows {
                try connection.run(
                    """
                    DELETE FROM run WHERE id = ? AND EXISTS (
                        SELECT 1 FROM run AS later WHERE later.owner = run.owner
                            AND later.outcome IS NOT NULL
                            AND (later.ended_us, later.id) > (run.ended_us, run.id))
                    """, [.integer(row.row)], doing: "prune the history")
            }
        }
        return next
    }

    private func pruneLives() throws(StoreError) {
        try setDurable(false)
        try connection.run(
            "DELETE FROM life WHERE id <= ?", [.integer(life - Self.livesKept)],
            doing: "prune the daemon's starts")
    }

    /// Gives some of the free pages back to the disk. The file becomes shorter at the next checkpoint.
    /// - Returns: whether there may be more.
    fileprivate func giveBackPages() throws(StoreError) -> Bool {
        let free = try connection.integer("PRAGMA freelist_count", doing: "count its pages") ?? 0
        let count = min(free - Pruning.freePagesKept, Pruning.pagesPerPortion)
        guard count > 0 else { return false }
        try setDurable(false)
        try connection.execute(
            "PRAGMA incremental_vacuum(\(count))", doing: "give free pages back")
        return count == Pruning.pagesPerPortion
    }
}
