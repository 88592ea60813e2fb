// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Which of the pauses that ended are requested.
public struct PauseQuery: RequestQuery {
    /// The maximum of `limit`.
    public static let limitMax = 1000

    /// The pauses of this job; nil for all jobs.
    public var job: Job.Name?
    /// Only pauses that ended at this instant or later.
    public var since: WallInstant?
    /// Only pauses that began before this instant; nil: all.
    public var until: WallInstant?
    /// How many at most, from 1 to `limitMax`.
    public var limit: Int

    /// By default the 100 of all jobs that ended last.
    public init(
        job: Job.Name? = nil, since: WallInstant? = nil, until: WallInstant? = nil,
        limit: Int = 100
    ) {
        self.job = job
        self.since = since
        self.until = until
        self.limit = limit
    }

    public init() { self.init(job: nil) }

    public static let parameters: [QueryParameter<PauseQuery>] = [
        .job("job", \.job, "Only pauses of this job."),
        .instant("since", \.since, "Only pauses that ended then or later."),
        .instant("until", \.until, "Only pauses that began before then."),
        .number("limit", \.limit, 1...limitMax, "How many at most."),
    ]
}

/// A pause that ended, from the history.
public struct PastPauseStatus: Codable, Hashable, Sendable {
    /// Who paused the job, or changed the terms of the pause last.
    public var by: String
    /// When the pause ended, RFC 3339.
    public var ended: String
    /// Who ended it; absent if it ended by itself at `until`.
    public var endedBy: String?
    /// The job, by its name now.
    public var job: String
    /// What the user wrote about it; absent if nothing.
    public var note: String?
    /// Since when the job was paused, RFC 3339.
    public var since: String
    /// When it would have ended by itself, RFC 3339; absent if it had no end.
    public var until: String?
    /// Whether its runs were suspended as well; absent if not.
    public var withRun: Bool?

    public init(_ past: PastPause) {
        by = past.pause.by.description
        ended = past.ended.rfc3339Micros
        endedBy = past.endedBy == .pauseEnd ? nil : past.endedBy.description
        job = past.job.description
        note = past.pause.note
        since = past.pause.since.rfc3339Micros
        until = past.pause.until?.rfc3339Micros
        withRun = past.pause.withRun ? true : nil
    }
}

/// The requested pauses; the one that ended last comes first.
public struct PausesReply: Codable, Hashable, Sendable {
    /// Whether there are more than were requested; absent if not.
    public var hasMore: Bool?
    /// The pauses; the one that ended last comes first.
    public var pauses: [PastPauseStatus]

    /// An answer with the first so many of these pauses.
    public init(_ pauses: [PastPause], limit: Int) {
        hasMore = pauses.count > limit ? true : nil
        self.pauses = pauses.prefix(limit).map { PastPauseStatus($0) }
    }
}
