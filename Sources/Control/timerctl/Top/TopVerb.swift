// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct TopVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "All jobs, live, with keys to control them.",
        discussion: """
            The keys are listed by ?: pause, resume, run, skip or stop the selected job, show its output, and choose \
            which jobs are shown. While timerd is away, it is waited for.
            """)
    static let reading = Reading.part("without its commands")

    /// The values of `--interval`: the time between two lists.
    static let intervals: ClosedRange<Duration> = .milliseconds(100) ... .seconds(3600)

    @OptionGroup var connection: Connection
    @OptionGroup var filter: ListFilter

    @Option(
        help: ArgumentHelp(
            "How often the table is updated: a time span from 100ms to 1h (default: 1s).",
            valueName: "span"),
        transform: Self.span)
    var interval = Duration.seconds(1)

    private static func span(_ text: String) throws -> Duration {
        let span: Duration?
        do throws(TimeSpanError) { span = try TimeSpan.parse(text) } catch {
            throw ValidationError("--interval \"\(text)\": \(error)")
        }
        guard let span, intervals.contains(span) else {
            throw ValidationError("--interval \"\(text)\": must be from 100ms to 1h")
        }
        return span
    }

    func validate() throws {
        if connection.json {
            throw ValidationError("--json is not for top; `timerctl list --json` prints JSON")
        }
    }

    func run() throws {
        guard let terminal = RawTerminal() else {
            throw Connection.fail(
                1,
                "top needs a terminal that can move its cursor, for input and for output; "
                    + "`timerctl list --watch` works without one")
        }
        // Errors that another attempt would not solve are printed before the screen changes.
        var first: Result<JobTable, Connection.Failure>
        do throws(Connection.Failure) {
            first = .success(try connection.table())
        } catch {
            guard error.isAway else { throw error.exit }
            first = .failure(error)
        }
        var session = TopSession(
            terminal, TopState(filter: filter), connection, interval: interval,
            hasColor: Screen.standardOutput(color: connection.color).hasColor)
        session.handle(.list(first))
        try session.run()
    }
}
