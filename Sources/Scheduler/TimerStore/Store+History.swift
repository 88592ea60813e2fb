// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The history: runs that ended and firings that were skipped, the latest first, some at a time.
extension Store {
    /// A place in the history, behind which a reader goes on.
    public struct HistoryPlace: Hashable, Sendable {
        /// When the run ended or the firing was skipped, in microseconds since 1970.
        public var instant: Int64
        /// Whether it is a skipped firing. Of the same instant, runs come first.
        public var isSkip: Bool
        /// Its number in its table, which orders what has the same instant.
        public var row: Int64

        public init(instant: Int64, isSkip: Bool, row: Int64) {
            self.instant = instant
            self.isSkip = isSkip
            self.row = row
        }
    }

    /// Which part of the history is read: the conditions must all be true.
    public struct HistoryRange: Hashable, Sendable {
        /// Only of this job, or of the jobs of this template; nil: of all jobs.
        public var job: Job.Name?
        /// Only of these jobs; nil: of all.
        public var jobs: [Job.Name]?
        /// Only runs that ended in this way; nil: all.
        public var verdict: Verdict?
        /// Only runs that were made for this reason; nil: all.
        public var cause: CauseKind?
        /// Only what ended at this instant or later; nil: everything.
        public var since: WallInstant?
        /// Only what ended before this instant; nil: everything.
        public var until: WallInstant?
        /// Only what comes behind this place; nil: from the latest on.
        public var after: HistoryPlace?
        /// The most runs, and the most skipped firings.
        public var limit: Int

        /// By default the latest rows of all jobs.
        public init(
            job: Job.Name? = nil, since: WallInstant? = nil, until: WallInstant? = nil,
            after: HistoryPlace? = nil, limit: Int
        ) {
            self.job = job
            self.since = since
            self.until = until
            self.after = after
            self.limit = limit
        }

        /// The condition for the job, in a column with its name. The names of the jobs of a template begin
        /// with its name, and so they sort between that and the same with an A in place of the @.
        fileprivate func condition(_ column: String) -> String {
            guard let job else { return "?1 IS NULL" }
            return job.isTemplate ? "\(column) > ?1 AND \(column) < ?8" : "\(column) = ?1"
        }

        /// The condition for the list of jobs.
        fileprivate func listCondition(_ column: String) -> String {
            jobs == nil ? "?7 IS NULL" : "\(column) IN (SELECT value FROM json_each(?7))"
        }

        /// The conditions that only runs can fulfil.
        fileprivate var runConditions: String {
            [verdict?.condition, cause?.condition].compactMap { $0.map { " AND \($0)" } }.joined()
        }

