// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A job: its definition and its state.
///
/// In JSON the names are in snake_case, instants are RFC 3339 in UTC with six digits of fraction, and spans are
/// microseconds. A member without a value is left out.
public struct JobStatus: Codable, Hashable, Sendable {
    /// The job's name.
    public var job: String
    /// What the author of the configuration wrote about it.
    public var description: String?
    /// `armed`, `paused`, `stopped` or `finished`; `retrying` if a retry waits for its delay, none
    /// of its runs is active, and the job is neither paused nor stopped.
    public var state: String
    /// The program and its arguments, if it runs one.
    public var command: [String]?
    /// The line of the shell, if it runs one.
    public var shell: String?
    /// The words that a run on request may append to its command; absent if there are none.
    public var runArguments: [String]?
    /// The interval of an `every` job.
    public var everyUsec: Int64?
    /// `end` if its interval is counted from the end of each run; absent if from run to run.
    public var from: String?
    /// The delay of an `after` job.
    public var afterUsec: Int64?
    /// How long after each boot of the machine an `on-boot` job runs.
    public var onBootUsec: Int64?
    /// Whether it has no schedule, and runs on request or after other jobs; absent if it has one.
    public var onDemand: Bool?
    /// The jobs after whose runs it runs; absent if it follows none.
    public var follows: [FollowStatus]?
    /// When it runs after the ends that are there, RFC 3339; absent if it waits for others, and
    /// while it is paused.
    public var followsAt: String?
    /// The jobs that follow it; absent if none does.
    public var followers: [String]?
    /// The calendar events of its schedule, in normal form.
    public var calendar: [String]?
    /// The crontab lines of its schedule, in normal form.
    public var cron: [String]?
    /// Of a job that runs once, when that is, RFC 3339; of a skipped run, when it was skipped; of a
    /// reason, the instant it is about.
    public var at: String?
    /// Whether it was made by a command, runs once, and is removed a day after that; absent if not.
    public var oneOff: Bool?
    /// The time zone of its calendar events and crontab lines.
    public var timezone: String?
    /// What happens to times that do not exist, if its configuration says so.
    public var dstGap: String?
    /// What happens to times that come twice, if its configuration says so.
    public var dstOverlap: String?
    /// The first instant at which its schedule makes a run, RFC 3339; absent if it has none.
    public var notBefore: String?
    /// The last instant at which its schedule makes a run, RFC 3339; absent if it has none.
    public var notAfter: String?
    /// After how many runs that its schedule or other jobs make it is finished; absent if there is no
    /// such number.
    public var maxRuns: Int?
    /// After how many runs that succeed it is finished; absent if there is no such number.
    public var maxSuccesses: Int?
    /// How many runs count for `max_runs`; absent without it.
    public var countedRuns: Int?
    /// How many runs count for `max_successes`; absent without it.
    public var countedSuccesses: Int?
    /// When its runs may start; absent if at any time.
    public var window: WindowStatus?
    /// The lists of dates on which it does not run; absent if there are none.
    public var except: [String]?
    /// The lists of dates on which it runs alone; absent if it runs on all dates.
    public var onlyOn: [String]?
    /// How many dates of its schedule there are for one on which it runs; absent if it runs on each.
    public var everyNth: Int?
    /// The date from which these dates are counted: `2026-11-07`.
    public var countedFrom: String?
    /// The first time of its schedule before its next run at which its dates allow no run; absent if
    /// there is none.
    public var excluded: ExcludedStatus?
    /// When it is due next if nothing changes until then, RFC 3339.
    public var next: String?
    /// When the next run starts that waits for its delay, a retry or a missed run, RFC 3339; absent if
    /// none does, and while the job is paused.
    public var nextAttempt: String?
    /// How long until then.
    public var nextAttemptUsec: Int64?
    /// The active time left until the next run.
    public var remainingUsec: Int64?
    /// Of a job, the active time since its last run was due; of a run, from the start of its
    /// process to its end.
    public var elapsedUsec: Int64
    /// Its active time in all.
    public var activeUsec: Int64
    /// What the fleet knows of it; absent for a job of this machine alone.
    public var fleet: FleetJobStatus?
    /// How often it came due since its timer was started.
    public var firings: Int
    /// The pause it is in; absent if it is not paused.
    public var paused: PauseStatus?
    /// The runs that are active or waiting; of other machines too, for a job of a fleet.
    public var running: [RunStatus]
    /// The latest run that ended; absent if none is known.
    public var last: RunStatus?
    /// When its state was last saved, RFC 3339.
    public var checkpoint: String
    /// Which time its schedule counts, if it counts time: `active`, `uptime`, `boottime` or `wall`.
    public var count: String?
    /// How much of the elapsed time may not have been counted, at most, because of a crash; absent
    /// if none.
    public var uncertainUsec: Int64?
    /// How many of the next runs a command skips; absent if none.
    public var skips: Int?
    /// The latest run that was skipped, also before this start of the daemon; absent if the history
    /// has none.
    public var skipped: SkipStatus?
    /// What is wrong with it, as far as there was a message about it; absent if nothing is.
    public var incidents: [IncidentStatus]?
    /// What its policy says where that is not the default.
    public var policy: PolicyStatus?
    /// What must be true when a run is about to start; absent if nothing must.
    public var condition: ConditionStatus?
    /// The file that defines it; absent in lists.
    public var file: String?
    /// The line of that file in which its definition begins, from 1; absent in lists.
    public var line: Int?
    /// The keys of its definition with another value than the built-in one, as in the configuration: `"timeout": "2h"`.
    /// Of variables there are the names alone, and of `stdin` the size. The keys of its schedule,
    /// its window, its condition and of what it follows have members of their own. Absent in lists.
    public var settings: [String: String]?
    /// What was deleted of its history because of a limit since the daemon started; absent if
    /// nothing was, and in lists.
    public var historyDeleted: HistoryDeletion?

