// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

extension LogEntry {
    /// The log level of a notice, and its sentence.
    static func sentence(for notice: Notice) -> (Logger.Level, String) {
        switch notice {
        case .daemonStarted(let ending, let away, let jobs, let counting, let loss):
            daemonStarted(ending, away: away, jobs: jobs, counting: counting, lostAtMost: loss)
        // One entry for each job; the entry about the start has the sum of them.
        case .recovered(_, let accrued, let credited, let maxLoss, let basis):
            (.debug, recovered(accrued, credited: credited, maxLoss: maxLoss, basis))
        case .fired(let run, let late, let remaining):
            (.info, fired(run, late: late, remaining: remaining))
        case .runOrdered(let run, let by, let remaining):
            (.notice, "run now, requested by \(by) (run \(run.id))" + left(remaining))
        case .skipped(let firing, let reason): skipped(firing, reason)
        case .held(let run, let other):
            (.info, "run \(run.id) waits for run \(other) to end")
        case .replacing(let run, let other):
            (.notice, "run \(run) is being stopped; run \(other) replaces it")
        case .retrying(let run, let delay, let retries):
            (
                .notice,
                "attempt \(run.attempt) of \(retries + 1) starts in \(span(delay)) (run \(run))"
            )
        case .runBegan(let run): (.debug, "run \(run) started")
        case .killed(let run, let by, let signal):
            (
                .notice,
                signal.map { "\($0) sent to run \(run), requested by \(by)" }
                    ?? "run \(run) is being stopped, requested by \(by)"
            )
        case .cancelled(let run, let by):
            (.notice, "waiting run \(run) cancelled, requested by \(by)")
        case .runEnded(let run, let outcome, let usage, let failed):
            ended(run, outcome, usage, failed: failed)
        case .runRecovered(let run):
            (.notice, "run \(run) was recorded before the restart and starts now")
        case .runReattached(let run):
            (.notice, "run \(run) kept running across the restart")
        case .paused(_, let pause, let accrued, let remaining):
            (
                .notice,
                "paused by \(pause.by)" + (pause.note.map { " (\($0))" } ?? "")
                    + (pause.until.map { ", until \($0.rfc3339)" } ?? "")
                    + "; keeps \(span(accrued)) of elapsed time"
                    + (remaining.map { "; next run \(span($0)) after the pause" } ?? "")
            )
        case .pauseChanged(_, let former, let pause):
            (.notice, pauseChanged(from: former, to: pause))
        case .resumed(_, _, let by, _, let remaining):
            (.notice, "resumed by \(by)" + left(remaining))
        case .started(_, .clockCorrection, let remaining):
            (.notice, "scheduled again after the wall clock was corrected" + left(remaining))
        case .started(_, let by, let remaining):
            (.notice, "timer restarted by \(by)" + left(remaining))
        case .stopped(_, _, let by, let dropped):
            (.notice, "stopped by \(by); \(span(dropped)) of elapsed time dropped")
        case .skipNextSet(_, let count, let by):
            (
                .notice,
                count == 0
                    ? "no more runs will be skipped, requested by \(by)"
                    : "the next \(count == 1 ? "run" : "\(count) runs") will be skipped, requested by \(by)"
            )
        case .renamed(_, let old): (.notice, "renamed from \(old); its saved state was kept")
        case .finished(_, firesAtBoot: false):
            (.info, "no more runs are scheduled; `timerctl start` restarts the timer")
        case .finished(_, firesAtBoot: true):
            (
                .info,
                "no more runs are scheduled in this boot of the machine; it runs again after the next boot"
            )
        case .reloaded(let added, let changed, let removed, let kept):
            (.notice, reloaded(added: added, changed: changed, removed: removed, kept: kept))
        case .zonesChanged(let jobs):
            (
                .notice,
                "Time zone rules changed; recomputed the schedules of "
                    + "\(plural(jobs.count, "job")) (\(list(jobs)))"
            )
        case .clockStepped(let step, let isCorrection): clockStepped(by: step, isCorrection)
        case .incidentBegan(let one): (.warning, incidentBegan(one))
        case .incidentEnded(let one):
            (
                .notice,
                "no longer \(one.recoveredFrom.map(incident).joined(separator: ", ")); notifier "
                    + "\(one.notifier) sends a message"
            )
        case .shutDown(let counting, let live):
            (
                .notice,
                "Stopping; the state of all jobs is saved (\(plural(counting, "job")) counting time, "
                    + "\(plural(live, "run")) still running)"
            )
        }
    }

