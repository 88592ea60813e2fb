// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The endpoints for what happened and what is going to happen.
extension ControlRequest {
    static let recordEndpoints: [any AnyEndpoint] = [
        history, run, upcoming, events, recent, days, pauses,
    ]

    public static let history = get(
        "history", "/v1/runs", "Runs that ended, the latest first.", for: .readers,
        query: HistoryQuery.self, answer: .json(HistoryReply.self, "The runs."),
        errors: [.notFound])

    public static let run = get(
        "showOneRun", "/v1/runs/{run}", "Everything about one run.", for: .readers, of: .run,
        answer: .json(RunReply.self, "The run."), errors: [.notFound])

    public static let upcoming = get(
        "upcoming", "/v1/upcoming", "The next runs of all jobs, the earliest first.", for: .readers,
        query: UpcomingQuery.self, answer: .json(UpcomingReply.self, "The runs."),
        errors: [.notFound], isLong: true)

    public static let events = get(
        "events", "/v1/events",
        "What happens, as server-sent events: each event that the journal gets, whatever its log level is, but not the output of jobs. A stream ends when the daemon stops.",
        for: .readers, query: EventQuery.self,
        answer: AnswerForm(
            content: .events([
                ("hello", EventsHello.self), ("events", EventsFrame.self), ("gap", EventsGap.self),
            ]),
            sentence:
                "A stream of messages, of which each has JSON in `data`: first `hello`, then `events`, and `gap` where events are missing for this client. `id` is the number of the last event."
        ), errors: [.notFound])

    public static let recent = get(
        "recent", "/v1/recent", "The last runs of each job, in few bytes.", for: .readers,
        query: RecentQuery.self, answer: .json(RecentReply.self, "The runs."))

    public static let days = get(
        "days", "/v1/jobs/{job}/days", "The runs of a job by the day.", for: .readers, of: .job,
        query: DaysQuery.self, answer: .json(DaysReply.self, "The days."), errors: [.notFound])

    public static let pauses = get(
        "pauses", "/v1/pauses",
        "Pauses that ended; the one that ended last comes first. A pause that goes on is in the status of its job.",
        for: .readers, query: PauseQuery.self, answer: .json(PausesReply.self, "The pauses."),
        errors: [.notFound])
}

/// Of which jobs the last runs are requested, and how many.
public struct RecentQuery: RequestQuery {
    /// How many runs of each job: 1 to 1000.
    public var count = 20
    /// Only runs that ended then or later; nil: all.
    public var since: WallInstant?
    /// Whether only failed runs are requested.
    public var failed = false
    /// Only jobs whose names come behind this one; nil: all.
    public var after: Job.Name?

    public init() {}

    public init(
        count: Int, since: WallInstant? = nil, failed: Bool = false, after: Job.Name? = nil
    ) {
        self.count = count
        self.since = since
        self.failed = failed
        self.after = after
    }

    public static let parameters: [QueryParameter<RecentQuery>] = [
        .number("count", \.count, 1...1000, "How many runs of each job."),
        .instant("since", \.since, "Only runs that ended since then."),
        .flag("failed", \.failed, "Whether only runs that failed."),
        .job(
            "after", \.after,
            "Only jobs whose names come behind this one: `next_job` of an earlier answer."),
    ]
}

/// How many days of a job are requested.
public struct DaysQuery: RequestQuery {
    /// How many, up to today: 1 to 366; 26 weeks by default.
    public var count = 182

    public init() {}

    public init(count: Int) { self.count = count }

    public static let parameters: [QueryParameter<DaysQuery>] = [
        .number("count", \.count, 1...366, "How many days, up to today.")
    ]
}
