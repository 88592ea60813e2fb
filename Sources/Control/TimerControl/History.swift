// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A place in the history, behind which the next answer begins: `r1795000000000000.17`.
public struct HistoryCursor: Hashable, Sendable, CustomStringConvertible {
    /// When the run ended, or the skipped firing was skipped, in microseconds since 1970.
    public var microseconds: Int64
    /// Whether it is a skipped firing (`s`) or a run (`r`).
    public var isSkip: Bool
    /// Its number in its table of the database, which orders what ended at the same time.
    public var row: Int64

    public init(microseconds: Int64, isSkip: Bool, row: Int64) {
        self.microseconds = microseconds
        self.isSkip = isSkip
        self.row = row
    }

    /// Reads what `description` writes; nil for another text.
    public init?(_ text: some StringProtocol) {
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        guard let kind = text.first, kind == "r" || kind == "s", parts.count == 2,
            let microseconds = Int(digits: parts[0]), let row = Int(digits: parts[1])
        else { return nil }
        self.init(microseconds: Int64(microseconds), isSkip: kind == "s", row: Int64(row))
    }

    /// The text of it, which clients pass back as it is.
    public var description: String { "\(isSkip ? "s" : "r")\(microseconds).\(row)" }
}

/// Which of the runs that ended, and skipped firings, are requested.
public struct HistoryQuery: RequestQuery {
    /// The maximum of `limit`.
    public static let limitMax = 1000

    /// The runs of this job, or of the jobs of this template; nil for all jobs.
    public var job: Job.Name?
    /// Only of jobs whose names match one of these patterns; empty: of all jobs.
    public var match: [String]
    /// Only what ended in this way; nil: everything.
    public var result: HistoryResult?
    /// Only runs that were made for this reason; nil: all. Skipped runs have none, and are left out.
    public var cause: HistoryCause?
    /// Only what ended at this instant or later; nil: everything.
    public var since: WallInstant?
    /// Only what ended before this instant; nil: everything.
    public var until: WallInstant?
    /// How many at most, from 1 to `limitMax`.
    public var limit: Int
    /// Whether the runs have the last of their output.
    public var output: Bool
    /// Only so many of the last lines of the output that are not empty, 1 to 1000; nil: all that is kept.
    public var lines: Int?
    /// Whether skipped runs are requested as well; `limit` counts both.
    public var skipped: Bool
    /// Only what is behind this place; nil: from the latest on.
    public var cursor: HistoryCursor?

    /// By default the latest 20 runs of all jobs, with their output.
    public init(
        job: Job.Name? = nil, match: [String] = [], result: HistoryResult? = nil,
        cause: HistoryCause? = nil, since: WallInstant? = nil, until: WallInstant? = nil,
        limit: Int = 20, output: Bool = true, lines: Int? = nil, skipped: Bool = false,
        cursor: HistoryCursor? = nil
    ) {
        self.job = job
        self.match = match
        self.result = result
        self.cause = cause
        self.lines = lines
        self.since = since
        self.until = until
        self.limit = limit
        self.output = output
        self.skipped = skipped
        self.cursor = cursor
    }

    public init() { self.init(job: nil) }

    public static let parameters: [QueryParameter<HistoryQuery>] = [
        .job("job", \.job, "Only runs of this job, or of the jobs of a template such as `dump@`."),
        .patterns("match", \.match, "Only runs of jobs whose names match one of these patterns"),
        .word(
            "result", \.result,
            "Only runs that ended in this way, by the rules that applied when they ended: `other` are those that were stopped, replaced or skipped by their exit code, and `skipped` those that were not started, which are in `skipped_runs`."
        ),
        .word(
            "cause", \.cause,
            "Only runs that were made for this reason; `retry` are further attempts, whatever the first one was made for."
        ),
        .instant("since", \.since, "Only runs that ended since then."),
        .instant("until", \.until, "Only runs that ended before then."),
        .number("limit", \.limit, 1...limitMax, "How many at most."),
        .flag(
            "output", \.output,
            "Whether the runs have the last of their output, as they do without this parameter."),
        .optionalNumber(
            "lines", \.lines, 1...1000,
            "Only so many of the last lines of the output that are not empty."),
        .flag(
            "skipped", \.skipped,
            "Whether runs that were skipped are in the answer as well; `limit` counts both."),
        QueryParameter(
            "cursor", .text(pattern: "^[rs][0-9]{1,18}[.][0-9]{1,18}$"),
            "Only what comes behind an earlier answer: its `next_cursor`."
        ) { (text, query) throws(ControlRequest.Fault) in
            guard let place = HistoryCursor(text) else {
                throw .badQuery("cursor must be next_cursor of an earlier answer")
            }
            query.cursor = place
        } write: {
            $0.cursor?.description
        },
    ]
}