    private static func incidentBegan(_ one: JobNotification) -> String {
        var what = incident(one.kind)
        if one.kind == .failure {
            what += ", \(plural(one.failedInARow, "firing")) in a row"
        }
        if let reason = one.skipReason { what += " (\(reason))" }
        let since = one.since.map { " since \($0.rfc3339)" } ?? ""
        return
            "\(what)\(since); notifier \(one.notifier) sends \(one.isRepeat ? "another" : "a") message"
    }

    /// What is wrong, in a word that can follow "is" and "no longer".
    private static func incident(_ kind: NotificationKind) -> String {
        switch kind {
        case .failure: "failing"
        case .late: "late to start"
        case .long: "running for too long"
        case .stale: "without a recent success"
        case .lost: "with a lost run"
        case .skipped: "skipping runs"
        case .pausedLong: "paused for too long"
        case .start, .success, .recovery, .output, .test: kind.rawValue
        }
    }

    private static func daemonStarted(
        _ ending: Ending, away: Duration?, jobs: Int, counting: Int, lostAtMost: Duration
    ) -> (Logger.Level, String) {
        let began = "Started with \(plural(jobs, "job"))"
        let ago = away.map { ", \(span($0, .milliseconds(1))) ago" } ?? ""
        let cost =
            counting == 0
            ? "; no job was counting time"
            : "; \(plural(counting, "job was", "jobs were")) counting time"
                + (lostAtMost > .zero
                    ? ": up to \(span(lostAtMost)) of it is lost\(counting == 1 ? "" : " for each")"
                    : "")
        return switch ending {
        case .firstStart: (.notice, "\(began); first start with this state directory")
        case .clean: (.notice, "\(began); the previous instance stopped cleanly\(ago)")
        case .killed:
            (.warning, "\(began); the previous instance was killed or crashed\(ago)\(cost)")
        case .reboot:
            (
                .warning,
                "\(began); the machine went down without stopping the previous instance\(ago)\(cost)"
            )
        }
    }

    private static func recovered(
        _ accrued: Duration, credited: Duration, maxLoss: Duration, _ basis: TimeBasis
    ) -> String {
        "restored \(span(accrued)) of elapsed time (\(basis.rawValue) time), \(span(credited)) of it since the "
            + "last save; up to \(span(maxLoss)) lost"
    }

    private static func skipped(
        _ firing: Firing, _ reason: Notice.SkipReason
    ) -> (Logger.Level, String) {
        let count = firing.missed + 1
        let these = count == 1 ? "this run is" : "these \(count) runs are"
        return switch reason {
        case .stillRunning(let run):
            (.warning, "\(these) skipped: run \(run) is still running")
        case .concurrencyMax(let most):
            (
                .warning,
                "\(these) skipped: \(plural(most, "run is", "runs are")) still running, the limit of "
                    + "concurrency-max"
            )
        case .queueFull(let run):
            (.warning, "\(these) skipped: run \(run) is already waiting")
        case .missed: (.notice, "\(these) skipped: missed while nothing could start (on-missed)")
        case .catchUpMax:
            (
                .warning,
                "more than \(Agenda.catchUpMax) runs were missed; the \(count == 1 ? "oldest is" : "oldest \(count) are") skipped"
            )
        case .deadline: (.warning, "\(these) skipped: too late to start (starting-deadline)")
        case .clockSet:
            (
                .warning,
                "\(these) skipped: the wall clock was set past it, and no later run is scheduled. "
                    + "The job is scheduled again if the clock is set back"
            )
        case .byOrder(let left):
            (
                .notice,
                "\(these) skipped, as requested (skip-next)"
                    + (left > 0 ? "; \(left) more will be" : "")
            )
        }
    }

