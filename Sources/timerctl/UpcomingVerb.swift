// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct UpcomingVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upcoming", abstract: "What runs next, over all jobs.",
        discussion: """
            Pauses with an end, runs that skip-next skips, and retries are taken into account. A run may still be \
            skipped or delayed because of what happens until then, such as a previous run that is still active. \
            Without -n, a job that runs more than three times is listed once, with the number of its further runs.
            """)

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
        help: "How many runs at most (default: as many as the terminal has room for, else 50).")
    var count: Int?

    @OptionGroup var names: NamePatterns

    @Option(help: "When to use colors.")
    var color = Screen.ColorChoice.auto

    func validate() throws {
        if span != nil, until != nil {
            throw ValidationError("--for and --until exclude each other")
        }
        guard (1...1000).contains(count ?? 1) else { throw ValidationError("-n is from 1 to 1000") }
    }

    func run() throws {
        let horizon = try self.horizon()
        let status = try connection.ask(.list, for: DaemonStatus.self)
        let jobs = status.jobs.filter { names.admit($0.job) }
        let now = Terminal.now
        let end = horizon.end ?? now + horizon.span
        let screen = Screen.standardOutput(color: color)
        let upcoming = try Upcoming(
            jobs, from: now, to: end, most: count ?? Self.standardCount(on: screen),
            isBrief: count == nil && !connection.json)
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
        let hundredYears = Duration.microseconds(OrderBody.forUsecMax)
        let end = try until.map { try TimeOption.instant("--until", $0, .future) }
        let span = try span.map {
            try TimeOption.span("--for", $0, in: .microseconds(1)...hundredYears)
        }
        return (end, span ?? .seconds(3600))
    }
}

/// The next runs of several jobs, in the order of time.
struct Upcoming: Codable {
    struct Run: Codable, Hashable {
        /// When it is due, RFC 3339.
        var at: String
        var job: String
        /// `run`, `retry`, or `skipped` by skip-next.
        var kind: String
        /// How many further runs of the job are not listed one by one, and whether there may be
        /// more.
        fileprivate(set) var further = 0
        fileprivate(set) var isAtLeast = false

        enum CodingKeys: CodingKey { case at, job, kind }

        /// The text of the column WHAT.
        fileprivate var what: String {
            guard further > 0 else { return kind }
            return "\(kind), and \(isAtLeast ? "at least " : "")\(further) more"
        }
    }

    var upcoming: [Run]
    /// Whether there are more runs within the requested time.
    var hasMore: Bool
    /// The jobs that are paused without an end.
    var pausedJobs: [String]

    /// - Parameters:
    ///   - jobs: their status, from the daemon.
    ///   - most: the most runs.
    ///   - isBrief: whether a job that runs often is listed once, with the number of its further
    ///     runs, so that it does not hide other jobs.
    /// - Throws: if a schedule cannot be computed here, for example without the file of its time
    ///   zone.
    /// - Complexity: O(jobs × `most`).
    init(
        _ jobs: [JobStatus], from now: WallInstant, to end: WallInstant, most: Int,
        isBrief: Bool = false
    ) throws {
        var found: [Run] = []
        // Parsed once, because parsing options takes longer than computing a schedule.
        let verb = try NextVerb.parse(["job"])
        for job in jobs {
            let each = isBrief ? Self.countedMax : most
            let runs = try Self.runs(of: job, to: end, most: each, verb)
            found += isBrief ? Self.brief(runs) : runs
        }
        // The API writes all instants with the same number of digits.
        found.sort { ($0.at, $0.job) < ($1.at, $1.job) }
        upcoming = Array(found.prefix(most))
        hasMore = found.count > most
        pausedJobs = jobs.filter { $0.state == "paused" && $0.paused?.until == nil }.map(\.job)
    }

    /// A job with more runs than this is listed once.
    private static let oftenMax = 3
    /// How many of its runs are counted at most.
    private static let countedMax = 200

    private static func brief(_ runs: [Run]) -> [Run] {
        let regular = runs.filter { $0.kind == "run" }
        guard regular.count > oftenMax, var first = regular.first else { return runs }
        first.further = min(regular.count, countedMax) - 1
        first.isAtLeast = runs.count > countedMax
        return runs.filter { $0.kind != "run" } + [first]
    }

    /// One more than requested, to find out whether there are more.
    private static func runs(
        of job: JobStatus, to end: WallInstant, most: Int, _ verb: NextVerb
    ) throws -> [Run] {
        var found: [Run] = []
        func add(_ text: String, _ kind: String) -> Bool {
            guard let instant = WallInstant(rfc3339: text), instant <= end else { return false }
            found.append(Run(at: text, job: job.job, kind: kind))
            return found.count <= most
        }
        if let attempt = job.nextAttempt { _ = add(attempt, "retry") }
        guard let next = job.next, let first = WallInstant(rfc3339: next), first <= end else {
            return found
        }
        let later = try times(of: job, to: end, most: most, verb).filter { text in
            WallInstant(rfc3339: text).map { $0 > first } ?? false
        }
        for (index, text) in ([next] + later).enumerated() {
            guard add(text, index < job.skips ?? 0 ? "skipped" : "run") else { break }
        }
        return found
    }
}

extension Upcoming {
    /// The times of a job until then, and perhaps some later ones. Most jobs run seldom, so only a
    /// few times are computed first.
    private static func times(
        of job: JobStatus, to end: WallInstant, most: Int, _ verb: NextVerb
    ) throws -> [String] {
        var verb = verb
        let all = min(1000, most + 1)
        verb.count = min(all, 4)
        let some = try verb.preview(of: job).instants
        let last = some.last.flatMap { WallInstant(rfc3339: $0) }
        guard some.count == verb.count, verb.count < all, let last, last <= end else { return some }
        verb.count = all
        return try verb.preview(of: job).instants
    }
}

extension Text {
    /// The lines of `timerctl upcoming`.
    ///
    /// - Parameter range: the requested time, such as `within 1h`.
    static func upcoming(
        _ upcoming: Upcoming, range: String, at now: WallInstant, on screen: Screen = Screen()
    ) -> String {
        var lines: [String] = []
        if upcoming.upcoming.isEmpty {
            lines = ["Nothing is due \(range)"]
        } else {
            var table = TextTable(
                ["TIME", "IN", "JOB", "WHAT"],
                upcoming.upcoming.map { run in
                    let left = WallInstant(rfc3339: run.at).map { $0 - now } ?? .zero
                    return [
                        .init(instant(run.at)), .init(whole(left)), .init(run.job),
                        .init(run.what, run.kind == "run" ? .plain : .waiting),
                    ]
                })
            if let columns = screen.columns { table = table.fitted(to: columns, shortening: [2]) }
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
}