        /// The values of a statement: the job, the range of instants, the place, and the limit, and
        /// the list of jobs; of a template also the end of its names.
        fileprivate func values(
            instant: Int64?, row: Int64?
        ) -> [Value] {
            let template = job.flatMap { $0.isTemplate ? $0.description : nil }
            return [
                Value(job?.description), .integer(since?.microsecondsSinceEpoch ?? .min),
                .integer(until?.microsecondsSinceEpoch ?? .max), .integer(instant ?? .max),
                .integer(row ?? .max), .integer(Int64(limit)),
                // Names of jobs have no character that JSON escapes.
                Value(jobs.map { "[\($0.map { "\"\($0)\"" }.joined(separator: ","))]" }),
            ] + (template.map { [.text(String($0.dropLast()) + "A")] } ?? [])
        }
    }

    /// The ended runs, the latest first.
    ///
    /// - Parameters:
    ///   - withOutput: whether the last part of their output is read.
    /// - Complexity: O(*m* log *n*) for *m* runs that are returned; of a template, a list of jobs or a
    ///   cause, for all runs of the span.
    public func history(
        _ range: HistoryRange, withOutput: Bool = true
    ) throws(StoreError) -> [PastRun] {
        var runs: [PastRun] = []
        // Behind a skipped firing come the runs that ended before it.
        let row = range.after.map { $0.isSkip ? .min : $0.row }
        try connection.run(
            """
            SELECT \(withOutput ? PastRunColumn.list : PastRunColumn.listWithoutOutput) FROM run
            WHERE outcome IS NOT NULL AND \(range.condition("owner"))
                AND \(range.listCondition("owner")) AND ended_us >= ?2 AND ended_us < ?3 AND (ended_us, id) < (?4, ?5)
                \(range.runConditions)
            ORDER BY ended_us DESC, id DESC LIMIT ?6
            """, range.values(instant: range.after?.instant, row: row), doing: "read the history"
        ) { row in
            guard var run = PastRun(Columns(row)) else { return }
            run.hasOutput = withOutput
            runs.append(run)
        }
        return runs
    }

    /// The same of one job or all, from an instant on.
    public func history(
        of job: Job.Name?, since: WallInstant?, failed: Bool, limit: Int
    ) throws(StoreError) -> [PastRun] {
        var range = HistoryRange(job: job, since: since, limit: limit)
        if failed { range.verdict = .failed }
        return try history(range)
    }

    /// Why runs were made, as a filter.
    public enum CauseKind: String, Hashable, Sendable {
        case schedule, requested, chain, resume
        case catchUp = "catch-up"
        /// A further attempt, whatever the first one was made for.
        case retry

        /// A run of a fleet has the cause behind the number of its claim: `claimed(7, schedule)`.
        fileprivate var condition: String {
            guard self != .retry else { return "attempt > 1" }
            return """
                CASE WHEN cause LIKE 'claimed(%' THEN substr(cause, instr(cause, ', ') + 2)
                ELSE ifnull(cause, 'schedule') END LIKE '\(rawValue)%'
                """
        }
    }

    /// The jobs of which the history has a run or a skipped firing, by their present names.
    /// - Complexity: O(*m* log *n*) for *m* jobs, for the same reason as `lastRuns`.
    public func jobsWithHistory() throws(StoreError) -> [Job.Name] {
        var names: [Job.Name] = []
        for (column, table) in [("owner", "run"), ("job", "skip")] {
            try connection.run(
                """
                WITH RECURSIVE known (name) AS (
                    SELECT min(\(column)) FROM \(table)
                    UNION ALL
                    SELECT (SELECT min(\(column)) FROM \(table) WHERE \(column) > known.name)
                    FROM known WHERE known.name IS NOT NULL
                )
                SELECT name FROM known WHERE name IS NOT NULL
                """, doing: "read the jobs of the history"
            ) { row in
                if let name = row.text(0).flatMap({ Job.Name($0) }) { names.append(name) }
            }
        }
        return Array(Set(names))
    }

    /// Firings in a row that were skipped for the same reason.
    public struct PastSkip: Hashable, Sendable {
        /// The current name of the job.
        public var job: Job.Name
        /// The word for the reason, as in the journal (`SkipKind.word`).
        public var reason: String
        /// The run because of which they were skipped; nil if there was none.
        public var blockedBy: String?
        /// How many occurrences were skipped, at least 1.
        public var count: Int
        /// When the first of them was due, by the wall clock.
        public var first: WallInstant
        /// When the last firing of them was due.
        public var last: WallInstant
        /// When it was decided to skip the last one, by the wall clock.
        public var at: WallInstant
        /// The number of their row in the table.
        public var row: Int64
    }

    /// The skipped firings, the latest first.
    /// - Complexity: O(*m* log *n*) for *m* rows that are returned; of a template, for all that its
    ///   jobs had.
    public func skips(_ range: HistoryRange) throws(StoreError) -> [PastSkip] {
        var skips: [PastSkip] = []
        // Behind a run come those that were skipped at the same instant.
        let row = range.after.map { $0.isSkip ? $0.row : .max }
        try connection.run(
            """
            SELECT \(SkipColumn.list) FROM skip
            WHERE \(range.condition("job"))
                AND \(range.listCondition("job")) AND at_us >= ?2 AND at_us < ?3 AND (at_us, id) < (?4, ?5)
            ORDER BY at_us DESC, id DESC LIMIT ?6
            """, range.values(instant: range.after?.instant, row: row), doing: "read the history"
        ) { row in
            guard let skip = PastSkip(Columns(row)) else { return }
            skips.append(skip)
        }
        return skips
    }

    /// What was skipped latest of each job.
    /// - Complexity: O(*m* log *n*) for *m* jobs of which something was skipped and *n* rows, for the
    ///   same reason as `lastRuns`.
    func lastSkips() throws(StoreError) -> [Job.Name: LastSkip] {
        var skips: [Job.Name: LastSkip] = [:]
        try connection.run(
            """
            WITH RECURSIVE known (job) AS (
                SELECT min(job) FROM skip
                UNION ALL
                SELECT (SELECT min(job) FROM skip WHERE job > known.job)
                FROM known WHERE known.job IS NOT NULL
            )
            SELECT \(SkipColumn.allCases.map { "skip.\($0.name)" }.joined(separator: ", "))
            FROM known JOIN skip ON skip.id = (
                SELECT id FROM skip AS last WHERE last.job = known.job
                ORDER BY last.at_us DESC, last.id DESC LIMIT 1)
            """, doing: "read the latest skipped runs"
        ) { row in
            // A row that cannot be read is not shown; it is only displayed.
            guard let skip = PastSkip(Columns(row)), let reason = SkipKind(word: skip.reason)
            else { return }
            skips[skip.job] = LastSkip(
                scheduled: skip.first, count: skip.count, reason: reason, at: skip.at)
        }
        return skips
    }

    /// Adds a firing that was skipped: to the row of the one before it if that was skipped for the
    /// same reason, on the same day in UTC, and no run of the job ended since. A job that is skipped
    /// each second has few rows then.
    func insert(_ skip: SkippedFiring) throws(StoreError) {
        let values: [Value] = [
            .text(skip.firing.id.job.description), .text(skip.reason.word),
            Value(skip.reason.blockedBy),
            .integer(Int64(skip.firing.missed.keepable) + 1), Value(skip.firing.id.scheduled),
            Value(skip.at),
        ]
        let what = "write a skipped run"
        let changed = try connection.run(
            """
            UPDATE skip SET count = count + ?4, last_us = ?5, at_us = ?6
            WHERE id = (SELECT id FROM skip WHERE job = ?1 ORDER BY at_us DESC, id DESC LIMIT 1)
                AND reason = ?2 AND blocked_by IS ?3
                AND at_us / 86400000000 = ?6 / 86400000000
                AND NOT EXISTS (
                    SELECT 1 FROM run WHERE owner = ?1 AND ended_us > skip.at_us)
            """, values, doing: what)
        guard changed == 0 else { return }
        try connection.run(
            """
            INSERT INTO skip (job, reason, blocked_by, count, first_us, last_us, at_us)
            VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
            """, values, doing: what)
    }
}