    private static func clockStepped(
        by step: Duration, _ isCorrection: Bool
    ) -> (Logger.Level, String) {
        let isBack = step < .zero
        let set =
            "The wall clock was set \(isBack ? "back" : "forward") by \(span(isBack ? .zero - step : step))"
        if isCorrection { return (.warning, "\(set); schedules follow the new time") }
        // A clock that is corrected often would fill the log with entries about small steps.
        let isSmall = step < .seconds(10) && step > .seconds(-10)
        let what =
            isBack ? "no run is repeated" : "runs that became due are caught up once"
        return (isSmall ? .debug : .notice, "\(set); \(what)")
    }

    private static func pauseChanged(from former: Pause, to pause: Pause) -> String {
        var parts: [String] = []
        if pause.until != former.until {
            let end = pause.until.map { "until \($0.rfc3339)" } ?? "until it is resumed"
            parts.append(
                end + (former.until.map { " (was: until \($0.rfc3339))" } ?? " (was: no end)"))
        }
        if pause.note != former.note {
            let note = pause.note.map { "note \"\($0)\"" } ?? "no note"
            parts.append(note + (former.note.map { " (was: \"\($0)\")" } ?? " (was: none)"))
        }
        if pause.withRun != former.withRun { parts.append("with its runs (was: without)") }
        return "pause changed by \(pause.by): " + parts.joined(separator: ", ")
    }

    private static func fired(_ run: Run, late: Duration, remaining: Duration?) -> String {
        var text = "fires (run \(run.id))"
        if late >= .milliseconds(100) { text += ", \(span(late, .milliseconds(1))) late" }
        if run.firing.missed > 0 { text += ", for \(run.firing.missed + 1) due runs" }
        return text + (remaining.map { "; next in \(span($0, .milliseconds(1)))" } ?? "")
    }

    private static func ended(
        _ run: Run.ID, _ outcome: RunOutcome, _ usage: RunUsage, failed: Bool
    ) -> (Logger.Level, String) {
        let level: Logger.Level = failed ? .error : outcome.isIntended ? .notice : .info
        switch outcome {
        case .exited(0) where !failed:
            return (level, "succeeded in \(span(usage.elapsed, .milliseconds(1)))")
        case .exited, .signalled, .timedOut, .replaced, .stopped:
            return (
                level,
                "run \(run) \(failed ? "failed" : "ended"): \(outcome) after \(span(usage.elapsed, .milliseconds(1)))"
            )
        case .spawnFailed: return (level, "run \(run) failed to start: \(outcome)")
        case .lost(.reboot):
            return (level, "run \(run) is \(outcome): the machine went down while it ran")
        case .lost(.daemon):
            return (level, "run \(run) is \(outcome): the daemon went down while it ran")
        case .lost(.runner):
            return (level, "run \(run) is \(outcome): the runner went down while it ran")
        case .lost(.deadline):
            return (level, "run \(run) is \(outcome): it did not start in time")
        }
    }

    private static func reloaded(
        added: [Job.Name], changed: [Job.Name], removed: [Job.Name], kept: Int
    ) -> String {
        func names(_ word: String, _ jobs: [Job.Name]) -> String? {
            guard !jobs.isEmpty else { return nil }
            return "\(jobs.count) \(word) (\(list(jobs)))"
        }
        let parts = [
            names("added", added), names("changed", changed), names("removed", removed),
            "\(kept) unchanged",
        ]
        return "Configuration reloaded: " + parts.compactMap { $0 }.joined(separator: ", ")
    }

    private static func list(_ jobs: [Job.Name]) -> String {
        jobs.prefix(10).map(\.description).joined(separator: ", ") + (jobs.count > 10 ? ", …" : "")
    }

    private static func left(_ remaining: Duration?) -> String {
        remaining.map { "; next run in \(span($0))" } ?? ""
    }

    private static func span(
        _ span: Duration, _ accuracy: Duration = .milliseconds(1)
    ) -> String {
        TimeSpan.text(span, accuracy: accuracy)
    }
}
