// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

/// What is known about a notice beside its sentence.
struct Facts {
    typealias Fields = Logger.Metadata

    var kind: EventKind
    /// Nil if the notice is not about a job.
    var job: Job.Name?
    /// Whether it is about a run that has not failed. The key `log` of a job can leave such entries
    /// out.
    var isRoutine: Bool
    /// The fields beside those that every entry has (job and kind); empty if they were not
    /// requested.
    var fields: Fields

    /// Which time records belong to it.
    enum Scope: Equatable {
        case job(Job.Name)
        case allJobs
        case none
    }

    var scope: Scope {
        switch kind.scope {
        case .job: job.map { .job($0) } ?? .none
        case .allJobs: .allJobs
        case .none: .none
        }
    }
}

extension Notice {
    /// The facts without the fields, which take longer to create and which not every log has.
    var subject: Facts { facts(withFields: false) }

    /// All facts.
    var facts: Facts { facts(withFields: true) }

    private func facts(withFields: Bool) -> Facts {
        func about(
            _ kind: EventKind, _ job: Job.Name?, isRoutine: Bool = false,
            _ fields: @autoclosure () -> Facts.Fields = [:]
        ) -> Facts {
            Facts(
                kind: kind, job: job, isRoutine: isRoutine, fields: withFields ? fields() : [:])
        }
        switch self {
        case .daemonStarted(let ending, _, let jobs, let counting, let loss):
            return about(
                .daemonStarted, nil,
                [
                    "TIMERD_PREVIOUS_EXIT": "\(ending.word)", "TIMERD_JOBS": "\(jobs)",
                    "TIMERD_COUNTING": "\(counting)", "TIMERD_LOST_USEC_MAX": usec(loss),
                ])
        case .recovered(let job, let accrued, let credited, let maxLoss, let basis):
            return about(
                .recovered, job,
                [
                    "TIMERD_COUNT": "\(basis.rawValue)", "TIMERD_ELAPSED_USEC": usec(accrued),
                    "TIMERD_CREDITED_USEC": usec(credited), "TIMERD_LOST_USEC_MAX": usec(maxLoss),
                ])
        case .fired(let run, let late, let remaining):
            return about(
                .fired, run.id.firing.job, isRoutine: true,
                fields(of: run.firing)
                    .adding(["TIMERD_RUN_ID": "\(run.id)", "TIMERD_LATE_USEC": usec(late)])
                    .adding(left(remaining)))
        case .runOrdered(let run, let by, let remaining):
            return about(
                .runOrdered, run.id.firing.job,
                fields(of: run.firing)
                    .adding(["TIMERD_RUN_ID": "\(run.id)", "TIMERD_BY": "\(by)"])
                    .adding(left(remaining)))
        case .skipped(let firing, let reason):
            return about(.skipped, firing.id.job, fields(of: firing).adding(fields(of: reason)))
        case .held(let run, let other):
            return about(
                .held, run.id.firing.job, isRoutine: true,
                ["TIMERD_RUN_ID": "\(run.id)", "TIMERD_BLOCKED_BY": "\(other)"])
        case .replacing(let run, let other):
            return about(
                .replacing, run.firing.job,
                ["TIMERD_RUN_ID": "\(run)", "TIMERD_REPLACED_BY": "\(other)"])
        case .retrying(let run, let delay, _):
            return about(
                .retrying, run.firing.job,
                ["TIMERD_RUN_ID": "\(run)", "TIMERD_DELAY_USEC": usec(delay)])
        case .runBegan(let run):
            return about(
                .runBegan, run.firing.job, isRoutine: true, ["TIMERD_RUN_ID": "\(run)"])
        case .runRecovered(let run):
            return about(
                .runRecovered, run.firing.job, isRoutine: true, ["TIMERD_RUN_ID": "\(run)"])
        case .runReattached(let run):
            return about(
                .runReattached, run.firing.job, isRoutine: true, ["TIMERD_RUN_ID": "\(run)"])
        case .killed(let run, let by, let signal):
            return about(
                .killed, run.firing.job,
                [
                    "TIMERD_RUN_ID": "\(run)", "TIMERD_BY": "\(by)",
                    "TIMERD_SIGNAL": "\(signal ?? "SIGTERM")",
                ])
        case .cancelled(let run, let by):
            return about(
                .cancelled, run.firing.job, ["TIMERD_RUN_ID": "\(run)", "TIMERD_BY": "\(by)"])
        case .runEnded(let run, let outcome, let usage, let failed):
            return about(
                .runEnded, run.firing.job, isRoutine: !failed, fields(of: run, outcome, usage))
        case .paused(let job, let pause, let accrued, let remaining):
            return about(
                .paused, job,
                left(remaining)
                    .adding(["TIMERD_ELAPSED_USEC": usec(accrued), "TIMERD_BY": "\(pause.by)"]))
        case .pauseChanged(let job, _, let pause):
            return about(.pauseChanged, job, ["TIMERD_BY": "\(pause.by)"])
        case .resumed(let job, _, let by, let accrued, let remaining):
            return about(
                .resumed, job,
                left(remaining)
                    .adding(["TIMERD_ELAPSED_USEC": usec(accrued), "TIMERD_BY": "\(by)"]))
        case .started(let job, let by, let remaining):
            return about(.started, job, left(remaining).adding(["TIMERD_BY": "\(by)"]))
        case .stopped(let job, _, let by, let dropped):
            return about(
                .stopped, job, ["TIMERD_DROPPED_USEC": usec(dropped), "TIMERD_BY": "\(by)"])
        case .skipNextSet(let job, let count, let by):
            return about(.skipNextSet, job, ["TIMERD_SKIPS": "\(count)", "TIMERD_BY": "\(by)"])
        case .renamed(let job, let old):
            return about(.renamed, job, ["TIMERD_RENAMED_FROM": "\(old)"])
        case .finished(let job, _): return about(.finished, job)
        case .reloaded: return about(.reloaded, nil)
        case .zonesChanged: return about(.zonesChanged, nil)
        case .clockStepped(let step, _):
            return about(.clockStepped, nil, ["TIMERD_STEP_USEC": usec(step)])
        case .incidentBegan(let one):
            return about(.incidentBegan, one.job, fields(of: one))
        case .incidentEnded(let one):
            return about(.incidentEnded, one.job, fields(of: one))
        case .shutDown: return about(.shutDown, nil)
        }
    }
}

