// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct UpcomingVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "upcoming", abstract: "What runs next, over all jobs.",
        discussion: """
            Pauses with an end, runs that skip-next skips, and retries are taken into account. A run may still be \
            skipped or delayed because of what happens until then, such as a previous run that is still active. \
            Without -n, a job that runs more than three times is listed once, with the number of its further runs.
            """)
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp(
            "How far ahead: a time span such as 1h or \"2 days\" (default: 1h).", valueName: "span")
    )
    var span: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Until when: a time such as 18:00 or \"tomorrow 08:00\".", valueName: "time"))
    var until: String?

    @Option(
        name: .customShort("n"),
        help: ArgumentHelp(
            "How many runs at most (default: as many as the terminal has room for, else 50).",
            valueName: "count"))
    var count: Int?

    @OptionGroup var names: NamePatterns

    func validate() throws {
        if span != nil, until != nil {
            throw ValidationError("--for and --until exclude each other")
        }
        guard (1...1000).contains(count ?? 1) else { throw ValidationError("-n is from 1 to 1000") }
    }

    func run() throws {
        let horizon = try self.horizon()
        let now = Terminal.now
        let end = horizon.end ?? now + horizon.span
        let screen = connection.screen
        let upcoming = try connection.ask(
            .upcoming(
                UpcomingQuery(
                    match: names.match, until: end, limit: count ?? Self.standardCount(on: screen),
                    isGrouped: count == nil && !connection.json)),
            for: UpcomingReply.self)
        try connection.show(upcoming) {
            Text.upcoming(
                upcoming,
                range: horizon.end.map { "until \(Text.moment($0, now: now))" }
                    ?? "within \(TimeSpan.text(horizon.span))",
                at: now, on: screen)
        }
    }

    /// On a terminal the first rows must not scroll away: seven rows are for the command itself,
    /// the heading, the notes below the table, and the next prompt.
    static func standardCount(on screen: Screen) -> Int {
        screen.rows.map { max(5, min(1000, $0 - 7)) } ?? 50
    }

    /// The end that the options give, or else a span of time from now on.
    private func horizon() throws -> (end: WallInstant?, span: Duration) {
        let hundredYears = Duration.microseconds(CommandBody.forUsecMax)
        let end = try until.map { try TimeOption.instant("--until", $0, .future) }
        let span = try span.map {
            try TimeOption.span("--for", $0, in: .microseconds(1)...hundredYears)
        }
        return (end, span ?? .seconds(3600))
    }
}

extension Text {
    /// The lines of `timerctl upcoming`.
    ///
    /// - Parameter range: the requested time, such as `within 1 h`.
    static func upcoming(
        _ upcoming: UpcomingReply, range: String, at now: WallInstant, on screen: Screen = Screen()
    ) -> String {
        var lines: [String] = []
        if upcoming.upcoming.isEmpty {
            lines = ["Nothing is due \(range)"]
        } else {
            let table = TextTable(
                [
                    .init("TIME"), .init("JOB", .ownLine, least: 20),
                    .init("WHAT", .wrap, least: 16),
                ],
                upcoming.upcoming.map { run in
                    [
                        .init(when(run.at, now: now)), .init(run.job),
                        .init(what(run), run.kind == "run" ? .plain : .waiting),
                    ]
                }
            ).fitted(to: screen.columns)
            lines = table.lines(color: screen.hasColor)
            if upcoming.hasMore {
                lines += ["", "There are more \(range); -n shows more of them"]
            }
        }
        if !upcoming.pausedJobs.isEmpty {
            let count = upcoming.pausedJobs.count
            lines += [
                "", "\(plural(count, "job")) \(count == 1 ? "is" : "are") paused without an end",
            ]
        }
        return lines.joined(separator: "\n")
    }
    /// The text of the column WHAT, with the number of further runs.
    private static func what(_ run: UpcomingReply.Run) -> String {
        guard let further = run.furtherCount else { return run.kind }
        return "\(run.kind), and \(run.hasMore == true ? "at least " : "")\(further) more"
    }
}
