// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerCore

/// Sentences about the daemon, its configuration and the clock.
extension LogEntry {
    static func daemonStarted(
        _ ending: PreviousExit, away: Duration?, jobs: Int, counting: Int, lostAtMost: Duration
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

    static func shutDown(_ counting: Int, _ active: Int) -> String {
        "Stopping; the state of all jobs is saved (\(plural(counting, "job")) counting time, "
            + "\(plural(active, "run")) still running)"
    }

    static func reloaded(
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

    static func zonesChanged(_ jobs: [Job.Name]) -> String {
        "Time zone rules changed; recomputed the schedules of "
            + "\(plural(jobs.count, "job")) (\(list(jobs)))"
    }

    static func clockStepped(
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

    private static func list(_ jobs: [Job.Name]) -> String {
        jobs.prefix(10).map(\.description).joined(separator: ", ") + (jobs.count > 10 ? ", …" : "")
    }
}
