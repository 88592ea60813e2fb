// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct HistoryVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Finished runs, the latest first, with the end of their output.")

    @OptionGroup var connection: Connection

    @Argument(help: "Only runs of this job.", completion: .jobNames, transform: JobArgument.name)
    var job: Job.Name?

    @Flag(help: "Only runs that failed.")
    var failed = false

    @Option(
        help: """
            Only runs that ended since then: a time span ago, such as 2h or "3 days", or an instant such as \
            2026-12-24T18:00:00Z.
            """,
        transform: HistoryVerb.since)
    var since: WallInstant?

    @Option(help: "How many runs at most.")
    var limit = 20

    @Option(help: "How many lines of output to show of each run.")
    var lines = 3

    func validate() throws {
        guard (1...HistoryQuery.limitMax).contains(limit) else {
            throw ValidationError("--limit: from 1 to \(HistoryQuery.limitMax)")
        }
        guard lines >= 0 else { throw ValidationError("--lines: not negative") }
    }

    func run() throws {
        let query = HistoryQuery(job: job, failed: failed, since: since, limit: limit)
        let reply = try connection.ask(.history(query), for: HistoryReply.self)
        try connection.show(reply) { Text.history(reply, outputLines: lines) }
    }

    private static func since(_ text: String) throws -> WallInstant {
        if let instant = WallInstant(rfc3339: text) { return instant }
        do throws(TimeSpanError) {
            if let span = try TimeSpan.parse(text) {
                return Terminal.now - span
            }
        } catch {
            throw ValidationError(
                "\"\(text)\" is neither a time span such as 2h nor an instant such as "
                    + "2026-12-24T18:00:00Z: \(error)")
        }
        throw ValidationError("\"\(text)\" never ends; leave the option out")
    }
}
