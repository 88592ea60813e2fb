// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The daemon and its jobs.
public struct DaemonStatus: Codable, Hashable, Sendable {
    /// The version of timerd.
    public var version: String
    /// The process ID of the scheduler.
    public var pid: Int32
    /// When the daemon started, RFC 3339. Another value means another daemon instance.
    public var since: String
    /// When the daemon answered, RFC 3339: all spans are counted from then.
    public var now: String
    /// The absolute path of the configuration it reads.
    public var config: String
    /// Why a part of the present configuration was refused, in a sentence; absent if nothing was.
    public var refusal: String?
    /// The jobs or files of the configuration that have errors and are not loaded.
    public var rejected: [String]
    /// The hold of the machine, in which no run starts; absent while it is not held.
    public var hold: PauseStatus?
    /// The notifiers whose last attempt to send a message failed; absent if there are none.
    public var failingNotifiers: [String]?
    /// The notifiers whose limit `per-hour` holds notifications back; absent if there are none.
    public var heldNotifications: [HeldNotifications]?
    /// The jobs in the order of the configuration.
    public var jobs: [JobStatus]

    public init(
        version: String, pid: Int32, since: String, now: String, config: String,
        refusal: String? = nil, rejected: [String], hold: PauseStatus? = nil,
        failingNotifiers: [String]? = nil, heldNotifications: [HeldNotifications]? = nil,
        jobs: [JobStatus]
    ) {
        self.hold = hold
        self.failingNotifiers = failingNotifiers
        self.heldNotifications = heldNotifications
        self.refusal = refusal
        self.version = version
        self.pid = pid
        self.since = since
        self.now = now
        self.config = config
        self.rejected = rejected
        self.jobs = jobs
    }
}

/// The part of `DaemonStatus` that a table of all jobs shows. Decoding all of it would take most of
/// the time if there are many jobs.
public struct JobTable: Decodable, Hashable, Sendable {
    /// The part of `JobStatus` that a table shows.
    public struct Row: Decodable, Hashable, Sendable {
        public var job: String
        /// `JobStatus.state`: `armed`, `paused`, `stopped`, `finished` or `retrying`.
        public var state: String
        /// When the next firing is due if nothing changes until then.
        public var next: String?
        /// When the next further attempt starts, and how long until then.
        public var nextAttempt: String?
        public var nextAttemptUsec: Int64?
        /// The active time left until `next`; absent if nothing is due.
        public var remainingUsec: Int64?
        /// The active time in total, in microseconds.
        public var activeUsec: Int64
        /// The runs that are active or waiting; of other machines too, for a job of a fleet.
        public var running: [RunStatus]
        /// The latest run that ended; absent if none is known.
        public var last: RunStatus?
        /// Its pause: who paused it, when and why.
        public var paused: PauseStatus?
        /// The jobs after whose runs it runs; absent if it follows none.
        public var follows: [FollowStatus]?
        /// How many of the next runs are skipped; absent if none is.
        public var skips: Int?
        /// Its incidents with notifications; absent if there are none.
        public var incidents: [IncidentStatus]?
    }

    /// The daemon's version and start; nil if the daemon did not send them.
    public var version: String?
    public var since: String?
    /// The absolute path of the configuration the daemon reads.
    public var config: String
    /// Why a part of the present configuration was refused, in a sentence; absent if nothing was.
    public var refusal: String?
    /// The jobs in the configuration that the daemon could not accept.
    public var rejected: [String]
    /// The hold of the machine, in which no run starts; absent while it is not held.
    public var hold: PauseStatus?
    /// The notifiers whose last attempt to send a message failed; absent if there are none.
    public var failingNotifiers: [String]?
    /// The notifiers that hold notifications back because of their limits; absent if none does.
    public var heldNotifications: [HeldNotifications]?
    /// The jobs in the order of the configuration.
    public var jobs: [Row]
}

/// The part of `DaemonStatus` that a command for all jobs needs.
public struct JobNames: Decodable, Hashable, Sendable {
    /// The part of `JobStatus` that names the job.
    public struct Row: Decodable, Hashable, Sendable {
        public var job: String
    }

    /// The jobs in the order of the configuration.
    public var jobs: [Row]
}

/// Notifications that a notifier does not send yet, because of its limit `per-hour`.
public struct HeldNotifications: Codable, Hashable, Sendable {
    /// How many there are.
    public var heldCount: Int
    /// The name of the notifier.
    public var notifier: String
    /// When the next message with them is sent, RFC 3339.
    public var until: String

    public init(notifier: String, heldCount: Int, until: String) {
        self.heldCount = heldCount
        self.notifier = notifier
        self.until = until
    }
}

extension DaemonStatus {
    /// The same with the jobs of a snapshot. Each job is converted when its turn comes to be
    /// encoded, so that the converted form of many jobs is never in memory at once.
    public struct Listing: Encodable {
        private let daemon: DaemonStatus
        private let snapshot: Snapshot

        /// The members of `daemon`, with the jobs of the snapshot in place of its own.
        public init(_ daemon: DaemonStatus, jobs snapshot: Snapshot) {
            self.daemon = daemon
            self.snapshot = snapshot
        }

        /// Writes the members in alphabetical order, so that they need not be sorted.
        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(daemon.config, forKey: .config)
            try members.encodeIfPresent(daemon.failingNotifiers, forKey: .failingNotifiers)
            try members.encodeIfPresent(daemon.heldNotifications, forKey: .heldNotifications)
            try members.encodeIfPresent(daemon.hold, forKey: .hold)
            var jobs = members.nestedUnkeyedContainer(forKey: .jobs)
            for job in snapshot.jobs { try jobs.encode(JobStatus(job)) }
            try members.encode(daemon.now, forKey: .now)
            try members.encode(daemon.pid, forKey: .pid)
            try members.encodeIfPresent(daemon.refusal, forKey: .refusal)
            try members.encode(daemon.rejected, forKey: .rejected)
            try members.encode(daemon.since, forKey: .since)
            try members.encode(daemon.version, forKey: .version)
        }
    }
}
