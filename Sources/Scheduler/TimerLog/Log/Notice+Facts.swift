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

    /// Which time records an entry about it contains.
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

    /// The facts with all fields.
    var facts: Facts { facts(withFields: true) }

    /// This switch is long on purpose: it is the only one over all notices that says what is known
    /// about each, so a new notice needs one more case here and in no other list of facts.
    private func facts(withFields: Bool) -> Facts {
        func about(
            _ kind: EventKind, _ job: Job.Name? = nil, isRoutine: Bool = false,
            _ fields: @autoclosure () -> [Facts.Field] = []
        ) -> Facts {
            Facts(
                kind: kind, job: job, isRoutine: isRoutine,
                fields: withFields ? Facts.metadata(fields()) : [:])
        }
        func aboutRun(
            _ kind: EventKind, _ run: Run.ID, isRoutine: Bool = false,
            _ fields: @autoclosure () -> [Facts.Field] = []
        ) -> Facts {
            about(kind, run.firing.job, isRoutine: isRoutine, [.run(run)] + fields())
        }
        switch self {
        case .daemonStarted(let ending, _, let jobs, let counting, let loss):
            return about(.daemonStarted, nil, Facts.start(ending, jobs, counting, loss))
        case .shutDown: return about(.shutDown)
        case .reloaded: return about(.reloaded)
        case .machineHeld(let hold, _): return about(.machineHeld, nil, [.by(hold.by)])
        case .machineReleased(_, let by, let jobs):
            return about(.machineReleased, nil, [.by(by), .number("TIMERD_JOBS", jobs)])
        case .zonesChanged: return about(.zonesChanged)
        case .clockStepped(let step, _):
            return about(.clockStepped, nil, [.duration("TIMERD_STEP_USEC", step)])

        case .recovered(let job, let accrued, let credited, let maxLoss, let basis):
            return about(.recovered, job, Facts.recovery(accrued, credited, maxLoss, basis))
        case .paused(let job, let pause, let accrued, let remaining):
            return about(.paused, job, [.elapsed(accrued), .remaining(remaining), .by(pause.by)])
        case .pauseChanged(let job, _, let pause):
            return about(.pauseChanged, job, [.by(pause.by)])
        case .resumed(let job, _, let by, let accrued, let remaining):
            return about(.resumed, job, [.elapsed(accrued), .remaining(remaining), .by(by)])
        case .started(let job, let by, let remaining):
            return about(.started, job, [.remaining(remaining), .by(by)])
        case .stopped(let job, _, let by, let dropped):
            return about(.stopped, job, [.duration("TIMERD_DROPPED_USEC", dropped), .by(by)])
        case .skipNextSet(let job, let count, let by):
            return about(.skipNextSet, job, [.number("TIMERD_SKIPS", count), .by(by)])
        case .renamed(let job, let old):
            return about(.renamed, job, [.text("TIMERD_RENAMED_FROM", old)])
        case .finished(let job, _, _): return about(.finished, job)
        case .skipped(let firing, let reason):
            return about(.skipped, firing.id.job, Facts.skip(firing, reason))
        case .incidentBegan(let one): return about(.incidentBegan, one.job, Facts.incident(one))
        case .incidentEnded(let one): return about(.incidentEnded, one.job, Facts.incident(one))

        case .fired(let run, let late, let remaining):
            return aboutRun(
                .fired, run.id, isRoutine: true,
                Facts.firing(run.firing) + [.late(late), .remaining(remaining)])
        case .runOrdered(let run, let by, let remaining):
            return aboutRun(
                .runOrdered, run.id, Facts.firing(run.firing) + [.by(by), .remaining(remaining)])
        case .held(let run, let other):
            return aboutRun(.held, run.id, isRoutine: true, [.blockedBy(other)])
        case .awaitsCondition(let run, let what, let most):
            return aboutRun(
                .awaitsCondition, run, isRoutine: true,
                [.text("TIMERD_CONDITION", what), .duration("TIMERD_WAIT_MAX_USEC", most)])
        case .catchUpDelayed(let run, let delay):
            return aboutRun(
                .catchUpDelayed, run, isRoutine: true, [.duration("TIMERD_DELAY_USEC", delay)])
        case .windowEnded(let run): return aboutRun(.windowEnded, run)
        case .replacing(let run, let other):
            return aboutRun(.replacing, run, [.text("TIMERD_REPLACED_BY", other)])
        case .retrying(let run, let delay, _):
            return aboutRun(.retrying, run, [.duration("TIMERD_DELAY_USEC", delay)])
        case .runBegan(let run): return aboutRun(.runBegan, run, isRoutine: true)
        case .runRecovered(let run): return aboutRun(.runRecovered, run, isRoutine: true)
        case .runReattached(let run): return aboutRun(.runReattached, run, isRoutine: true)
        case .killed(let run, let by, let signal):
            return aboutRun(.killed, run, [.by(by), .text("TIMERD_SIGNAL", signal ?? "SIGTERM")])
        case .cancelled(let run, let by): return aboutRun(.cancelled, run, [.by(by)])
        case .runEnded(let run, let outcome, let usage, let failed):
            return aboutRun(.runEnded, run, isRoutine: !failed, Facts.end(outcome, usage))
        }
    }
}
