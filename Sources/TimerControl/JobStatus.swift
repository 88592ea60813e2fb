// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The API's form of a job. In JSON the names are in snake_case, instants are RFC 3339 in UTC with
/// six digits of fraction, and spans are microseconds. A member without a value is left out.
public struct JobStatus: Codable, Hashable, Sendable {
    /// The job's name.
    public var job: String
    /// The description in its configuration.
    public var description: String?
    /// `armed`, `paused`, `stopped` or `finished`; `retrying` if a retry waits for its delay, none
    /// of its runs is active, and the job is neither paused nor stopped.
    public var state: String
    /// The program and its arguments, if it runs one.
    public var command: [String]?
    /// The line for the shell, if it runs one.
    public var shell: String?
    /// The interval of an `every` job.
    public var everyUsec: Int64?
    /// `end` if the interval is counted from the end of each run; absent if it is counted from run
    /// to run.
    public var from: String?
    /// The delay of an `after` job.
    public var afterUsec: Int64?
    /// How long after each boot of the machine an `on-boot` job fires.
    public var onBootUsec: Int64?
    /// The calendar events of its schedule, in normal form.
    public var calendar: [String]?
    /// The crontab lines of its schedule, in normal form.
    public var cron: [String]?
    /// The instant of a job that fires at one.
    public var at: String?
    /// Whether a command created it. It runs once and is removed a day later; absent if not.
    public var oneOff: Bool?
    /// The zone of its calendar events and crontab lines.
    public var timezone: String?
    /// What happens at times that do not exist, if its configuration sets this.
    public var dstGap: String?
    /// What happens at times that occur twice, if its configuration sets this.
    public var dstOverlap: String?
    /// When the next run is due if nothing changes until then.
    public var next: String?
    /// When the next retry starts; absent if none waits for its delay, and while the job is paused.
    public var nextAttempt: String?
    /// How long until the next retry starts.
    public var nextAttemptUsec: Int64?
    /// The active time left until the next run.
    public var remainingUsec: Int64?
    /// The active time since the last grid point.
    public var elapsedUsec: Int64
    /// The active time in total.
    public var activeUsec: Int64
    /// What the fleet knows of it; absent for a job of this machine alone.
    public var fleet: FleetJobStatus?
    /// How often the job has fired since its record began.
    public var firings: Int
    /// Its pause: who paused it, when and why.
    public var paused: PauseStatus?
    /// Its runs that are active or waiting.
    public var running: [RunStatus]
    /// Its latest ended run.
    public var last: RunStatus?
    /// When its time record was last saved.
    public var checkpoint: String
    /// Which time its schedule counts, if it counts time: `active`, `uptime`, `boottime` or `wall`.
    public var count: String?
    /// How much of the elapsed time may not have been counted, at most, because of a crash; absent
    /// if none.
    public var uncertainUsec: Int64?
    /// How many of the next runs a command skips; absent if none.
    public var skips: Int?
    /// The latest run that was skipped since the daemon started.
    public var skipped: SkipStatus?
    /// The incidents with a notification that are not over; absent if none.
    public var incidents: [IncidentStatus]?
    /// The values of its policy that are not the defaults.
    public var policy: PolicyStatus?
    /// What was deleted of its history before it was old enough, since the daemon started; absent if nothing was, and
    /// in lists.
    public var historyDeleted: HistoryDeletion?

    /// How long after each boot of the machine the job fires; nil for a job that does not.
    /// `@reboot` fires at the daemon's first start.
    public var afterBootUsec: Int64? {
        onBootUsec ?? (cron?.contains("@reboot") == true ? 0 : nil)
    }

    // In alphabetical order, so that they need not be sorted when they are written.
    enum CodingKeys: CodingKey, CaseIterable {
        case activeUsec, afterUsec, at, calendar, checkpoint, command, count
        case cron, description, dstGap, dstOverlap, elapsedUsec, everyUsec, firings, fleet, from,
            historyDeleted, incidents
        case job, last, next
        case nextAttempt, nextAttemptUsec, onBootUsec, oneOff, paused, policy, remainingUsec,
            running, shell
        case skipped, skips, state, timezone, uncertainUsec
    }
}

/// The part of a job's history that was deleted because of a limit.
public struct HistoryDeletion: Codable, Hashable, Sendable {
    /// Finished runs that ended before this may be missing.
    public var before: String
    /// `history-runs` or `history-max`.
    public var limit: String

    /// A deletion as described.
    public init(before: String, limit: String) {
        self.before = before
        self.limit = limit
    }
}

/// The policy of a job; an absent member has its default.
public struct PolicyStatus: Codable, Hashable, Sendable {
    /// `skip` or `run-all`.
    public var onMissed: String?
    /// How late a run may start.
    public var startingDeadlineUsec: Int64?
    /// What resuming does.
    public var onResume: String?
    /// `queue`, `replace` or `allow`.
    public var concurrency: String?
    /// How many runs of the job may run at once.
    public var concurrencyMax: Int?
    /// How much later it may fire to share a wake-up.
    public var accuracyUsec: Int64?
    /// The most random delay, drawn for each run.
    public var randomDelayUsec: Int64?
    /// The most random shift of the schedule, the same for all runs.
    public var randomOffsetUsec: Int64?
    /// How many retries may follow a failed run.
    public var retries: Int?
    /// How many of its finished runs are kept.
    public var historyRuns: Int?
}

/// Something that is wrong with a job, about which a notifier sent a notification.
public struct IncidentStatus: Codable, Hashable, Sendable {
    /// How many firings in a row failed, how many runs were lost or how many firings were skipped;
    /// absent for the other kinds.
    public var failedCount: Int?
    /// `failure`, `late`, `long`, `stale`, `lost`, `skipped` or `paused-long`.
    public var kind: String
    /// The notifier.
    public var notifier: String
    /// When it began.
    public var since: String

    /// What is wrong, in words that can follow the name of the job.
    public var words: String {
        let count = failedCount ?? 0
        return switch NotificationKind(rawValue: kind) {
        case .failure: "its last \(count == 1 ? "firing" : "\(count) firings") failed"
        case .late: "a run has not started in time"
        case .long: "a run is still running after long-after"
        case .stale: "no run succeeded within stale-after"
        case .lost: "it is not known how \(plural(count, "run")) ended"
        case .skipped: "\(plural(count, "run was", "runs were")) skipped"
        case .pausedLong: "it is still paused after paused-after"
        case .start, .success, .recovery, .output, .test, nil: kind
        }
    }
}

/// A skipped run.
public struct SkipStatus: Codable, Hashable, Sendable {
    /// When it was due; the first of several.
    public var scheduled: String
    /// How many were skipped at once.
    public var skippedCount: Int
    /// Why: `still-running`, `concurrency-max`, `queue-full`, `missed`, `catch-up-max`, `deadline`, `clock-set` or
    /// `by-order`.
    public var reason: String
    /// When it was skipped.
    public var at: String
}

/// Who paused a job, when and why.
public struct PauseStatus: Codable, Hashable, Sendable {
    /// Since when.
    public var since: String
    /// By whom.
    public var by: String
    /// The note about it.
    public var note: String?
    /// When it ends by itself.
    public var until: String?
    /// Whether active runs were suspended as well; absent if not.
    public var withRun: Bool?
}
