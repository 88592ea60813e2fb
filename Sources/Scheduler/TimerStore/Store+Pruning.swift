// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// One pass over the history that deletes old rows, some at a time: deleting millions of runs at
/// once would delay every commit for seconds.
public struct Pruning: Sendable {
    /// How many rows are checked in one step at most.
    public static let rowsPerPortion: Int64 = 200
    /// How many free pages the database keeps for future runs; the rest is returned.
    static let freePagesKept: Int64 = 256

    private enum Step {
        case runs
        case skips
        case pauses
        case messages
        case pages
        case none
    }

    private let endedBefore: WallInstant
    private var step = Step.runs
    /// The last checked run: when it ended, and its row.
    private var ended: Int64 = .min
    private var row: Int64 = .min

    /// A pass that deletes the runs that ended before this instant. The latest run of each job is
    /// kept, however old it is.
    public init(endedBefore: WallInstant) { self.endedBefore = endedBefore }

    /// Whether the pass has deleted everything that it should.
    public var isDone: Bool { step == .none }

    /// Deletes the next rows, in one transaction that is not synced to the disk.
    ///
    /// - Parameters:
    ///   - store: the store to prune, outside of any transaction.
    ///   - rows: how many rows are checked, or half as many pages returned to the file system.
    /// - Throws: `StoreError`; this step had no effect and may be tried again.
    /// - Complexity: O(log *n*) in the number of runs, for each row.
    public mutating func advance(
        in store: Store, rows: Int64 = Pruning.rowsPerPortion
    ) throws(StoreError) {
        switch step {
        case .runs:
            guard
                let last = try store.pruneRuns(
                    after: (ended, row), endedBefore: endedBefore, max: rows)
            else { return step = .skips }
            (ended, row) = last
        case .skips: if try !store.pruneSkips(before: endedBefore, max: rows) { step = .pauses }
        case .pauses:
            if try !store.prunePauses(before: endedBefore, max: rows) { step = .messages }
        case .messages:
            if try !store.pruneMessages(before: endedBefore, max: rows) {
                step = .pages
            }
        case .pages: if try !store.giveBackPages(max: max(rows / 2, 1)) { step = .none }
        case .none: break
        }
    }
}

extension Store {
    /// Deletes those of the next runs, in the order of their ends, that are not the latest of their
    /// jobs.
    /// - Returns: the last checked run; nil if there was none.
    fileprivate func pruneRuns(
        after last: (ended: Int64, row: Int64), endedBefore: WallInstant, max: Int64
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
                .integer(endedBefore.microsecondsSinceEpoch), .integer(max),
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
                            AND later.ended_us IS NOT NULL
                            AND (later.ended_us, later.id) > (run.ended_us, run.id))
                    """, [.integer(row.row)], doing: "prune the history")
            }
        }
        return next
    }

    /// Deletes some of the skipped firings that are too old.
    /// - Returns: whether there may be more.
    fileprivate func pruneSkips(before instant: WallInstant, max: Int64) throws(StoreError) -> Bool
    {
        try setDurable(false)
        let count = try connection.run(
            "DELETE FROM skip WHERE id IN (SELECT id FROM skip WHERE at_us < ? ORDER BY at_us LIMIT ?)",
            [.integer(instant.microsecondsSinceEpoch), .integer(max)],
            doing: "prune the history")
        return count == max
    }

    /// Deletes pauses that ended before the instant. Returns whether there may be more.
    fileprivate func prunePauses(before instant: WallInstant, max: Int64) throws(StoreError) -> Bool
    {
        try setDurable(false)
        let count = try connection.run(
            """
            DELETE FROM pause WHERE (job, since_us) IN
                (SELECT job, since_us FROM pause WHERE ended_us < ? ORDER BY ended_us LIMIT ?)
            """,
            [.integer(instant.microsecondsSinceEpoch), .integer(max)],
            doing: "prune the history")
        return count == max
    }

    private func pruneLives() throws(StoreError) {
        try setDurable(false)
        try connection.run(
            "DELETE FROM instance WHERE id <= ?", [.integer(instance - Self.instancesKept)],
            doing: "prune the daemon's starts")
    }

    /// Returns some free pages to the file system. The file becomes shorter at the next checkpoint.
    /// - Returns: whether there may be more.
    fileprivate func giveBackPages(max: Int64) throws(StoreError) -> Bool {
        let free = try connection.integer("PRAGMA freelist_count", doing: "count its pages") ?? 0
        let count = min(free - Pruning.freePagesKept, max)
        guard count > 0 else { return false }
        try setDurable(false)
        try connection.execute(
            "PRAGMA incremental_vacuum(\(count))", doing: "give free pages back")
        return count == max
    }
}
