// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What the history has of many runs, without the runs themselves.
extension Store {
    /// How a run ended, as the letter that the API uses for it.
    public enum Verdict: String, Hashable, Sendable {
        case succeeded = "s"
        case failed = "f"
        /// It was stopped, replaced or skipped, and neither succeeded nor failed.
        case neither = "i"

        /// The condition for it in SQL.
        var condition: String {
            let isProcess = "(outcome LIKE 'exited(%' OR outcome LIKE 'signalled(%')"
            return switch self {
            case .failed: "failed = 1"
            case .succeeded: "failed = 0 AND \(isProcess)"
            case .neither: "failed = 0 AND NOT \(isProcess)"
            }
        }
    }

    /// The last runs of a job, the oldest first.
    public struct RecentRuns: Hashable, Sendable {
        /// The current name of the job.
        public var job: Job.Name
        /// How each of the runs ended. The three arrays have the same length.
        public var verdicts: [Verdict] = []
        /// When each of them ended, in microseconds since 1970.
        public var ends: [Int64] = []
        /// How long each of them took, in microseconds.
        public var durations: [Int64] = []
    }

    /// The last runs of all jobs, by the names of the jobs.
    ///
    /// - Parameters:
    ///   - count: how many of each job.
    ///   - since: only runs that ended then or later; nil: all.
    ///   - failed: whether only failed runs are read.
    ///   - name: only jobs whose names come behind this one.
    ///   - runsMax: after a job with which there are as many runs, no further job is read.
    /// - Returns: the runs, and whether there may be further jobs.
    /// - Complexity: O(*m* log *n*) for *m* runs that are returned.
    public func recentRuns(
        count: Int, since: WallInstant? = nil, failed: Bool = false, after name: Job.Name?,
        runsMax: Int
    ) throws(StoreError) -> (jobs: [RecentRuns], isCut: Bool) {
        let what = "read the latest runs"
        var jobs: [RecentRuns] = []
        var runs = 0
        var last = name?.description ?? ""
        while true {
            var next: String?
            try connection.run(
                "SELECT min(owner) FROM run WHERE ended_us IS NOT NULL AND owner > ?",
                [.text(last)],
                doing: what
            ) { next = $0.text(0) }
            guard let next else { return (jobs, false) }
            guard runs < runsMax else { return (jobs, true) }
            last = next
            guard let job = Job.Name(next) else { continue }
            var recent = RecentRuns(job: job)
            try connection.run(
                """
                SELECT ended_us, elapsed_us, failed, outcome FROM run
                WHERE ended_us IS NOT NULL AND owner = ? AND ended_us >= ?
                    \(failed ? "AND failed = 1" : "")
                ORDER BY ended_us DESC, id DESC LIMIT ?
                """,
                [
                    .text(next), .integer(since?.microsecondsSinceEpoch ?? .min),
                    .integer(Int64(count)),
                ], doing: what
            ) { recent.add($0) }
            runs += recent.ends.count
            if !recent.ends.isEmpty { jobs.append(recent.reversed) }
        }
    }

    /// The numbers of the history of one span of time.
    public struct Sums: Hashable, Sendable {
        public var runs: Int64 = 0
        /// How many of them were judged as failed when they ended.
        public var failed: Int64 = 0
        /// How many occurrences were skipped in it.
        public var skipped: Int64 = 0
        /// How long the runs took together, in microseconds.
        public var elapsed: Int64 = 0

        /// The sums of a span without runs.
        public init() {}
    }

    /// The sums of the history of a job, for each of the spans between these instants.
    ///
    /// - Parameter bounds: in ascending order.
    /// - Returns: one element fewer than there are instants.
    /// - Complexity: O(*m* log *n*) for *m* instants, and O(*k*) for *k* runs between them.
    public func sums(
        of job: Job.Name, between bounds: [WallInstant]
    ) throws(StoreError) -> [Sums] {
        let what = "add up the history"
        var all: [Sums] = []
        for (start, end) in zip(bounds, bounds.dropFirst()) {
            var sums = Sums()
            let values: [Value] = [.text(job.description), Value(start), Value(end)]
            try connection.run(
                """
                SELECT count(*), sum(elapsed_us) FROM run
                WHERE owner = ? AND ended_us >= ? AND ended_us < ?
                """, values, doing: what
            ) { row in
                sums.runs = row.integer(0) ?? 0
                sums.elapsed = row.integer(1) ?? 0
            }
            // The index of failed runs has few rows. With one more sum over all runs, the answer
            // takes a quarter longer.
            try connection.run(
                """
                SELECT count(*) FROM run INDEXED BY run_failed_of_job
                WHERE failed = 1 AND owner = ? AND ended_us >= ? AND ended_us < ?
                """, values, doing: what
            ) { sums.failed = $0.integer(0) ?? 0 }
            try connection.run(
                "SELECT total(count) FROM skip WHERE job = ? AND at_us >= ? AND at_us < ?", values,
                doing: what
            ) { sums.skipped = $0.integer(0) ?? 0 }
            all.append(sums)
        }
        return all
    }
}

extension Store.RecentRuns {
    fileprivate mutating func add(_ row: Row) {
        guard let end = row.integer(0), let outcome = row.text(3).flatMap({ RunOutcome($0) }) else {
            return
        }
        ends.append(end)
        durations.append(max(0, row.integer(1) ?? 0))
        let failed = row.integer(2) == 1
        verdicts.append(
            failed
                ? .failed : outcome.result(failed: false) == .success ? .succeeded : .neither)
    }

    fileprivate var reversed: Self {
        Self(
            job: job, verdicts: verdicts.reversed(), ends: ends.reversed(),
            durations: durations.reversed())
    }
}