    /// How long after each boot of the machine the job fires; nil for a job that does not.
    /// `@reboot` fires at the daemon's first start.
    public var afterBootUsec: Int64? {
        onBootUsec ?? (cron?.contains("@reboot") == true ? 0 : nil)
    }

    // In alphabetical order, so that they need not be sorted when they are written.
    enum CodingKeys: CodingKey, CaseIterable {
        case activeUsec, afterUsec, at, calendar, checkpoint, command, condition, count,
            countedFrom,
            countedRuns, countedSuccesses
        case cron, description, dstGap, dstOverlap, elapsedUsec, everyNth, everyUsec, except,
            excluded, file,
            firings, fleet,
            followers, follows, followsAt, from, historyDeleted, incidents
        case job, last, line, maxRuns, maxSuccesses, next
        case nextAttempt, nextAttemptUsec, notAfter, notBefore, onBootUsec, onDemand, oneOff,
            onlyOn, paused, policy,
            remainingUsec, runArguments, running, settings, shell
        case skipped, skips, state, timezone, uncertainUsec, window
    }
}

/// When runs of a job may start.
public struct WindowStatus: Codable, Hashable, Sendable {
    /// When it closes, if it is open, RFC 3339.
    public var closes: String?
    /// When it opens, if it is closed, RFC 3339.
    public var opens: String?
    /// What happens when the job is due outside it: `wait` or `skip`.
    public var outside: String
    /// Whether runs are stopped that are still active when it closes; absent if not.
    public var stopsAtEnd: Bool?
    /// The times as they are written: `Mon..Fri 22:00-06:00`.
    public var times: [String]
    /// By whose local clock.
    public var timezone: String

    init(_ window: JobWindow, at now: WallInstant) {
        times = window.ranges.texts
        timezone = window.zone.name
        outside = window.outside.rawValue
        if window.stopsAtEnd { stopsAtEnd = true }
        if window.isOpen(at: now) {
            closes = window.closing(after: now)?.rfc3339Micros
        } else {
            opens = window.opening(notBefore: now).rfc3339Micros
        }
    }
}

/// A time of a job's schedule at which its dates allow no run.
public struct ExcludedStatus: Codable, Hashable, Sendable {
    /// The time, RFC 3339.
    public var scheduled: String
    /// Why there is no run: `2026-12-25 is in holidays`, or `2026-12-25 is not in trading-days`.
    public var reason: String
}

