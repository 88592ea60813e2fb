// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Deletes the oldest rows of one job's history that are more than the job keeps, some at a time. Runs that succeeded,
/// runs that failed and skipped firings are counted separately, so that the failures of a job stay for longer than its
/// many successes, and its latest run always stays.
public struct JobPruning: Sendable {
    /// The job, by its current name.
    public let job: Job.Name
    /// How many of each kind it keeps; at least 1.
    private let most: Int64
    /// What is counted so far, until all is.
    private var counting = Counting()
    /// How many of each kind are too many; nil until they are counted.
    private var excess: Counts?
    /// The last run that was looked at: when it ended, and its row.
    private var place = (ended: Int64.min, row: Int64.min)
    /// Before which instant runs were deleted; nil if none was.
    public private(set) var deletedBefore: WallInstant?

    struct Counts: Hashable, Sendable {
        var succeeded: Int64 = 0
        var failed: Int64 = 0
        var skips: Int64 = 0

        var isZero: Bool { succeeded <= 0 && failed <= 0 && skips <= 0 }
    }

    /// The rows that are counted, in this order.
    enum Kind: Int {
        case failed, ended, skips

        /// Nil after the last one.
        var next: Kind? { Kind(rawValue: rawValue + 1) }
    }

    private struct Counting {
        var kind = Kind.failed
        /// The instant of the last row of this kind that is counted.
        var place = Int64.min
        var rows: [Kind: Int64] = [:]
    }

    /// - Parameter most: how many runs that succeeded, runs that failed, and skipped firings are kept.
    public init(of job: Job.Name, keeping most: Int) {
        self.job = job
        self.most = Int64(max(1, most))
    }

    /// Whether its rows are counted, so that the next steps delete.
    public var hasCounted: Bool { excess != nil }

    /// Whether nothing more has to be deleted.
    public var isDone: Bool { excess?.isZero == true }

    /// Counts the rows, or deletes the next ones, in one transaction that is not synced to the disk.
    ///
    /// - Parameters:
    ///   - store: the store to prune, outside of any transaction.
    ///   - rows: how many rows are read or deleted. To count a row takes a small part of that, so that more are
    ///     counted.
    /// - Returns: how many rows were read.
    /// - Throws: `StoreError`; this step had no effect and may be tried again.
    /// - Complexity: O(`rows`).
    @discardableResult
    public mutating func advance(
        in store: Store, rows: Int64 = Pruning.rowsPerPortion
    ) throws(StoreError) -> Int64 {
        guard var left = excess else { return try count(in: store, rows * Self.countedPerRow) }
        if left.succeeded > 0 {
            let step = try store.deleteSucceeded(
                of: job, after: place, max: left.succeeded, rows: rows)
            guard let last = step.last else {
                // Another deletion, such as that of old runs, was faster.
                excess?.succeeded = 0
                return 0
            }
            place = last
            left.succeeded -= step.deleted
            if step.deleted > 0 { note(last.ended) }
        } else if left.failed > 0 {
            let deleted = try store.deleteFailed(of: job, max: min(left.failed, rows))
            left.failed = deleted > 0 ? left.failed - deleted : 0
        } else if left.skips > 0 {
            let deleted = try store.deleteSkips(of: job, max: min(left.skips, rows))
            left.skips = deleted > 0 ? left.skips - deleted : 0
        }
        excess = left
        return rows
    }

    /// Counts about this many further rows. Returns how many were read.
    private mutating func count(in store: Store, _ rows: Int64) throws(StoreError) -> Int64 {
        var next = counting
        var read: Int64 = 0
        while read < rows {
            let before = next.rows[next.kind, default: 0]
            let room = limit(of: next) - before
            let step = try store.historyRows(
                next.kind, of: job, after: next.place, upTo: min(rows - read, room))
            read += step.count
            next.rows[next.kind] = before + step.count
            if let last = step.last, step.count < room {
                next.place = last
                continue
            }
            guard let kind = next.kind.next else {
                excess = excess(of: next)
                break
            }
            next.kind = kind
            next.place = .min
        }
        counting = next
        return read
    }

    /// How many rows of its kind are counted.
    private func limit(of counting: Counting) -> Int64 {
        let failed = counting.kind == .ended ? counting.rows[.failed, default: 0] : 0
        return most + Self.countedBeyond + failed
    }

    private func excess(of counted: Counting) -> Counts {
        let failed = counted.rows[.failed, default: 0]
        return Counts(
            succeeded: counted.rows[.ended, default: 0] - failed - most, failed: failed - most,
            skips: counted.rows[.skips, default: 0] - most)
    }

    private mutating func note(_ ended: Int64) {
        deletedBefore = WallInstant(microsecondsSinceEpoch: ended)
    }

    /// How many rows beyond those that are kept are counted at a time: more are deleted by the next passes.
    private static let countedBeyond: Int64 = 20_000
    /// How many rows are counted in the time in which one is deleted.
    private static let countedPerRow: Int64 = 50
}

extension Store {
    /// How many rows of this kind the history of a job has after an instant, up to about this many, and the instant of
    /// the last of them; nil if there are no more. They are read from indexes only.
    fileprivate func historyRows(
        _ kind: JobPruning.Kind, of job: Job.Name, after place: Int64, upTo most: Int64
    ) throws(StoreError) -> (count: Int64, last: Int64?) {
        let (rows, instant) =
            switch kind {
            case .failed: ("run WHERE owner = ?1 AND failed = 1", "ended_us")
            case .ended: ("run WHERE owner = ?1 AND ended_us IS NOT NULL", "ended_us")
            case .skips: ("skip WHERE job = ?1", "at_us")
            }
        var last: Int64?
        try connection.run(
            "SELECT \(instant) FROM \(rows) AND \(instant) > ?2 ORDER BY \(instant) LIMIT 1 OFFSET ?3",
            [.text(job.description), .integer(place), .integer(max(0, most - 1))],
            doing: "count the history"
        ) { last = $0.integer(0) }
        var count: Int64 = 0
        // Several rows may have the last instant, and all of them are counted now.
        try connection.run(
            "SELECT count(*) FROM \(rows) AND \(instant) > ?2 AND \(instant) <= ?3",
            [.text(job.description), .integer(place), .integer(last ?? .max)],
            doing: "count the history"
        ) { count = $0.integer(0) ?? 0 }
        return (count, last)
    }

