// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// A run, wherever there is one.
public struct RunStatus: Codable, Hashable, Sendable {
    /// The identity, with the name that the job had when the run started.
    public var id: String
    /// The job it belongs to, by its name now.
    public var job: String
    /// When it was due, RFC 3339.
    public var scheduled: String
    /// When its process started, RFC 3339; absent while it waits, and if it never did.
    public var began: String?
    /// When it ended, RFC 3339; this and the following members are absent until then.
    public var ended: String?
    /// How it ended, as the journal says it: `exited(0)`, `signalled(SIGKILL)`,
    /// `spawn-failed(ENOENT, exec /bin/x)`, `skipped(exit 75)`.
    public var outcome: String?
    /// The first word of `outcome`: `exited`, `signalled`, `timed-out`, `stopped`, `replaced`,
    /// `spawn-failed`, `lost` or `skipped`.
    public var reason: String?
    /// Of `spawn-failed`, `lost`, `skipped` and `stopped`: what is within the parentheses of `outcome`.
    public var detail: String?
    /// How it ended, for people: `exit 1`, `killed by SIGKILL`. The words may change, those of `outcome` do not.
    public var result: String?
    /// The exit code, 0 to 255, of a process that exited by itself.
    public var exitCode: Int32?
    /// The name of the signal that ended its process, such as `SIGKILL`.
    public var signal: String?
    /// Whether it did what it was for: its process ended with one of its `success-exit-codes`, or
    /// by one of its `success-signals`.
    public var succeeded: Bool?
    /// Whether it failed, judged when it ended. A run that was stopped, replaced or skipped neither
    /// succeeded nor failed.
    public var failed: Bool?
    /// From the start of its process to its end.
    public var elapsedUsec: Int64?
    /// CPU time in user mode.
    public var userUsec: Int64?
    /// CPU time in the kernel.
    public var systemUsec: Int64?
    /// Its largest resident set, in bytes; absent if it is not known, because it was not more than
    /// the runner's own.
    public var peakBytes: Int64?
    /// Why it waits: `capacity`, `slot`, `previous-run`, `retry-delay`, `catch-up-delay`, `window`,
    /// `check` while its condition is being checked, or `condition`; absent once it was sent to the runner.
    public var waits: String?
    /// The slot that it waits for; the first, if it waits for several.
    public var slot: String?
    /// What was not met when its condition was last checked: `mounted /mnt/backup`.
    public var unmet: String?
    /// When its condition is checked again, RFC 3339.
    public var checkedAgain: String?
    /// When it is skipped if its condition is not met until then, RFC 3339.
    public var waitsUntil: String?
    /// When it starts, if it waits for the delay before a further attempt or for a window, RFC 3339.
    public var startsAt: String?
    /// The machine that has it, for a run of a job that a fleet shares; absent if that is the one
    /// that was asked, except in the history.
    public var machine: String?
    /// Why it was made: `schedule`, `catch-up`, `resume`, `chain` or `requested`; absent in `last`.
    public var cause: String?
    /// Of `chain`: the run of another job whose end caused it.
    public var causeRun: String?
    /// How that one ended: `success`, `failed`, `timed-out`, `lost`, `stopped`, `replaced` or
    /// `skipped`.
    public var causeResult: String?
    /// Of `requested`: whether no other job follows it; absent if others may.
    public var alone: Bool?
    /// Of `requested`: the words that were appended to the command for this run; absent if none were.
    public var arguments: [String]?
    /// Of `requested`: whether it starts whatever the condition of its job says; absent if not.
    public var forced: Bool?
    /// Who requested it; absent if no user did.
    public var requestedBy: String?
    /// How many further runs that came due were combined with it; only in answers about runs.
    public var missed: Int?
    /// The last of what it wrote; bytes that are not UTF-8 are replaced. Only in answers about
    /// runs.
    public var output: String?

    // In alphabetical order, so that they need not be sorted when they are written.
    enum CodingKeys: CodingKey, CaseIterable {
        case alone, arguments, began, cause, causeResult, causeRun, checkedAgain, detail,
            elapsedUsec, ended, exitCode, failed, forced, id, job, machine, missed,
            outcome
        case output, peakBytes, reason, requestedBy, result, scheduled, signal, slot, startsAt,
            succeeded
        case systemUsec, unmet, userUsec, waits, waitsUntil
    }
}