/// A job after whose runs another runs.
public struct FollowStatus: Codable, Hashable, Sendable {
    /// The job that is followed.
    public var job: String
    /// Which ends of its runs count: `success`, `failure`, `end` or `skip`.
    public var ends: String
    /// How long after such an end the other job runs; absent if at once.
    public var delayUsec: Int64?
    /// How long an end waits for those of the other jobs that are followed; absent if there are none.
    public var withinUsec: Int64?
    /// The run that ended last so, if the other job has not run after it.
    public var run: String?
    /// When that was recorded, RFC 3339.
    public var ended: String?

    init(_ cause: Follows.Cause, _ view: ChainView) {
        job = cause.job.description
        ends = cause.on.rawValue
        if cause.delay > .zero { delayUsec = cause.delay.wholeMicroseconds }
        if view.follows.causes.count > 1 { withinUsec = cause.within.wholeMicroseconds }
        guard !view.awaited.contains(cause.job),
            let end = view.ends.last(where: { $0.job == cause.job })
        else { return }
        run = end.cause.run.description
        ended = end.at.rfc3339Micros
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

/// What a job's policy says; what is absent is the default.
public struct PolicyStatus: Codable, Hashable, Sendable {
    /// What happens to runs that were missed.
    public var onMissed: String?
    /// How late a run may start.
    public var startingDeadlineUsec: Int64?
    /// What resuming does.
    public var onResume: String?
    /// What happens when it is due while it is running.
    public var concurrency: String?
    /// How many of its runs may be active at once.
    public var concurrencyMax: Int?
    /// What each active run of the job takes of slots.
    public var slotUses: [SlotUse]?
    /// What happens when it is due while a slot is taken.
    public var onBusySlot: String?
    /// How much later it may start to share a wake-up.
    public var accuracyUsec: Int64?
    /// How much later it may start, drawn for each run.
    public var randomDelayUsec: Int64?
    /// The longest time after which a missed run is caught up, drawn for each run.
    public var catchUpDelayUsec: Int64?
    /// The most random shift of the schedule, the same for all runs.
    public var randomOffsetUsec: Int64?
    /// How many further attempts may follow a failed run.
    public var retries: Int?
    /// How many of its newest finished runs are kept: of those that succeeded, and as many that
    /// failed.
    public var historyRuns: Int?
}

/// What must be true when a run of a job is about to start.
public struct ConditionStatus: Codable, Hashable, Sendable {
    /// What is checked, in this order: `mounted /mnt/backup`.
    public var checks: [String]
    /// What happens with a run whose condition is not met: `skip` or `wait`.
    public var otherwise: String
    /// How long a run waits before it is skipped; absent if it does not wait.
    public var waitMaxUsec: Int64?

    init(_ condition: Condition) {
        checks = condition.words
        otherwise = condition.otherwise.rawValue
        if condition.otherwise == .wait { waitMaxUsec = condition.waitMax.wholeMicroseconds }
    }
}

/// Something that is wrong with a job, about which a notifier has a message to send.
public struct IncidentStatus: Codable, Hashable, Sendable {
    /// How many firings in a row failed, how many runs were lost or how many firings were skipped;
    /// absent for the other kinds.
    public var failedCount: Int?
    /// What is wrong.
    public var kind: String
    /// The notifier that sends the message, as in `[notify.NAME]`.
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

/// A run that was skipped.
public struct SkipStatus: Codable, Hashable, Sendable {
    /// When it was due, RFC 3339; of several, the first.
    public var scheduled: String
    /// How many were skipped at once.
    public var skippedCount: Int
    /// Why: `still-running`, `concurrency-max`, `queue-full`, `missed`, `catch-up-max`, `deadline`,
    /// `clock-set`, `by-order`, `slot-busy` or `outside-window`.
    public var reason: String
    /// The same in words.
    public var text: String
    /// When it was skipped, RFC 3339.
    public var at: String
}

/// A pause.
public struct PauseStatus: Codable, Hashable, Sendable {
    /// Since when, RFC 3339.
    public var since: String
    /// Who paused the job: the name of a user, or what else caused it in words.
    public var by: String
    /// What the user wrote about it; absent if nothing.
    public var note: String?
    /// When it ends by itself, RFC 3339; absent if only a user ends it.
    public var until: String?
    /// Whether its runs are suspended as well; absent if not.
    public var withRun: Bool?
}