    /// Deletes the oldest runs that succeeded, among the next runs of the job.
    /// - Returns: the last run that was looked at; nil if there was none.
    fileprivate func deleteSucceeded(
        of job: Job.Name, after place: (ended: Int64, row: Int64), max: Int64, rows count: Int64
    ) throws(StoreError) -> (last: (ended: Int64, row: Int64)?, deleted: Int64) {
        var rows: [(ended: Int64, row: Int64, failed: Bool)] = []
        try connection.run(
            """
            SELECT ended_us, id, failed FROM run
            WHERE owner = ? AND ended_us IS NOT NULL AND (ended_us, id) > (?, ?)
            ORDER BY ended_us, id LIMIT ?
            """,
            [
                .text(job.description), .integer(place.ended), .integer(place.row),
                .integer(count),
            ], doing: "read the history"
        ) { rows.append(($0.integer(0) ?? 0, $0.integer(1) ?? 0, $0.integer(2) == 1)) }
        var deleted: Int64 = 0
        var last: (ended: Int64, row: Int64)?
        try setDurable(false)
        try connection.transaction(doing: "prune the history") { () throws(StoreError) in
            for row in rows where deleted < max {
                last = (row.ended, row.row)
                guard !row.failed else { continue }
                try connection.run(
                    "DELETE FROM run WHERE id = ?", [.integer(row.row)], doing: "prune the history")
                deleted += 1
            }
        }
        return (last, deleted)
    }

    fileprivate func deleteFailed(of job: Job.Name, max: Int64) throws(StoreError) -> Int64 {
        try delete(
            """
            DELETE FROM run WHERE id IN
                (SELECT id FROM run WHERE owner = ? AND failed = 1 ORDER BY ended_us LIMIT ?)
            """, of: job, max: max)
    }

    fileprivate func deleteSkips(of job: Job.Name, max: Int64) throws(StoreError) -> Int64 {
        try delete(
            "DELETE FROM skip WHERE id IN (SELECT id FROM skip WHERE job = ? ORDER BY at_us LIMIT ?)",
            of: job, max: max)
    }

    private func delete(
        _ statement: String, of job: Job.Name, max: Int64
    ) throws(StoreError) -> Int64 {
        try setDurable(false)
        return Int64(
            try connection.run(
                statement,
                [.text(job.description), .integer(max)],
                doing: "prune the history"))
    }

    /// The next owners of runs in the order of their names, after this one.
    /// - Complexity: O(*m* log *n*) for *m* owners.
    public func owners(after job: Job.Name?, max: Int) throws(StoreError) -> [Job.Name] {
        var found: [Job.Name] = []
        try connection.run(
            """
            WITH RECURSIVE known (owner, place) AS (
                SELECT (SELECT min(owner) FROM run
                    WHERE owner > ?1 AND ended_us IS NOT NULL), 1
                UNION ALL
                SELECT (SELECT min(owner) FROM run
                    WHERE owner > known.owner AND ended_us IS NOT NULL), place + 1
                FROM known WHERE known.owner IS NOT NULL AND place < ?2
            )
            SELECT owner FROM known WHERE owner IS NOT NULL
            """, [.text(job?.description ?? ""), .integer(Int64(max))], doing: "read the history"
        ) { row in
            guard let name = Job.Name(row.text(0) ?? "") else { return }
            found.append(name)
        }
        return found
    }

    // MARK: - The size of the database

    /// How many bytes the database uses, without its free pages.
    public func usedBytes() throws(StoreError) -> Int64 {
        let pages = try connection.integer("PRAGMA page_count", doing: "count its pages") ?? 0
        let free = try connection.integer("PRAGMA freelist_count", doing: "count its pages") ?? 0
        let size = try connection.integer("PRAGMA page_size", doing: "count its pages") ?? 0
        return (pages - free) * size
    }

    /// The end of the part of the history that comes first and has about this share of its rows, from 0 to 1; nil if
    /// there are no rows.
    /// - Complexity: O(log *n*): rows are numbered in their order.
    public func instant(atShare share: Double) throws(StoreError) -> WallInstant? {
        var best: (rows: Int64, instant: Int64)?
        // The table with the most rows takes the most space, so it decides.
        for (table, instant) in [("run", "ended_us"), ("skip", "at_us"), ("message", "created_us")]
        {
            guard
                let first = try connection.integer(
                    "SELECT min(id) FROM \(table)", doing: "read the history"),
                let last = try connection.integer(
                    "SELECT max(id) FROM \(table)", doing: "read the history"),
                last - first > best?.rows ?? -1
            else { continue }
            let row = first + Int64(Double(last - first) * min(max(share, 0), 1))
            let found = try connection.integer(
                "SELECT \(instant) FROM \(table) WHERE id >= \(row) AND \(instant) IS NOT NULL ORDER BY id LIMIT 1",
                doing: "read the history")
            if let found { best = (last - first, found) }
        }
        return best.map { WallInstant(microsecondsSinceEpoch: $0.instant) }
    }
}
