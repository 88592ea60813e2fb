// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore
import TimerZones

struct LogVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "The output of a job's active run, or the end of the output of its last one.",
        discussion: """
            Each line has its time and a mark: | for standard output, ! for standard error, : where neither was kept, \
            > for a line that the run has not ended, such as a prompt. \
            Of a finished run the daemon keeps as much as output-tail says, and more of it for a while; of an active \
            run, recent output since the daemon started. The journal has all of it that was not dropped: journalctl \
            -t JOB.
            """)
    static let reading = Reading.all

    /// How long to wait before the next request, in microseconds.
    private static let pause: UInt32 = 500_000
    /// How many runs the lines of -n may come from.
    private static let runsMax = 100

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The job's name, or a run as `timerctl history` names it.", valueName: "job|run"),
        completion: .runsAndJobs,
        transform: RunTarget.read)
    var target: RunTarget?

    @Option(
        name: .customLong("run"),
        help: ArgumentHelp(
            "This run; the job need not be named.", valueName: "run"),
        completion: .runs, transform: RunTarget.run)
    var wanted: Run.ID?

    @Option(
        name: [.customShort("n"), .customLong("lines")],
        help: ArgumentHelp(
            "The last lines only; they may be those of up to 100 runs. With --follow also 0.",
            valueName: "count"))
    var lines: Int?

    @OptionGroup var times: PeriodOptions

    @Flag(
        name: .shortAndLong,
        help:
            "Follow the output, over the ends of runs and restarts of the daemon, until interrupted; that of one run until it ends."
    )
    var follow = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "What to print: text, what the job wrote and nothing else (cat), or a line of JSON for each line.",
            valueName: "format"))
    var output = LogPrinter.Format.text

    func validate() throws {
        if wanted != nil, target?.run != nil { throw ValidationError("name one run") }
        guard wanted != nil || target != nil else {
            throw ValidationError("name a job or a run")
        }
        if let lines, lines < (follow ? 0 : 1) {
            throw ValidationError("-n: at least 1, or 0 with --follow")
        }
        if !times.isEmpty, meant != nil {
            throw ValidationError("--since and --until are for a job, not for a run")
        }
        if times.until != nil, follow {
            throw ValidationError("--until is for runs that ended, and --follow for those to come")
        }
    }

    /// The run, if the argument or an option names one.
    private var meant: Run.ID? { wanted ?? target?.run }

    func run() throws {
        guard let job = target?.job ?? wanted?.firing.job else { return }
        if let wanted, wanted.firing.job != job { try expect(wanted, of: job) }
        let period = try times.period()
        var reader = LogReader(connection: connection, job: job, run: meant)
        let printer = LogPrinter(
            format: connection.json ? .json : output, job: job, screen: connection.screen)
        let items = try reader.first(
            runs: lines.map { min(max(1, $0), Self.runsMax) }, in: period)
        if let text = period.text { printer.print([.note("runs that ended \(text)")]) }
        if items.isEmpty, !follow || lines != 0 {
            let status = try connection.ask(.show(job), for: JobStatus.self)
            printer.print([.note(Text.noRuns(of: status, in: period))])
        }
        printer.print(lines.map { items.last($0) } ?? items)
        printer.print(reader.waiting(isFollowing: follow))
        while follow, !reader.isDone, !Terminal.isOutputLost {
            usleep(Self.pause)
            printer.print(try reader.more() + reader.waiting(isFollowing: true))
        }
    }

    /// A run keeps the name that its job had, so only the daemon knows whose it is.
    private func expect(_ run: Run.ID, of job: Job.Name) throws {
        let reply = try connection.ask(.run(run), for: RunReply.self)
        guard reply.runStatus.job != job.description else { return }
        throw Connection.fail(
            2, "\(run) is a run of job \"\(reply.runStatus.job)\", not of \"\(job)\"")
    }
}

/// Requests the data that `timerctl log` shows, in one or more answers.
struct LogReader {
    /// How many ended runs one request asks for.
    private static let pastMax = 100

    let connection: Connection
    let job: Job.Name
    let run: Run.ID?

    private var story = LogStory()
    private var last: UInt64 = 0
    private var since: String?
    private var lastEnded: String?
    private var isAway = false
    private var unfinished = UnfinishedLines()
    private let begun = Terminal.now

