// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What the control API says of a job. As JSON the names are in snake_case; instants are RFC 3339 in UTC
/// with six digits of fraction, spans are microseconds, and what there is nothing to say of is left out.
public struct JobStatus: Codable, Hashable, Sendable {
    /// The job's name.
    public var job: String
    /// What its configuration says about it.
    public var description: String?
    /// `armed`, `paused`, `stopped` or `finished`; `retrying` if a further attempt waits for its delay, none of its
    /// runs is running, and it is neither paused nor stopped.
    public var state: String
    /// The program and its arguments, if it runs one.
    public var command: [String]?
    /// The shell's line, if it runs one.
    public var shell: String?
    /// The interval of an `every` job.
    public var everyUsec: Int64?
    /// The delay of an `after` job.
    public var afterUsec: Int64?
    /// How long after each boot of the machine an `on-boot` job fires.
    public var onBootUsec: Int64?
    /// The calendar events of a job that has some, in normal form.
    public var calendar: [String]?
    /// The crontab lines of a job that has some, in normal form.
    public var cron: [String]?
    /// The instant of a job that fires at one.
    public var at: String?
    /// Whether it was made by a command, runs once, and is removed a day after that; absent if not.
    public var oneOff: Bool?
    /// The zone of its calendar events and crontab lines.
    public var timezone: String?
    /// What becomes of times that do not exist, if its configuration says.
    public var dstGap: String?
    /// What becomes of times that come twice, if its configuration says.
    public var dstOverlap: String?
    /// When the next firing is due if nothing changes until then.
    public var next: String?
    /// When the next further attempt starts; absent if none waits for its delay, and while the job is paused.
    public var nextAttempt: String?
    /// How long until then.
    public var nextAttemptUsec: Int64?
    /// The active time left to the next firing.
    public var remainingUsec: Int64?
    /// The active time since the last grid point.
    public var elapsedUsec: Int64
    /// The active time in all.
    public var activeUsec: Int64
    /// Firings since the job began at zero.
    public var firings: Int
    /// Who paused it.
    public var paused: PauseStatus?
    /// Its runs that live or wait for a place.
    public var running: [RunStatus]
    /// Its latest run that ended.
    public var last: RunStatus?
    /// When its account was last written down.
    public var checkpoint: String
    /// What counts as its time, where that is what it goes by: `active`, `uptime`, `boottime` or `wall`.
    public var count: String?
    /// How much of the accrued time, at most, is missing for want of a witness; absent if none is.
    public var uncertainUsec: Int64?
    /// How many further firings are to be let go by order; absent if none is.
    public var skips: Int?
    /// The latest firing that was let go since the daemon started.
    public var skipped: SkipStatus?
    /// What its policy says where that is not the default.
    public var policy: PolicyStatus?

    /// How long after each boot of the machine the job fires; nil of one that does not. `@reboot` is at the daemon's
    /// first start.
    public var afterBootUsec: Int64? {
        onBootUsec ?? (cron?.contains("@reboot") == true ? 0 : nil)
    }

    // In the order of the names, so that none has to be sorted when it is written.
    enum CodingKeys: CodingKey, CaseIterable {
        case activeUsec, afterUsec, at, calendar, checkpoint, command, count
        case cron, description, dstGap, dstOverlap, elapsedUsec, everyUsec, firings, job, last, next
        case nextAttempt, nextAttemptUsec, onBootUsec, oneOff, paused, policy, remainingUsec,
            running, shell
        case skipped, skips, state, timezone, uncertainUsec
    }
}

/// What a job's policy says; absent is the default.
public struct PolicyStatus: Codable, Hashable, Sendable {
    /// `skip` or `run-all`.
    public var onMissed: String?
    /// How old a firing may be when it starts.
    public var startingDeadlineUsec: Int64?
    /// What resuming does.
    public var onResume: String?
    /// `queue`, `replace` or `allow`.
    public var concurrency: String?
    /// How many runs of the job may run at once.
    public var concurrencyMax: Int?
    /// How much later it may fire to share a wake-up.
    public var accuracyUsec: Int64?
    /// How much later it may fire by chance, drawn for each firing.
    public var randomDelayUsec: Int64?
    /// By how much its firings may be shifted by chance, the same for all.
    public var randomOffsetUsec: Int64?
    /// How many further attempts may follow a failed run.
    public var retries: Int?
}

/// A firing that was let go.
public struct SkipStatus: Codable, Hashable, Sendable {
    /// When it was due; the first of several.
    public var scheduled: String
    /// How many were skipped at once.
    public var skippedCount: Int
    /// Why: `still-running`, `concurrency-max`, `queue-full`, `missed`, `catch-up-max`, `deadline`, `clock-set` or
    /// `by-order`.
    public var reason: String
    /// When it was let go.
    public var at: String
}

/// Who paused a job, when and why.
public struct PauseStatus: Codable, Hashable, Sendable {
    /// Since when.
    public var since: String
    /// By whom.
    public var by: String
    /// What they wrote about it.
    public var note: String?
    /// When it ends by itself.
    public var until: String?
    /// Whether runs that lived stand still as well; absent if not.
    public var withRun: Bool?
}

