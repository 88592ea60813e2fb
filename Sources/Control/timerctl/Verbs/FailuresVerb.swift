// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct FailuresVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "failures",
        abstract:
            "The jobs whose last run failed: since when, how often, and the end of the output.")
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @OptionGroup var names: NamePatterns

    @OptionGroup var times: PeriodOptions

    @Option(
        help: ArgumentHelp(
            "How many jobs at most, from 1 to 1000, those that failed last (default: as many as the terminal has room for, at most 20).",
            valueName: "count")
    )
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "How many lines of output to show of each.", valueName: "count"))
    var lines = 3

    func validate() throws {
        guard (1...1000).contains(limit ?? 1) else {
            throw ValidationError("--limit: from 1 to 1000")
        }
        guard lines >= 0 else { throw ValidationError("--lines: not negative") }
    }

    func run() throws {
        let period = try times.period()
        let table = try connection.ask(.list, for: JobTable.self)
        let failed = table.jobs.filter {
            $0.hasFailed && names.admit($0.job) && period.contains($0.last?.ended)
        }
        .map { (ended: $0.last?.ended ?? "", job: $0) }
        .sorted { $0.ended > $1.ended }
        var found: [JobFailure] = []
        // Each job costs one request, so only the jobs that are shown are requested.
        for (_, job) in failed.prefix(limit ?? Self.standardLimit) {
            guard let name = Job.Name(job.job) else { continue }
            let query = HistoryQuery(job: name, limit: JobFailure.runsMax)
            let history = try connection.ask(.history(query), for: HistoryReply.self)
            // The job may have succeeded since the table was read.
            if let failure = JobFailure(job, history.runs) { found.append(failure) }
        }
        try connection.show(Failures(failures: found)) {
            // On a terminal, the latest failures must not scroll away.
            var screen = connection.screen
            if limit != nil { screen.rows = nil }
            return Text.failures(
                found, others: max(0, failed.count - (limit ?? Self.standardLimit)),
                rejected: table, lines: lines, period: period.text, on: screen,
                at: Terminal.now)
        }
    }

    private static let standardLimit = 20
}

/// The output of `timerctl failures --json`.
struct Failures: Codable {
    /// The latest failures come first.
    var failures: [JobFailure]
}

/// A job whose last run failed, with how long that has been so.
struct JobFailure: Codable {
    /// How many of the last runs are read to count the failures.
    static let runsMax = 100

    /// How many of the last runs failed without a success in between; at most `runsMax` are
    /// counted.
    var inARow: Int
    var job: String
    /// The last run, with the last part of its output.
    var last: RunStatus
    /// When the job runs next; absent if no run is due.
    var next: String?
    /// When the first of the failed runs ended, RFC 3339.
    var since: String
    /// The word of the column STATE.
    var state: String
    /// When the last run ended, to sort by; the epoch if that is not known.
    fileprivate var instant: WallInstant {
        last.ended.flatMap { WallInstant(rfc3339: $0) } ?? WallInstant(microsecondsSinceEpoch: 0)
    }

    /// Nil if the last run did not fail.
    ///
    /// - Parameter runs: the runs of the job, the latest first.
    init?(_ job: JobTable.Row, _ runs: [RunStatus]) {
        // A run that was skipped, stopped or replaced says nothing about the failures before it.
        let failed = runs.filter {
            !["skipped", "stopped", "replaced"].contains($0.reason ?? "")
        }.prefix { $0.failed == true }
        guard let last = failed.first, let since = failed.last?.ended else { return nil }
        self.job = job.job
        self.last = last
        inARow = failed.count
        self.since = since
        state = job.stateWord
        next = job.nextStart
    }
}

extension Text {
    /// The end of the output, or a note that says why there is none.
    private static func output(
        of failure: JobFailure, _ lines: Int, on screen: Screen
    ) -> [String] {
        let last = lastLines(of: failure.last.output ?? "", lines).flatMap {
            screen.lines($0, after: "    | ")
        }
        guard last.isEmpty, failure.last.began != nil else { return last }
        // What a run wrote whose end was not seen is in the journal alone.
        let reason =
            failure.last.reason == "lost"
            ? "its output was lost with it; \(journal(of: failure.last.id))"
            : "nothing of its output is kept: it printed nothing, or output-tail is 0"
        return screen.lines("(\(reason))", after: "    ")
    }

    /// The lines of `timerctl failures`.
    ///
    /// - Parameters:
    ///   - period: when the failures that are meant ended, in words; nil: at any time.
    ///   - screen: if it has rows, only as many jobs are shown as fit, but at least one.
    static func failures(
        _ failures: [JobFailure], others: Int, rejected table: JobTable, lines: Int,
        period: String? = nil, on screen: Screen = Screen(), at now: WallInstant
    ) -> String {
        let blocks = failures.map { failure -> [String] in
            let times =
                failure.inARow == 1
                ? "failed once"
                : "failed \(failure.inARow == JobFailure.runsMax ? "at least " : "")"
                    + "\(failure.inARow) times in a row, since \(instant(failure.since))"
            let ended = failure.last.ended.flatMap { WallInstant(rfc3339: $0) } ?? now
            let ago = whole(now - ended)
            let next = failure.next.flatMap { WallInstant(rfc3339: $0) }
                .map { ", next run in \(whole($0 - now))" }
            let outcome = Printable.text(RunWords.end(of: failure.last) ?? "-")
            let first = screen.lines("\(failure.job): \(outcome), \(ago) ago; \(times)", indent: 4)
            return first + (lines > 0 ? output(of: failure, lines, on: screen) : [])
                + screen.lines(
                    "run \(failure.last.id); \(failure.state)\(next ?? "")", after: "    ")
        }
        // Six rows are for the command itself, the summary, and the next prompt.
        var left = screen.rows.map { $0 - 6 } ?? .max
        let shown = blocks.prefix { block in
            left -= block.count
            return left >= 0
        }.count
        var text = blocks.prefix(max(1, shown)).flatMap(\.self)
        let others = others + max(0, failures.count - max(1, shown))
        if failures.isEmpty {
            text.append("No job's last run failed" + (period.map { " \($0)" } ?? ""))
        } else {
            text += [""]
            text += screen.lines(
                "`timerctl log JOB` shows the output, `timerctl retry --failed` runs them again")
        }
        if others > 0 { text.append("\(plural(others, "more job")) failed; --limit shows them") }
        text += faults(of: table).flatMap { screen.lines($0) }
        return text.joined(separator: "\n")
    }
}
