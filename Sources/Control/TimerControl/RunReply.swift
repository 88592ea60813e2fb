// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A run, active or not, with what surrounds it.
public struct RunReply: Codable, Hashable, Sendable {
    /// The run; if it has ended, with the last part of its output.
    public var runStatus: RunStatus
    /// `RunState.word`: `waiting`, `starting`, `running`, `stopping` or `ended`.
    public var state: String
    /// The number of the attempt; 1 is the first.
    public var attempt: Int
    /// How many retries may follow the first attempt; absent for a job that is not configured any
    /// more.
    public var retries: Int?
    /// The next attempt after it, if there is one.
    public var followingAttempt: RunStatus?
    /// When its job runs next, RFC 3339; absent if no run is due.
    public var next: String?
    /// How many runs of all jobs are active, and how many may be.
    public var live: Int
    public var maxConcurrent: Int
    /// When the daemon answered, RFC 3339.
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