/// What the control API says of a run, wherever it is one.
public struct RunStatus: Codable, Hashable, Sendable {
    /// The run's identity.
    public var id: String
    /// The job it belongs to, by its name now.
    public var job: String
    /// When it was due.
    public var scheduled: String
    /// When its process started; absent while it waits and if it never did.
    public var began: String?
    /// When it ended; this and the following are absent until it has.
    public var ended: String?
    /// How it ended, as the journal has it: `exited(0)`, `signalled(SIGKILL)`, `spawn-failed(ENOENT, exec /bin/x)`.
    public var outcome: String?
    /// The word of that alone: `exited`, `signalled`, `timed-out`, `stopped`, `replaced`, `spawn-failed` or `lost`.
    public var reason: String?
    /// Of `spawn-failed` and `lost`: what is within the parentheses of `outcome`.
    public var detail: String?
    /// The exit code, 0 to 255, of a process that exited by itself.
    public var exitCode: Int32?
    /// The name of the signal that ended the process, such as `SIGKILL`.
    public var signal: String?
    /// Whether it did what it was for, judged when it ended by its `success-exit-codes`.
    public var succeeded: Bool?
    /// Whether it failed. A run that was stopped or replaced neither succeeded nor failed.
    public var failed: Bool?
    /// From its process's start to its end.
    public var elapsedUsec: Int64?
    /// CPU time in user mode.
    public var userUsec: Int64?
    /// CPU time in the kernel.
    public var systemUsec: Int64?
    /// The largest resident set; absent where it is not known, since it was no more than the runner's own.
    public var peakBytes: Int64?
    /// What it waits for: `capacity`, `previous-run` or `retry-delay`; absent once it was told to start.
    public var waits: String?
    /// When it starts, if it waits for the delay before a further attempt.
    public var startsAt: String?
    /// Why it was made: `schedule`, `catch-up`, `resume` or `requested`; absent in `last`, which does not tell.
    public var cause: String?
    /// Who requested it; absent if no user did.
    public var requestedBy: String?
    /// How many further runs that came due were combined with it; only in answers about runs.
    public var missed: Int?
    /// The last of what it wrote; bytes that are not UTF-8 are replaced. Only in answers about runs.
    public var output: String?

    // In the order of the names, as those of a job.
    enum CodingKeys: CodingKey, CaseIterable {
        case began, cause, detail, elapsedUsec, ended, exitCode, failed, id, job, missed, outcome
        case output, peakBytes, reason, requestedBy, scheduled, signal, startsAt, succeeded
        case systemUsec, userUsec, waits
    }
}

/// What the control API says of the daemon and all its jobs.
public struct DaemonStatus: Codable, Hashable, Sendable {
    /// The daemon's version.
    public var version: String
    /// Its process.
    public var pid: Int32
    /// When it started.
    public var since: String
    /// When this was said.
    public var now: String
    /// The configuration it reads.
    public var config: String
    /// What of the configuration as it is now was refused, in a sentence; absent if nothing was.
    public var refusal: String?
    /// The jobs the configuration names and the daemon could not accept.
    public var rejected: [String]
    /// The jobs in the order of the configuration.
    public var jobs: [JobStatus]

    /// A daemon as described.
    public init(
        version: String, pid: Int32, since: String, now: String, config: String,
        refusal: String? = nil, rejected: [String], jobs: [JobStatus]
    ) {
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

/// Of `DaemonStatus`, what a table of all jobs shows: to take the rest of many from JSON as well would take
/// most of the time.
public struct JobTable: Decodable, Hashable, Sendable {
    /// One job, as in `JobStatus`.
    public struct Row: Decodable, Hashable, Sendable {
        /// The job's name.
        public var job: String
        /// `armed`, `paused`, `stopped`, `finished` or `retrying`.
        public var state: String
        /// When the next firing is due if nothing changes until then.
        public var next: String?
        /// When the next further attempt starts, and how long until then.
        public var nextAttempt: String?
        public var nextAttemptUsec: Int64?
        /// The active time left to it.
        public var remainingUsec: Int64?
        /// The active time in all.
        public var activeUsec: Int64
        /// Its runs that live or wait for a place.
        public var running: [RunStatus]
        /// Its latest run that ended.
        public var last: RunStatus?
        /// Who paused it.
        public var paused: PauseStatus?
        /// How many of the next runs are skipped; absent if none is.
        public var skips: Int?
    }

    /// The daemon's version, and since when it runs; nil if it does not say.
    public var version: String?
    public var since: String?
    /// The configuration the daemon reads.
    public var config: String
    /// What of the configuration as it is now was refused, in a sentence; absent if nothing was.
    public var refusal: String?
    /// The jobs the configuration names and the daemon could not accept.
    public var rejected: [String]
    /// The jobs in the order of the configuration.
    public var jobs: [Row]
}

/// Of `DaemonStatus`, the names of the jobs.
public struct JobNames: Decodable, Hashable, Sendable {
    /// One job, as in `JobStatus`.
    public struct Row: Decodable, Hashable, Sendable {
        /// The job's name.
        public var job: String
    }

    /// The jobs in the order of the configuration.
    public var jobs: [Row]
}

extension DaemonStatus {
    /// The same with the jobs of a snapshot, each of which becomes what is said of it when its turn comes to be
    /// written: of many jobs, never all of that is there at once.
    public struct Listing: Encodable {
        private let daemon: DaemonStatus
        private let snapshot: Snapshot

        /// What `daemon` says, but for its jobs, which are those of the snapshot.
        public init(_ daemon: DaemonStatus, jobs snapshot: Snapshot) {
            self.daemon = daemon
            self.snapshot = snapshot
        }

        /// In the order of the names.
        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(daemon.config, forKey: .config)
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