extension RunStatus {
    /// The same run with the reason why it was made.
    public func because(of cause: Firing.Cause) -> RunStatus {
        var status = self
        status.note(cause)
        return status
    }

    private mutating func note(_ cause: Firing.Cause) {
        self.cause = cause.word
        requestedBy = cause.requester
        causeRun = cause.chain?.run.description
        causeResult = cause.chain?.result.word
        alone = cause.isAlone ? true : nil
        arguments = cause.arguments.isEmpty ? nil : cause.arguments.words
        forced = cause.isForced ? true : nil
    }

    /// An active or waiting run. Spans are counted up to `now`.
    ///
    /// - Parameter slot: the slot that it waits for.
    public init(
        _ run: ActiveRun, of job: Job.Name, waitingFor slot: RunSlot.Name? = nil, at now: Now
    ) {
        self.slot = slot?.description
        id = run.id.description
        self.job = job.description
        scheduled = run.id.firing.scheduled.rfc3339Micros
        began = run.began?.rfc3339Micros
        note(run.firing.cause)
        switch run.wait {
        case .capacity: waits = "capacity"
        case .slot: waits = "slot"
        case .previousRun: waits = "previous-run"
        case .retryDelay(let instant):
            waits = "retry-delay"
            startsAt = (now.wall + (instant - now.awake)).rfc3339Micros
        case .catchUpDelay(let instant):
            waits = "catch-up-delay"
            startsAt = (now.wall + (instant - now.awake)).rfc3339Micros
        case .check: waits = "check"
        case .condition(let instant):
            waits = "condition"
            unmet = run.condition?.what
            checkedAgain = (now.wall + (instant - now.awake)).rfc3339Micros
            waitsUntil = run.conditionEnd.map { (now.wall + ($0 - now.awake)).rfc3339Micros }
        case nil: break
        }
    }

    /// Shows that a run which was made waits for a window that is closed.
    mutating func wait(for window: WindowStatus?) {
        guard let opens = window?.opens else { return }
        switch waits {
        case "previous-run", "condition":
            waits = "window"
            startsAt = opens
            checkedAgain = nil
        // Instants sort as their texts do, because all have the same number of digits.
        case "retry-delay", "catch-up-delay": startsAt = max(startsAt ?? opens, opens)
        default: break
        }
    }

    /// A run that ended, as the agenda remembers it: without its cause and its output.
    public init(_ run: RunSummary, of job: Job.Name) {
        id = run.id.description
        self.job = job.description
        scheduled = run.id.firing.scheduled.rfc3339Micros
        began = run.began?.rfc3339Micros
        ended = run.ended?.rfc3339Micros
        outcome = run.outcome.description
        reason = run.outcome.reason
        detail = run.outcome.detail
        exitCode = run.outcome.exitCode
        signal = run.outcome.signal
        failed = run.failed
        succeeded = run.result == .success
        elapsedUsec = run.usage.elapsed.wholeMicroseconds
        userUsec = run.usage.user.wholeMicroseconds
        systemUsec = run.usage.system.wholeMicroseconds
        // 0 means that it is not known, because it was not more than the runner itself had.
        peakBytes = run.usage.peakResidentBytes > 0 ? run.usage.peakResidentBytes : nil
        result = RunWords.end(of: self)
    }

    /// The API's form of a run on a machine of the fleet, from what the fleet has of it. Its output and
    /// what it used are on that machine.
    public init(_ run: FleetJobView.MachineRun) {
        id = run.run.description
        job = run.run.firing.job.description
        scheduled = run.run.firing.scheduled.rfc3339Micros
        machine = run.machine.description
        began = run.began?.rfc3339Micros
        missed = run.missed
        guard let outcome = run.outcome else { return }
        ended = run.ended?.rfc3339Micros
        self.outcome = outcome.description
        reason = outcome.reason
        detail = outcome.detail
        exitCode = outcome.exitCode
        signal = outcome.signal
        failed = run.hasFailed
        succeeded = outcome.result(failed: run.hasFailed) == .success
        elapsedUsec = run.began.flatMap { began in
            run.ended.map { max(0, ($0 - began).wholeMicroseconds) }
        }
        result = RunWords.end(of: self)
    }
}