    init(connection: Connection, job: Job.Name, run: Run.ID?) {
        self.connection = connection
        self.job = job
        self.run = run
    }

    /// Whether nothing more can come, because the requested run has ended.
    var isDone: Bool { run.map { story.isClosed($0.description) } ?? false }

    /// The items at the beginning.
    ///
    /// - Parameters:
    ///   - runs: how many ended runs to show; nil: one, if none is active.
    ///   - period: if it is not all time, the runs that ended in it are shown, however many; active
    ///     runs are not shown if it has an end.
    mutating func first(runs: Int?, in period: Period = Period()) throws -> [LogItem] {
        var reply = try connection.ask(
            .log(job, LogQuery(run: run, after: run == nil ? 0 : nil)), for: LogReply.self)
        var past = [reply.past].compactMap(\.self)
        if run == nil {
            let isActive = reply.active.contains { $0.waits == nil }
            let limit = !period.isAll ? HistoryQuery.limitMax : runs ?? (isActive ? 0 : 1)
            if period.until != nil { reply.active = [] }
            if limit > 0 {
                let query = HistoryQuery(
                    job: job, since: period.since, until: period.until, limit: limit)
                past = try connection.ask(.history(query), for: HistoryReply.self).runs.reversed()
            }
        }
        // The daemon also keeps lines of other runs for a while.
        let shown = Set(past.map(\.id) + reply.active.map(\.id))
        story.pass(over: reply.only { !shown.contains($0) })
        reply = reply.only { shown.contains($0) }
        note(reply)
        lastEnded = reply.lastEnded
        return story.items(past, only(reply))
    }

    /// The new items. Empty while the daemon does not answer.
    mutating func more() throws -> [LogItem] {
        do throws(Connection.Failure) {
            let items = try next()
            isAway = false
            return items
        } catch {
            guard !error.isUnknown, error != Connection.unexpected else { throw error.exit }
            defer { isAway = true }
            return isAway ? [] : [.note("timerd does not answer; waiting for it: \(error.message)")]
        }
    }

    private mutating func next() throws(Connection.Failure) -> [LogItem] {
        var items: [LogItem] = []
        var reply = try connection.value(
            LogReply.self, of: .log(job, LogQuery(run: run, after: last)))
        if reply.since != since {
            story.restart()
            reply = try connection.value(LogReply.self, of: .log(job, LogQuery(run: run, after: 0)))
            items.append(
                .note(
                    "timerd was restarted; the journal has the lines between: journalctl -t \(job)")
            )
        }
        let active = Set(reply.active.map(\.id))
        let isEnded =
            reply.lastEnded != lastEnded || !story.open.isSubset(of: active)
            || run.map { !active.contains($0.description) } == true
        let past = isEnded ? try ended() : []
        note(reply)
        items += story.items(past, only(reply))
        if let ended = reply.lastEnded, story.isClosed(ended) { lastEnded = ended }
        return items
    }

    /// The runs that ended since the start of this command, the oldest first.
    private func ended() throws(Connection.Failure) -> [RunStatus] {
        guard let run else {
            let query = HistoryQuery(job: job, since: begun, limit: Self.pastMax)
            return try connection.value(HistoryReply.self, of: .history(query)).runs.reversed()
        }
        let reply = try connection.value(RunReply.self, of: .run(run))
        guard reply.state == "ended" else { return [] }
        var ended = reply.runStatus
        ended.ended = ended.ended ?? reply.now
        return [ended]
    }

    private mutating func note(_ reply: LogReply) {
        (last, since) = (reply.cursor, reply.since)
        unfinished.note(only(reply).unfinished ?? [])
    }

    /// The lines that the runs have not ended, as far as they are to be shown now.
    mutating func waiting(isFollowing: Bool) -> [LogItem] {
        unfinished.next(isFollowing: isFollowing).map { .unfinished($0) }
    }

    /// Keeps only the lines of the requested run, if there is one.
    private func only(_ reply: LogReply) -> LogReply {
        guard let run else { return reply }
        var reply = reply
        reply.active.removeAll { $0.id != run.description }
        reply.unfinished?.removeAll { $0.run != run.description }
        return reply
    }
}
