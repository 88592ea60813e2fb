// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

/// Sentences about a job: its timer, its pauses, its skipped runs and its incidents.
extension LogEntry {
    static func recovered(
        _ accrued: Duration, credited: Duration, maxLoss: Duration, _ basis: TimeBasis
    ) -> String {
        "restored \(span(accrued)) of elapsed time (\(basis.rawValue) time), \(span(credited)) of it since the "
            + "last save; up to \(span(maxLoss)) lost"
    }

    static func paused(_ pause: Pause, _ accrued: Duration, remaining: Duration?) -> String {
        var text = "paused by \(pause.by)"
        if let note = pause.note { text += " (\(note))" }
        if let until = pause.until { text += ", until \(until.rfc3339)" }
        text += "; keeps \(span(accrued)) of elapsed time"
        if let remaining { text += "; next run \(span(remaining)) after the pause" }
        return text
    }

    static func machineHeld(_ hold: MachineHold, isChange: Bool) -> String {
        var text = "\(hold.by) \(isChange ? "changed the hold of" : "holds") this machine"
        if let note = hold.note { text += " (\(note))" }
        if let until = hold.until { text += ", until \(until.rfc3339)" }
        return text + ": no run starts, and `timerctl release` ends that"
    }

    static func machineReleased(_ hold: MachineHold, by initiator: Initiator, jobs: Int) -> String {
        let how = initiator == .pauseEnd ? "the hold ended" : "released by \(initiator)"
        return "This machine was held by \(hold.by) since \(hold.since.wall.rfc3339); \(how): "
            + "\(plural(jobs, "job continues", "jobs continue"))"
    }

    static func pauseChanged(from former: Pause, to pause: Pause) -> String {
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

    static func skipNextSet(_ count: Int, by initiator: Initiator) -> String {
        let what =
            switch count {
            case 0: "no more runs will be skipped"
            case 1: "the next run will be skipped"
            default: "the next \(count) runs will be skipped"
            }
        return "\(what), requested by \(initiator)"
    }

    static func finished(firesAtBoot: Bool, after limit: RunLimit?) -> String {
        if let limit {
            let limits = [
                limit.runs.map { "max-runs = \($0)" },
                limit.successes.map { "max-successes = \($0)" },
            ]
            let words = limits.compactMap(\.self).joined(separator: ", ")
            return "no more runs are scheduled (\(words)); `timerctl start` counts from zero again"
        }
        return firesAtBoot
            ? "no more runs are scheduled in this boot of the machine; it runs again after the next boot"
            : "no more runs are scheduled; `timerctl start` restarts the timer"
    }

    static func skipped(
        _ firing: Firing, _ reason: Notice.SkipReason
    ) -> (Logger.Level, String) {
        let count = firing.missed + 1
        let these = count == 1 ? "this run is" : "these \(count) runs are"
        return switch reason {
        case .stillRunning(let run):
            (.warning, "\(these) skipped: run \(run) has not ended")
        case .concurrencyMax(let most):
            (
                .warning,
                "\(these) skipped: \(plural(most, "run is", "runs are")) still running, the limit of "
                    + "concurrency-max"
            )
        case .queueFull(let run):
            (.warning, "\(these) skipped: run \(run) is already waiting")
        case .slotBusy(let slot):
            (.notice, "\(these) skipped: the slot \(slot) is taken (on-busy-slot)")
        case .outsideWindow: (.notice, "\(these) skipped: outside its window (outside-window)")
        case .missed: (.notice, "\(these) skipped: missed while nothing could start (on-missed)")
        case .catchUpMax:
            (
                .warning,
                "more than \(Lateness.catchUpMax) runs were missed; the \(count == 1 ? "oldest is" : "oldest \(count) are") skipped"
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

    static func incidentBegan(_ one: JobNotification) -> String {
        var what = incident(one.kind)
        if one.kind == .failure {
            what += ", \(plural(one.failedInARow, "firing")) in a row"
        }
        if let reason = one.skipReason { what += " (\(reason))" }
        let since = one.since.map { " since \($0.rfc3339)" } ?? ""
        return
            "\(what)\(since); notifier \(one.notifier) sends \(one.isRepeat ? "another" : "a") message"
    }

    static func incidentEnded(_ one: JobNotification) -> String {
        "no longer \(one.recoveredFrom.map(incident).joined(separator: ", ")); notifier "
            + "\(one.notifier) sends a message"
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
}
