// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension Store {
    /// The pauses that were, at least in part, within a range of time; the one that ended last comes
    /// first.
    ///
    /// - Parameters:
    ///   - job: only of this job; nil: of all jobs.
    ///   - since: only pauses that ended at this instant or later; nil: all.
    ///   - until: only pauses that began before this instant; nil: all.
    /// - Complexity: O(*m* log *n*) for *m* pauses that ended since then.
    public func pauses(
        of job: Job.Name?, since: WallInstant?, until: WallInstant?, limit: Int
    ) throws(StoreError) -> [PastPause] {
        var pauses: [PastPause] = []
        try connection.run(
            """
            SELECT \(PauseColumn.list) FROM pause
            WHERE \(job == nil ? "?1 IS NULL" : "job = ?1") AND ended_us >= ?2 AND since_us < ?3
            ORDER BY ended_us DESC, job, since_us DESC LIMIT ?4
            """,
            [
                Value(job?.description), .integer(since?.microsecondsSinceEpoch ?? .min),
                .integer(until?.microsecondsSinceEpoch ?? .max), .integer(Int64(limit)),
            ], doing: "read the pauses"
        ) { row in
            if let pause = PastPause(Columns(row)) { pauses.append(pause) }
        }
        return pauses
    }

    /// Adds a pause. One that was written already, by a command whose answer was lost, is the same
    /// row.
    func insert(_ past: PastPause) throws(StoreError) {
        try connection.run(
            """
            INSERT OR REPLACE INTO pause (\(PauseColumn.list)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """,
            [
                .text(past.job.description), Value(past.pause.since), Value(past.ended),
                .text(past.pause.by.stored), .text(past.endedBy.stored), Value(past.pause.note),
                past.pause.until.map { Value($0) } ?? .null, Value(past.pause.withRun),
            ], doing: "write a pause that ended")
    }
}

extension PastPause {
    /// Reads a row; nil if it is not valid. The history is only displayed.
    fileprivate init?(_ row: Columns<PauseColumn>) {
        func instant(_ column: PauseColumn) -> WallInstant? {
            row.integer(column).flatMap { WallInstant(kept: $0) }
        }
        guard let job = row.text(.job).flatMap({ Job.Name($0) }), let since = instant(.sinceUs),
            let ended = instant(.endedUs), let by = row.text(.pausedBy),
            let endedBy = row.text(.endedBy)
        else { return nil }
        let pause = Pause(
            since: since, by: Initiator(stored: by), note: row.text(.note),
            until: instant(.untilUs), withRun: row.integer(.withRun) ?? 0 != 0)
        self.init(job: job, pause: pause, by: Initiator(stored: endedBy), at: ended)
    }
}
