// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Everything about one run.
public struct RunReply: Codable, Hashable, Sendable {
    /// The run, with the last of its output once it has ended.
    public var runStatus: RunStatus
    /// `waiting`, `starting`, `running`, `stopping` or `ended`.
    public var state: String
    /// 1 for the first attempt.
    public var attempt: Int
    /// How many attempts may follow the first; absent for a job that is not configured any more.
    public var retries: Int?
    /// The attempt that follows it, if there is one.
    public var followingAttempt: RunStatus?
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
        runStatus: RunStatus, state: String, attempt: Int, retries: Int? = nil,
        followingAttempt: RunStatus? = nil, next: String? = nil, live: Int = 0,
        maxConcurrent: Int = 1,
        now: String, since: String
    ) {
        self.runStatus = runStatus
        self.state = state
        self.attempt = attempt
        self.retries = retries
        self.followingAttempt = followingAttempt
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
