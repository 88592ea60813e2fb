// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Which of the next runs are requested, and how they are listed.
public struct UpcomingQuery: RequestQuery {
    /// The maximum of `limit`.
    public static let limitMax = 1000
    /// How far ahead an answer looks without `until`.
    public static let standardSpan = Duration.seconds(3600)

    /// The runs of this job; nil for all jobs.
    public var job: Job.Name?
    /// The runs of jobs whose names match one of these patterns; empty for all jobs.
    public var match: [String]
    /// The runs until then; nil for those of the next hour.
    public var until: WallInstant?
    /// How many at most, from 1 to `limitMax`.
    public var limit: Int
    /// Whether a job with more than three runs is listed once, with the number of its further runs,
    /// so that it does not hide other jobs.
    public var isGrouped: Bool

    /// By default the next 50 runs of all jobs within an hour.
    public init(
        job: Job.Name? = nil, match: [String] = [], until: WallInstant? = nil, limit: Int = 50,
        isGrouped: Bool = false
    ) {
        self.job = job
        self.match = match
        self.until = until
        self.limit = limit
        self.isGrouped = isGrouped
    }

    public init() { self.init(job: nil) }

    public static let parameters: [QueryParameter<UpcomingQuery>] = [
        .job("job", \.job, "Only runs of this job."),
        .patterns("match", \.match, "Only runs of jobs whose names match one of these patterns"),
        .instant(
            "until", \.until,
            "Only runs that are due until then. Without it, those of the next hour."),
        .number("limit", \.limit, 1...limitMax, "How many at most."),
        .flag(
            "grouped", \.isGrouped,
            "Whether a job with more than three runs is listed once, with the number of its further runs."
        ),
    ]
}

/// The next runs of several jobs, the earliest first.
public struct UpcomingReply: Codable, Hashable, Sendable {
    /// A run that becomes due if nothing changes until then.
    public struct Run: Codable, Hashable, Sendable {
        /// When it is due, RFC 3339.
        public var at: String
        /// How many further runs of the job are not listed, if the runs are grouped; absent if
        /// none.
        public var furtherCount: Int?
        /// Whether the job may have more runs than that; absent if not.
        public var hasMore: Bool?
        /// The job's name.
        public var job: String
        /// `run`, `retry`, or `skipped` because a user requested it.
        public var kind: String

        fileprivate init(_ run: UpcomingRun) {
            at = run.at.rfc3339Micros
            job = run.job.description
            kind = run.kind.rawValue
        }
    }

    /// The next runs, the earliest first.
    public var upcoming: [Run]
    /// Whether there are more within the time that was asked for.
    public var hasMore: Bool
    /// The jobs that are paused without an end.
    public var pausedJobs: [String]
    /// When the daemon answered, RFC 3339.
    public var now: String

    /// The answer to a query.
    ///
    /// - Complexity: O(jobs + `limit`) searches of schedules, since later jobs are searched only up
    ///   to the last run that is shown; if the runs are grouped, O(jobs).
    public init(_ snapshot: Snapshot, _ query: UpcomingQuery) {
        let patterns = query.match.map { NamePattern($0) }
        var end = query.until ?? snapshot.at.wall + UpcomingQuery.standardSpan
        // Of very many jobs fewer runs are counted.
        let countedMax = max(
            Self.oftenMax + 1, min(Self.countedMax, Self.countedInAll / max(1, snapshot.jobs.count))
        )
        var found: [(run: UpcomingRun, further: Int)] = []
        func sort() { found.sort { ($0.run.at, $0.run.job) < ($1.run.at, $1.run.job) } }
        var pausedJobs: [String] = []
        for job in snapshot.jobs {
            let name = job.job.name
            guard query.job.map({ $0 == name }) ?? true else { continue }
            let text = name.description
            guard patterns.isEmpty || patterns.contains(where: { $0.matches(text) }) else {
                continue
            }
            if case .paused(let pause) = job.phase, pause.until == nil { pausedJobs.append(text) }
            // One more than is shown, to know whether there are more.
            let most = query.isGrouped ? countedMax + 1 : query.limit + 1
            let runs = job.upcomingRuns(until: end, most: most)
            found += query.isGrouped ? Self.grouped(runs) : runs.map { ($0, 0) }
            guard found.count > query.limit * 2 + Self.countedMax else { continue }
            sort()
            found.removeLast(found.count - query.limit - 1)
            if !query.isGrouped { end = found[query.limit].run.at }
        }
        sort()
        hasMore = found.count > query.limit
        self.pausedJobs = pausedJobs
        now = snapshot.at.wall.rfc3339Micros
        upcoming = found.prefix(query.limit).map { run, further in
            var shown = Run(run)
            if further > 0 { shown.furtherCount = min(further, countedMax - 1) }
            if further >= countedMax { shown.hasMore = true }
            return shown
        }
    }

    /// A job with more runs than this is listed once.
    private static let oftenMax = 3
    /// How many of its runs are counted at most.
    private static let countedMax = 200
    /// How many runs of all jobs are counted at most, beyond the first few of each.
    private static let countedInAll = 200_000

    private static func grouped(_ runs: [UpcomingRun]) -> [(UpcomingRun, Int)] {
        let regular = runs.filter { $0.kind == .run }
        guard regular.count > oftenMax, let first = regular.first else {
            return runs.map { ($0, 0) }
        }
        return runs.filter { $0.kind != .run }.map { ($0, 0) } + [(first, regular.count - 1)]
    }
}
