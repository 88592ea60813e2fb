// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct PauseVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause jobs without losing any of their elapsed time.",
        discussion: """
            Without --for and --until a job stays paused until it is resumed. The pause survives restarts of the \
            daemon and of the machine, and reloads of the configuration. If a job is already paused, the given \
            options change its pause, and the others stay as they are.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: MatchedJobs

    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp("How long: a time span such as 2h 30min.", valueName: "span"))
    var span: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Until when: a time such as \(TimeParser.examples).", valueName: "time"))
    var until: String?

    @Option(
        help: ArgumentHelp(
            "Why it is paused, in at most 1000 bytes; shown by show and why.", valueName: "text"))
    var note: String?

    @Flag(help: "Suspend its active runs as well (SIGSTOP), and their timeouts.")
    var withRun = false

    func validate() throws {
        if argument.jobs.isEmpty, !argument.all, argument.names.isEmpty {
            throw ValidationError("name a job, or choose jobs with --all or --match")
        }
        if span != nil, until != nil {
            throw ValidationError("--for and --until exclude each other")
        }
    }

    func run() throws {
        let body = OrderBody(
            note: note,
            until: try until.map { try TimeOption.instant("--until", $0, .future).rfc3339 },
            forUsec: try span.map {
                try TimeOption.span("--for", $0, in: Self.spans).wholeMicroseconds
            }, withRun: withRun ? true : nil)
        guard argument.jobs.isEmpty else {
            return try connection.order(.pause, .jobs(argument.jobs), body, done: "paused")
        }
        try connection.orderMany(.pause, try selection(), body, done: "paused")
    }

    /// All jobs, or the jobs whose names match.
    private func selection() throws -> JobSelection {
        guard !argument.names.isEmpty else { return .all }
        let jobs = try connection.ask(.list, for: JobNames.self, forChange: true).jobs.map(\.job)
        let found = jobs.filter { argument.names.admit($0) }.compactMap { Job.Name($0) }
        guard !found.isEmpty else {
            let patterns = argument.names.match.map { "\"\($0)\"" }.joined(separator: " or ")
            throw Connection.fail(4, "no job is named \(patterns); `timerctl list` shows the jobs")
        }
        return .jobs(found)
    }

    /// The spans that `--for` accepts.
    private static let spans =
        Duration.microseconds(1)...Duration.microseconds(OrderBody.forUsecMax)
}
