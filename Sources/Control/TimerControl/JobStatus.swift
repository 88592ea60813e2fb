// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The API's form of a job. In JSON the names are in snake_case, instants are RFC 3339 in UTC with
/// six digits of fraction, and spans are microseconds. A member without a value is left out.
public struct JobStatus: Codable, Hashable, Sendable {
    public var job: String
    /// What the author of the configuration wrote about it.
    public var description: String?
    /// `armed`, `paused`, `stopped` or `finished`; `retrying` if a retry waits for its delay, none
    /// of its runs is active, and the job is neither paused nor stopped.
    public var state: String
    /// The program and its arguments, if it runs one.
    public var command: [String]?
    /// The line for the shell, if it runs one.
    public var shell: String?
    /// The interval of an `every` job; absent for another one.
    public var everyUsec: Int64?
    /// `end` if the interval is counted from the end of each run; absent if it is counted from run
    /// to run.
    public var from: String?
    /// The delay of an `after` job; absent for another one.
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
    /// The time from the answer until `nextAttempt`.
    public var nextAttemptUsec: Int64?
    /// The active time left until the next run.
    public var remainingUsec: Int64?
    /// The active time since the last grid point.
    public var elapsedUsec: Int64
    /// The active time in total, in microseconds.
    public var activeUsec: Int64
    /// What the fleet knows of it; absent for a job of this machine alone.
    public var fleet: FleetJobStatus?
    /// How often the job has fired since its record began.
    public var firings: Int
    /// Its pause: who paused it, when and why.
    public var paused: PauseStatus?
    /// The runs that are active or waiting; of other machines too, for a job of a fleet.
    public var running: [RunStatus]
    /// The latest run that ended; absent if none is known.
    public var last: RunStatus?
    /// When its time record was last saved: a power failure can cost what was counted since then.
    public var checkpoint: String
    /// Which time its schedule counts, if it counts time: `active`, `uptime`, `boottime` or `wall`.
    public var count: String?
    /// How much of the elapsed time may not have been counted, at most, because of a crash; absent
    /// if none.
    public var uncertainUsec: Int64?
    /// How many of the next runs a command skips; absent if none.
    public var skips: Int?
    /// The latest run that was skipped, also before this start of the daemon; absent if the history has none.
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
    /// The key of the limit: `history-runs` or `history-max`.
    public var limit: String

    public init(before: String, limit: String) {
        self.before = before
        self.limit = limit
    }
}

/// The policy of a job; an absent member has its default.
public struct PolicyStatus: Codable, Hashable, Sendable {
    /// `skip` or `run-all`; by default `run-once`.
    public var onMissed: String?
    /// How old a firing may be when its run starts.
    public var startingDeadlineUsec: Int64?
    /// `keep-remaining`, `next-slot`, `fire-if-due` or `restart`.
    public var onResume: String?
    /// `queue`, `replace` or `allow`; by default `forbid`.
    public var concurrency: String?
    /// How many runs of the job may run at once.
    public var concurrencyMax: Int?
    /// What each active run of the job takes of slots.
    public var slots: [SlotUse]?
    /// `skip`; by default `wait`.
    public var onBusySlot: String?
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
    /// The name of the notifier that sent it.
    public var notifier: String
    /// When it began, RFC 3339.
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

/// The latest firing of a job that was skipped, with those that it stands for.
public struct SkipStatus: Codable, Hashable, Sendable {
    /// When it was due; the first of several.
    public var scheduled: String
    /// How many were skipped at once, at least 1.
    public var skippedCount: Int
    /// Why: `still-running`, `concurrency-max`, `queue-full`, `missed`, `catch-up-max`, `deadline`, `clock-set`,
    /// `by-order` or `slot-busy`.
    public var reason: String
    /// When it was decided to skip it, RFC 3339.
    public var at: String
}

/// The pause that a job is in.
public struct PauseStatus: Codable, Hashable, Sendable {
    /// When it began, RFC 3339.
    public var since: String
    /// Who paused the job: the name of a user, or what else caused it in words.
    public var by: String
    /// What the user wrote about it; absent if nothing.
    public var note: String?
    /// When it ends by itself; absent if only a user ends it.
    public var until: String?
    /// Whether active runs were suspended as well; absent if not.
    public var withRun: Bool?
}
