// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

extension Text {
    /// The table of `timerctl list`, with a summary below it.
    ///
    /// - Parameters:
    ///   - shown: the jobs in the table, in their order.
    ///   - columns: the requested columns; nil for the standard ones, some of which are left out on
    ///     a narrow screen.
    static func table(
        _ status: JobTable, _ shown: [JobTable.Row], columns: [JobColumn]? = nil,
        on screen: Screen = Screen(), now: WallInstant = Terminal.now
    ) -> String {
        var lines: [String] = []
        if status.jobs.isEmpty, status.rejected.isEmpty, status.refusal == nil {
            lines = firstJob(status)
        } else if !shown.isEmpty || status.jobs.isEmpty {
            lines = fitting(shown, columns, screen, now).lines(color: screen.hasColor)
            lines.append("")
        }
        let below = summary(status, shown: shown, now: now).split(separator: "\n")
        lines += below.flatMap { screen.lines(String($0)) }
        return lines.joined(separator: "\n")
    }

    /// What to do with a configuration without jobs.
    private static func firstJob(_ status: JobTable) -> [String] {
        let config = Printable.text(status.config)
        let folder = config.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return [
            "There are no jobs yet. This adds one, which runs every 6 hours:", "",
            "    timerctl add backup --every 6h -- restic backup /srv", "",
            "Or write it to \((folder + ["jobs.d", "backup.toml"]).joined(separator: "/")), and run `timerctl reload`:",
            "", "    [job.backup]", "    every = \"6h\"",
            "    command = [\"restic\", \"backup\", \"/srv\"]", "",
        ]
    }

    /// The table of some jobs, made to fit the screen.
    static func fitting(
        _ jobs: [JobTable.Row], _ wanted: [JobColumn]?, _ screen: Screen, _ now: WallInstant
    ) -> TextTable {
        let columns = wanted ?? JobColumn.standard
        return TextTable(
            columns.map { $0.column(isRequested: wanted != nil) },
            jobs.map { job in columns.map { $0.cell(job, now) } }
        ).fitted(to: screen.columns)
    }

    /// Such as `12 jobs: 1 failed, 2 paused, 1 running; next is backup in 3 min`.
    ///
    /// - Parameter jobs: those that are shown, which it counts.
    static func summary(
        _ status: JobTable, shown jobs: [JobTable.Row], now: WallInstant
    ) -> String {
        let all = plural(status.jobs.count, "job")
        var line = jobs.count < status.jobs.count ? "\(jobs.count) of \(all)" : all
        let counts = [
            (jobs.count { $0.hasFailed }, "failed"),
            (jobs.count { $0.state == "paused" }, "paused"),
            (jobs.count { $0.isRunning }, "running"),
            (jobs.count { $0.stateWord == "waiting" }, "waiting"),
            (jobs.count { $0.state == "retrying" }, "retrying"),
            (jobs.count { $0.incidents != nil }, "with an incident"),
        ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
        if !counts.isEmpty { line += ": " + counts.joined(separator: ", ") }
        // While a run of a job is active, its next one is skipped or waits, mostly.
        let starts = jobs.filter { !$0.isRunning }.compactMap { job in
            job.nextStart.flatMap { WallInstant(rfc3339: $0) }.map { (at: $0, job: job.job) }
        }
        if let next = starts.min(by: { $0.at < $1.at }) {
            line += "; next is \(next.job) in \(whole(next.at - now))"
        }
        return ([line] + faults(of: status)).joined(separator: "\n")
    }

    /// What does not work: parts of the configuration and notifiers, one per line.
    static func faults(of status: JobTable) -> [String] {
        (status.hold.map { [held($0)] } ?? [])
            + (status.refusal.map { [Printable.text($0)] } ?? [])
            + (status.rejected.isEmpty ? [] : [notLoaded(status)])
            + (status.failingNotifiers.map { [failing($0)] } ?? [])
            + (status.heldNotifications ?? []).map {
                "\(Printable.text($0.notifier)) holds \(plural($0.heldCount, "notification")) back until "
                    + "\(instant($0.until)) (per-hour); `timerctl notify list` shows more"
            }
    }

    /// The hold of the machine, such as `held by root since …, until …: disk swap; no run starts …`.
    static func held(_ hold: PauseStatus) -> String {
        var line = "held by \(Printable.text(hold.by)) since \(instant(hold.since))"
        if let until = hold.until { line += ", until \(instant(until))" }
        if let note = hold.note { line += ": \(Printable.text(note))" }
        return line + "; no run starts, and `timerctl release` ends that"
    }

    /// The answer to `hold`.
    static func held(_ reply: HoldReply) -> String {
        guard reply.changed, let hold = reply.hold else { return reply.reason ?? "not held" }
        return hold.until.map { "held until \(instant($0))" } ?? "held"
    }

    private static func failing(_ notifiers: [String]) -> String {
        let names = Printable.text(notifiers.joined(separator: ", "))
        return "\(plural(notifiers.count, "notifier")) cannot send messages (\(names)); "
            + "`timerctl notify list` shows why"
    }

    /// Such as `1 job not loaded (backup); …`, or an empty text.
    private static func notLoaded(_ status: JobTable) -> String {
        let names = Printable.text(status.rejected.joined(separator: ", "))
        return "\(plural(status.rejected.count, "job")) not loaded (\(names)); "
            + "`timerd check \(Printable.text(status.config))` shows the errors"
    }
}