private func fields(of one: JobNotification) -> Facts.Fields {
    let kinds = one.kind == .recovery ? one.recoveredFrom : [one.kind]
    var fields: Facts.Fields = [
        "TIMERD_NOTIFIER": "\(one.notifier)",
        "TIMERD_INCIDENT": "\(kinds.map(\.rawValue).joined(separator: " "))",
    ]
    if let since = one.since { fields["TIMERD_SINCE"] = "\(since.rfc3339Micros)" }
    if let run = one.run { fields["TIMERD_RUN_ID"] = "\(run)" }
    return fields
}

private func fields(of reason: Notice.SkipReason) -> Facts.Fields {
    switch reason {
    case .stillRunning(let run), .queueFull(let run):
        ["TIMERD_REASON": "\(reason.word)", "TIMERD_BLOCKED_BY": "\(run)"]
    case .concurrencyMax, .missed, .catchUpMax, .deadline, .clockSet, .byOrder:
        ["TIMERD_REASON": "\(reason.word)"]
    }
}

private func fields(of firing: Firing) -> Facts.Fields {
    [
        "TIMERD_SCHEDULED": "\(firing.id.scheduled.rfc3339Micros)",
        "TIMERD_MISSED": "\(firing.missed)", "TIMERD_ACTIVE_USEC": usec(firing.active),
    ]
}

private func fields(of run: Run.ID, _ outcome: RunOutcome, _ usage: RunUsage) -> Facts.Fields {
    var fields: Facts.Fields = [
        "TIMERD_RUN_ID": "\(run)", "TIMERD_OUTCOME": "\(outcome)",
        "JOB_DURATION_USEC": usec(usage.elapsed),
        "CPU_USAGE_NSEC": "\((usage.user + usage.system).wholeNanoseconds)",
    ]
    // The same fields that systemd writes for its own services.
    if let exit = outcome.exit {
        fields["EXIT_CODE"] = "\(exit.code)"
        fields["EXIT_STATUS"] = "\(exit.status)"
    }
    return fields
}

private func usec(_ span: Duration) -> Logger.MetadataValue { "\(span.wholeMicroseconds)" }

private func left(_ remaining: Duration?) -> Facts.Fields {
    remaining.map { ["TIMERD_REMAINING_USEC": usec($0)] } ?? [:]
}

extension Facts.Fields {
    fileprivate func adding(_ others: Self) -> Self { merging(others) { $1 } }
}
