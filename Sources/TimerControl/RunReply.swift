// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Everything about one run.
public struct RunReply: Codable, Hashable, Sendable {
    /// The job it belongs to, by its name now.
    public var job: String
    /// `waiting`, `starting`, `running`, `stopping` or `ended`.
    public var state: String
    /// 1 for the first attempt.
    public var attempt: Int
    /// How many attempts may follow the first; absent for a job that is not configured any more.
    public var retries: Int?
    /// How many further runs that were due it stands for.
    public var missed: Int
    /// What is said of any run.
    public var status: RunStatus
    /// When it ended.
    public var ended: String?
    /// The last of what it wrote, once it has ended; bytes that are no UTF-8 are replaced.
    public var output: String?
    /// The attempt that follows it, if there is one.
    public var nextAttempt: RunStatus?
    /// When its job runs next.
    public var next: String?
    /// How many runs are active, of all jobs, and how many may be.
    public var live: Int
    public var maxConcurrent: Int
    /// When this was said.
    public var now: String
    /// When the daemon started.
    public var since: String

    /// A run as described.
    public init(
        job: String, state: String, attempt: Int, retries: Int? = nil, missed: Int = 0,
        status: RunStatus, ended: String? = nil, output: String? = nil,
        nextAttempt: RunStatus? = nil, next: String? = nil, live: Int = 0, maxConcurrent: Int = 1,
        now: String, since: String
    ) {
        self.job = job
        self.state = state
        self.attempt = attempt
        self.retries = retries
        self.missed = missed
        self.status = status
        self.ended = ended
        self.output = output
        self.nextAttempt = nextAttempt
        self.next = next
        self.live = live
        self.maxConcurrent = maxConcurrent
        self.now = now
        self.since = since
    }
}

extension RunState {
    /// The word for it in JSON.
    public var word: String {
        switch self {
        case .waiting: "waiting"
        case .starting: "starting"
        case .running: "running"
        case .stopping, .stoppingAtStart: "stopping"
        case .ended: "ended"
        }
    }
}
