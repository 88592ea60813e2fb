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
    ///   - now: instants of the same day are written shorter on a narrow screen.
    static func table(
        _ status: JobTable, _ shown: [JobTable.Row], columns: [JobColumn]? = nil,
        on screen: Screen = Screen(), now: WallInstant = Terminal.now
    ) -> String {
        var lines: [String] = []
        if !shown.isEmpty || status.jobs.isEmpty {
            lines = fitting(shown, columns, screen, now).lines(color: screen.hasColor)
            lines.append("")
        }
        lines.append(summary(status, shown: shown.count, now: now))
        return lines.joined(separator: "\n")
    }

    /// The table of some jobs, made to fit the screen.
    static func fitting(
        _ jobs: [JobTable.Row], _ wanted: [JobColumn]?, _ screen: Screen, _ now: WallInstant
    ) -> TextTable {
        var columns = wanted ?? JobColumn.standard
        var table = make(jobs, columns) { instant($0) }
        guard let limit = screen.columns, table.width > limit else { return table }
        table = make(jobs, columns) { short($0, now: now) }
        func flexible() -> [Int] {
            columns.indices.filter { JobColumn.flexible.contains(columns[$0]) }
        }
        for column in wanted == nil ? JobColumn.dispensable : [] where table.width > limit {
            if column == .last {
                // The time is more important than the end of a long name.
                let fitted = table.fitted(to: limit, shortening: flexible(), least: nameWidth)
                if fitted.width <= limit { return fitted }
            }
            columns.removeAll { $0 == column }
            table = make(jobs, columns) { short($0, now: now) }
        }
        return table.fitted(to: limit, shortening: flexible())
    }

    /// This many columns are enough to distinguish most names.
    private static let nameWidth = 24

    private static func make(
        _ jobs: [JobTable.Row], _ columns: [JobColumn], _ instant: (String?) -> String
    ) -> TextTable {
        TextTable(columns.map(\.heading), jobs.map { job in columns.map { $0.cell(job, instant) } })
    }

    /// `14:05:00` for the same day, `11-24 14:05` for the same year, otherwise `2027-01-01`.
    static func short(_ text: String?, now: WallInstant) -> String {
        guard let instant = text.flatMap({ WallInstant(rfc3339: $0) }) else { return text ?? "-" }
        for (same, format) in [("%Y-%m-%d", "%H:%M:%S"), ("%Y", "%m-%d %H:%M")]
        where local(instant, as: same) == local(now, as: same) {
            return local(instant, as: format)
        }
        return local(instant, as: "%Y-%m-%d")
    }

    /// In whole seconds, if it is at least one second.
    static func whole(_ left: Duration) -> String {
        let microseconds = max(0, left.wholeMicroseconds)
        return span(microseconds < 1_000_000 ? microseconds : microseconds / 1_000_000 * 1_000_000)
    }

    /// Such as `12 jobs: 1 failed, 2 paused, 1 running; next is backup in 3 min`.
    static func summary(_ status: JobTable, shown: Int, now: WallInstant) -> String {
        let jobs = status.jobs
        var line = plural(jobs.count, "job")
        let counts = [
            (jobs.count { $0.hasFailed }, "failed"),
            (jobs.count { $0.state == "paused" }, "paused"),
            (jobs.count { $0.isRunning }, "running"),
            (jobs.count { $0.stateWord == "waiting" }, "waiting"),
            (jobs.count { $0.state == "retrying" }, "retrying"),
            (jobs.count { $0.incidents != nil }, "with an incident"),
        ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
        if !counts.isEmpty { line += ": " + counts.joined(separator: ", ") }
        let starts = jobs.compactMap { job in
            job.nextStart.flatMap { WallInstant(rfc3339: $0) }.map { (at: $0, job: job.job) }
        }
        if let next = starts.min(by: { $0.at < $1.at }) {
            line += "; next is \(next.job) in \(whole(next.at - now))"
        }
        if shown < jobs.count { line = "\(shown) of \(line)" }
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
