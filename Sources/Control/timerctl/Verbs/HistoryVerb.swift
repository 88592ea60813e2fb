// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct HistoryVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Finished runs, the latest first, with the end of their output.")
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "Only runs of this job, or of the jobs of a template such as dump@.", valueName: "job"),
        completion: .jobNames,
        transform: JobArgument.name)
    var job: Job.Name?

    @Flag(help: "Only runs that failed.")
    var failed = false

    @OptionGroup var times: PeriodOptions

    @Option(
        help: ArgumentHelp(
            "How many runs at most, from 1 to \(HistoryQuery.limitMax).", valueName: "count"))
    var limit = 20

    @Option(
        help: ArgumentHelp(
            "How many lines of output to show of each run.", valueName: "count"))
    var lines = 3

    @Flag(help: "Print the names of the runs alone, one a line.")
    var names = false

    func validate() throws {
        guard !names || !connection.json else {
            throw ValidationError("--names and --json exclude each other")
        }
        guard (1...HistoryQuery.limitMax).contains(limit) else {
            throw ValidationError("--limit: from 1 to \(HistoryQuery.limitMax)")
        }
        guard lines >= 0 else { throw ValidationError("--lines: not negative") }
    }

    func run() throws {
        let period = try times.period()
        let query = HistoryQuery(
            job: job, result: failed ? .failed : nil, since: period.since, until: period.until,
            limit: connection.json ? limit : min(limit + 1, HistoryQuery.limitMax),
            output: connection.json || (lines > 0 && !names),
            skipped: !failed && !names)
        var reply = try connection.ask(.history(query), for: HistoryReply.self)
        let hasMore = reply.runs.count > limit
        if hasMore {
            reply.runs.removeLast(reply.runs.count - limit)
            // What was skipped before the runs that are shown is not shown either.
            let first = reply.runs.last?.ended ?? ""
            reply.skippedRuns?.removeAll { $0.at < first }
        }
        guard !names else { return print(reply.runs.map { $0.id + "\n" }.joined(), terminator: "") }
        try connection.show(reply) {
            Text.history(
                reply, outputLines: lines, period: period.text, hasMore: hasMore,
                on: connection.screen)
        }
    }
}