/// The requested runs, and where the next answer continues.
public struct HistoryReply: Codable, Hashable, Sendable {
    /// What to pass as `cursor` for what comes behind; absent if there is no more.
    public var nextCursor: String?
    /// The runs that ended, the latest first.
    public var runs: [RunStatus]
    /// Runs that were skipped, the latest first; absent if they were not requested.
    public var skippedRuns: [SkippedRuns]?

    public init(
        runs: [RunStatus], skippedRuns: [SkippedRuns]? = nil, nextCursor: String? = nil
    ) {
        self.nextCursor = nextCursor
        self.runs = runs
        self.skippedRuns = skippedRuns
    }
}

/// Runs in a row that were skipped for the same reason, on one day in UTC, without a run of the job
/// that ended between them.
public struct SkippedRuns: Codable, Hashable, Sendable {
    /// When the last of them was skipped, RFC 3339.
    public var at: String
    /// The run, or the slot, because of which they were skipped; absent if there was none.
    public var blockedBy: String?
    /// When the first of them was due, RFC 3339.
    public var firstScheduled: String
    /// The job by its present name, also for runs from before it was renamed.
    public var job: String
    /// When the last of them was due, RFC 3339.
    public var lastScheduled: String
    /// The reason, as the journal has it.
    public var reason: String
    /// The reason in words.
    public var text: String
    /// How many there were, with the missed ones that each stands for.
    public var skippedCount: Int

    public init(
        job: String, reason: String, blockedBy: String? = nil, skippedCount: Int,
        firstScheduled: String, lastScheduled: String, at: String
    ) {
        self.at = at
        self.blockedBy = blockedBy
        self.firstScheduled = firstScheduled
        self.job = job
        self.lastScheduled = lastScheduled
        self.reason = reason
        text = RunWords.skip(reason)
        self.skippedCount = skippedCount
    }
}

/// The last runs of each job, in few bytes.
public struct RecentReply: Codable, Hashable, Sendable {
    /// About how many runs one answer has at most.
    public static let runsMax = 100_000

    /// The last runs of a job, the oldest first: lists of the same length.
    public struct Runs: Codable, Hashable, Sendable {
        /// How long each of them took, in microseconds.
        public var durations: [Int64]
        /// When each of them ended, in microseconds since 1970.
        public var endTimes: [Int64]
        /// The job, by its name now.
        public var job: String
        /// A letter for each of them: s succeeded, f failed, i was stopped, replaced or skipped.
        public var verdicts: String

        /// The three lists have one element for each run.
        public init(job: String, verdicts: String, endTimes: [Int64], durations: [Int64]) {
            self.durations = durations
            self.endTimes = endTimes
            self.job = job
            self.verdicts = verdicts
        }
    }

    /// What to pass as `after` for the jobs behind; absent if there are no more.
    public var nextJob: String?
    /// The jobs that have runs, by their names.
    public var recent: [Runs]

    public init(recent: [Runs], nextJob: String? = nil) {
        self.nextJob = nextJob
        self.recent = recent
    }
}

/// The runs of a job by the day.
public struct DaysReply: Codable, Hashable, Sendable {
    /// The runs of one day, by the day on which they ended.
    public struct Day: Codable, Hashable, Sendable {
        /// The day in the zone of the answer, such as 2026-11-22.
        public var day: String
        /// How long the runs took together, in microseconds.
        public var elapsedUsec: Int64
        /// How many of them failed, by the rules that applied when they ended.
        public var failedCount: Int64
        /// How many runs ended, however they did.
        public var runCount: Int64
        /// How many runs were skipped; of several in a row, the day of the last one has all.
        public var skippedCount: Int64

        public init(
            day: String, runCount: Int64, failedCount: Int64, skippedCount: Int64,
            elapsedUsec: Int64
        ) {
            self.day = day
            self.elapsedUsec = elapsedUsec
            self.failedCount = failedCount
            self.runCount = runCount
            self.skippedCount = skippedCount
        }
    }

    /// The days on which a run ended or was skipped, the earliest first.
    public var days: [Day]
    /// The job by its present name.
    public var job: String
    /// The time zone of the days; absent for that of the machine.
    public var timezone: String?
    /// The last of the requested days: today.
    public var today: String

    public init(job: String, timezone: String?, today: String, days: [Day]) {
        self.days = days
        self.job = job
        self.timezone = timezone
        self.today = today
    }
}