extension Notice.SkipReason {
    /// The run or the slot because of which a firing was skipped; nil if there was none.
    fileprivate var blockedBy: String? {
        switch self {
        case .stillRunning(let run), .queueFull(let run): run.description
        case .slotBusy(let slot): slot.description
        case .concurrencyMax, .missed, .catchUpMax, .deadline, .clockSet, .byOrder, .outsideWindow:
            nil
        }
    }
}

extension Store.PastSkip {
    /// Reads a row; nil if it is not valid. The history is only displayed.
    fileprivate init?(_ row: Columns<SkipColumn>) {
        func instant(_ column: SkipColumn) -> WallInstant? {
            row.integer(column).flatMap { WallInstant(kept: $0) }
        }
        guard let job = row.text(.job).flatMap({ Job.Name($0) }), let reason = row.text(.reason),
            let count = row.integer(.count).flatMap({ Int(kept: $0) }),
            let first = row.integer(.firstUs).flatMap({ WallInstant(keptSchedule: $0) }),
            let last = row.integer(.lastUs).flatMap({ WallInstant(keptSchedule: $0) }),
            let at = instant(.atUs)
        else { return nil }
        self.job = job
        self.reason = reason
        blockedBy = row.text(.blockedBy)
        self.count = count
        self.first = first
        self.last = last
        self.at = at
        self.row = row.integer(.id) ?? 0
    }
}
