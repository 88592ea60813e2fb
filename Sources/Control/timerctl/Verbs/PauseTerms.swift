// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

/// How long, and why: the options of `pause` and of `hold`.
struct PauseTerms: ParsableArguments {
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
            "Why, in at most 1000 bytes; shown by list, show and why.", valueName: "text"))
    var note: String?

    @Flag(help: "Suspend active runs as well (SIGSTOP), and their timeouts.")
    var withRun = false

    func validate() throws {
        if span != nil, until != nil {
            throw ValidationError("--for and --until exclude each other")
        }
    }

    func body() throws -> CommandBody {
        CommandBody(
            note: note,
            until: try until.map { try TimeOption.instant("--until", $0, .future).rfc3339 },
            forUsec: try span.map {
                try TimeOption.span("--for", $0, in: Self.spans).wholeMicroseconds
            }, withRun: withRun ? true : nil)
    }

    /// The spans that `--for` accepts.
    private static let spans =
        Duration.microseconds(1)...Duration.microseconds(CommandBody.forUsecMax)
}
