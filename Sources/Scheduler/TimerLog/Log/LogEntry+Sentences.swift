// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

extension LogEntry {
    /// The log level of a notice, and its sentence.
    ///
    /// This switch is long on purpose: the levels of all notices can be compared at a glance.
    static func sentence(for notice: Notice) -> (Logger.Level, String) {
        switch notice {
        case .daemonStarted(let ending, let away, let jobs, let counting, let loss):
            daemonStarted(ending, away: away, jobs: jobs, counting: counting, lostAtMost: loss)
        case .shutDown(let counting, let active): (.notice, shutDown(counting, active))
        case .reloaded(let added, let changed, let removed, let kept):
            (.notice, reloaded(added: added, changed: changed, removed: removed, kept: kept))
        case .machineHeld(let hold, let isChange):
            (.notice, machineHeld(hold, isChange: isChange))
        case .machineReleased(let hold, let by, let jobs):
            (.notice, machineReleased(hold, by: by, jobs: jobs))
        case .zonesChanged(let jobs): (.notice, zonesChanged(jobs))
        case .clockStepped(let step, let isCorrection): clockStepped(by: step, isCorrection)

        // One entry for each job; the entry about the start has the sum of them.
        case .recovered(_, let accrued, let credited, let maxLoss, let basis):
            (.debug, recovered(accrued, credited: credited, maxLoss: maxLoss, basis))
        case .paused(_, let pause, let accrued, let remaining):
            (.notice, paused(pause, accrued, remaining: remaining))
        case .pauseChanged(_, let former, let pause):
            (.notice, pauseChanged(from: former, to: pause))
        case .resumed(_, _, let by, _, let remaining):
            (.notice, "resumed by \(by)" + nextRun(remaining))
        case .started(_, .clockCorrection, let remaining):
            (.notice, "scheduled again after the wall clock was corrected" + nextRun(remaining))
        case .started(_, let by, let remaining):
            (.notice, "timer restarted by \(by)" + nextRun(remaining))
        case .stopped(_, _, let by, let dropped):
            (.notice, "stopped by \(by); \(span(dropped)) of elapsed time dropped")
        case .skipNextSet(_, let count, let by): (.notice, skipNextSet(count, by: by))
        case .renamed(_, let old): (.notice, "renamed from \(old); its saved state was kept")
        case .finished(_, let firesAtBoot, let limit):
            (.info, finished(firesAtBoot: firesAtBoot, after: limit))
        case .skipped(let firing, let reason): skipped(firing, reason)
        case .incidentBegan(let one): (.warning, incidentBegan(one))
        case .incidentEnded(let one): (.notice, incidentEnded(one))

        case .fired(let run, let late, let remaining):
            (.info, fired(run, late: late, remaining: remaining))
        case .runOrdered(let run, let by, let remaining):
            (.notice, runOrdered(run, by: by) + nextRun(remaining))
        case .held(let run, let other): (.info, "run \(run.id) waits for run \(other) to end")
        case .awaitsCondition(let run, let what, let most):
            (
                .notice,
                "run \(run) waits for its condition, for at most \(span(most)): \(what) is not met"
            )
        case .catchUpDelayed(let run, let delay):
            (.notice, "run \(run) was missed and is caught up in \(span(delay))")
        case .windowEnded(let run):
            (.notice, "run \(run) is being stopped: the window of its job has closed")
        case .replacing(let run, let other):
            (.notice, "run \(run) is being stopped; run \(other) replaces it")
        case .retrying(let run, let delay, let retries):
            (.notice, retrying(run, after: delay, retries: retries))
        case .runBegan(let run): (.debug, "run \(run) started")
        case .runRecovered(let run):
            (.notice, "run \(run) was recorded before the restart and starts now")
        case .runReattached(let run): (.notice, "run \(run) kept running across the restart")
        case .killed(let run, let by, let signal): (.notice, killed(run, by: by, signal))
        case .cancelled(let run, let by):
            (.notice, "waiting run \(run) cancelled, requested by \(by)")
        case .runEnded(let run, let outcome, let usage, let failed):
            ended(run, outcome, usage, failed: failed)
        }
    }

    /// The end of a sentence: the time until the next run, if there is one.
    static func nextRun(_ remaining: Duration?) -> String {
        remaining.map { "; next run in \(span($0))" } ?? ""
    }

    static func span(
        _ span: Duration, _ accuracy: Duration = .milliseconds(1)
    ) -> String {
        TimeSpan.text(span, accuracy: accuracy)
    }
}
