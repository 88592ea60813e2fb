// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A run, active or not, with what surrounds it.
public struct RunReply: Codable, Hashable, Sendable {
    /// The run, with the last of its output once it has ended.
    public var runStatus: RunStatus
    /// Where the run stands.
    public var state: String
    /// The number of the attempt; 1 is the first.
    public var attempt: Int
    /// How many attempts may follow the first; absent for a job that is not configured any more.
    public var retries: Int?
    /// The attempt that follows it, if there is one.
    public var followingAttempt: RunStatus?
    /// The runs of other jobs that its end caused, at most 100; absent if it caused none.
    public var caused: [RunStatus]?
    /// When its job runs next, RFC 3339; absent if no run is due.
    public var next: String?
    /// How many runs are active, of all jobs.
    public var live: Int
    /// How many runs may be active.
    public var maxConcurrent: Int
    /// When this was said, RFC 3339.
    public var now: String
    /// When the daemon started, RFC 3339.
    public var since: String

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
    /// The word for the state in JSON. What is being ended is `stopping`, whether its process
    /// started or not.
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
