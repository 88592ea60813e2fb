// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import TimerControl
public import TimerCore
import TimerZones

struct NextVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "next", abstract: "When a job, or a schedule, runs next.",
        discussion: """
            With --calendar, --cron or --every no daemon is needed: try a schedule before you write it into
            the configuration.
            """)
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The job's name.", valueName: "job"), completion: .jobNames)
    var job: String?

    @Option(
        help: ArgumentHelp(
            "A calendar event as in systemd.time(7), such as \"Mon..Fri 08:30\".",
            valueName: "event"))
    var calendar: String?

    @Option(
        help: ArgumentHelp(
            "A crontab line without its command, such as \"*/5 * * * *\".", valueName: "line"))
    var cron: String?

    @Option(
        help: ArgumentHelp(
            "A time span, such as \"6h\".", valueName: "span"))
    var every: String?

    @Option(
        help: ArgumentHelp(
            "The time zone to read times in and to show them in, such as Europe/Berlin (default: the machine's).",
            valueName: "zone"))
    var timezone: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The instant to begin after: a time such as tomorrow or \"2026-12-24 18:00\" (default: now).",
            valueName: "time"))
    var from: String?

    @Option(
        name: .customLong("dst-gap"),
        help: ArgumentHelp(
            "What happens at times that a clock change skips.", valueName: "rule"))
    var gap: DSTRule.Gap?

    @Option(
        name: .customLong("dst-overlap"),
        help: ArgumentHelp(
            "What happens at times that a clock change repeats.", valueName: "rule")
    )
    var overlap: DSTRule.Overlap?

    @Option(
        name: .customShort("n"),
        help: ArgumentHelp(
            "How many times to show, from 1 to 1000.", valueName: "count"))
    var count = 5

    func validate() throws {
        guard (1...1000).contains(count) else { throw ValidationError("-n is from 1 to 1000") }
        let given = [job, calendar, cron, every].compactMap { $0 }
        guard given.count == 1 else {
            throw ValidationError(
                given.isEmpty
                    ? "one of JOB, --calendar, --cron and --every is needed"
                    : "JOB, --calendar, --cron and --every exclude each other; keep one")
        }
    }

    func run() throws {
        let preview = try preview()
        let from = try from.map { _ in try times().shortText(of: instant()) }
        try connection.show(preview) {
            // The times of a job are those of its own clock, as its schedule is written.
            let own = job == nil ? nil : preview.timezone.flatMap { try? rules(named: $0) }
            return Text.preview(preview, zone: own ?? (try? zone()) ?? .utc, from: from)
        }
    }

    private func preview() throws -> SchedulePreview {
        let start = try instant()
        if let job { return try preview(of: job) }
        if let every { return try preview(every: every, from: start) }
        if let cron {
            let spec = try read("--cron", cron) { (text) throws(ScheduleError) in try CronSpec(text)
            }
            return SchedulePreview(
                spec.description, zone: try zone(), gap: gap, overlap: overlap,
                source: { .cron(spec, $0) }, after: start, count: count)
        }
        let spec = try read("--calendar", calendar ?? "") { (text) throws(ScheduleError) in
            try CalendarSpec(text)
        }
        let zone = try spec.zoneName.map { try rules(named: $0) } ?? zone()
        return SchedulePreview(
            spec.description, zone: zone, gap: gap, overlap: overlap,
            source: { .calendar(spec, $0) }, after: start, count: count)
    }

    private func preview(every text: String, from start: WallInstant) throws -> SchedulePreview {
        let span = try TimeOption.span(
            "--every", text,
            in: .milliseconds(1)...Duration.microseconds(CommandBody.forUsecMax))
        return SchedulePreview(every: span, zone: try zone(), after: start, count: count)
    }

    /// The schedule comes from the daemon, and the instants are computed here.
    private func preview(of job: String) throws -> SchedulePreview {
        guard let name = Job.Name(job) else {
            throw Connection.fail(2, "\"\(job)\": \(Job.Name.fault(in: job) ?? "not a job name")")
        }
        return try preview(of: try connection.ask(.show(name), for: JobStatus.self))
    }

    /// The preview for a job from its status.
    func preview(of status: JobStatus) throws -> SchedulePreview {
        if from == nil, status.paused != nil {
            guard let next = status.next.flatMap({ WallInstant(rfc3339: $0) }) else {
                return SchedulePreview(paused: status)
            }
            return try preview(of: status, from: next, first: next)
        }
        var found = try preview(of: status, from: try instant(), first: nil)
        // The next run of an interval is the first that is not skipped.
        if from == nil, (status.calendar ?? status.cron) != nil { found.skips = status.skips }
        return found
    }

    /// - Parameter first: the next firing, if it is known; it may differ from the schedule, for
    ///   example because of a jitter.
    private func preview(
        of status: JobStatus, from start: WallInstant, first: WallInstant?
    ) throws -> SchedulePreview {
        if status.from != nil {
            var preview = SchedulePreview(
                normalized: nil, timezone: nil, everyUsec: status.everyUsec,
                instants: [status.next].compactMap(\.self))
            preview.from = status.from
            return preview
        }
        if status.hasLimits { return try previewOfRuns(of: status, after: start) }
        if let span = status.everyUsec, status.next != nil || from != nil {
            let first = status.next.flatMap { WallInstant(rfc3339: $0) } ?? start
            return SchedulePreview(
                every: .microseconds(span), zone: try zone(), after: first - .microseconds(span),
                count: count)
        }
        if status.onDemand == true {
            return SchedulePreview(
                normalized: nil, timezone: nil, instants: [status.next].compactMap(\.self))
        }
        if status.onBootUsec != nil {
            var preview = SchedulePreview(
                normalized: nil, timezone: nil, instants: [status.next].compactMap(\.self))
            preview.afterBootUsec = status.afterBootUsec
            return preview
        }
        let schedule = try status.wallSchedule(rules(under:))
        guard !schedule.sources.isEmpty else {
            return SchedulePreview(
                normalized: nil, timezone: nil, instants: [status.next].compactMap { $0 })
        }
        let texts = (status.calendar ?? []) + (status.cron ?? [])
        var preview = SchedulePreview(
            schedule, text: texts.isEmpty ? nil : texts.joined(separator: "; "),
            timezone: status.timezone, after: start, count: count)
        preview.afterBootUsec = status.afterBootUsec
        if let first {
            preview.instants = Array(([first.rfc3339Micros] + preview.instants).prefix(count))
        }
        return preview
    }

    /// The preview for a job whose dates and times only the daemon knows.
    ///
    /// - Parameter start: what --from says, if it is there.
    private func previewOfRuns(
        of status: JobStatus, after start: WallInstant
    ) throws -> SchedulePreview {
        guard from == nil || start >= Terminal.now, let name = Job.Name(status.job) else {
            throw Connection.fail(
                2,
                "--from: \(status.job) runs at some times alone, and the daemon shows its runs from now on alone; "
                    + "name a later time")
        }
        let limit = from == nil ? count : UpcomingQuery.limitMax
        let query = UpcomingQuery(job: name, until: Self.lastInstant, limit: limit)
        let reply = try connection.ask(.upcoming(query), for: UpcomingReply.self)
        var instants = reply.upcoming.filter { $0.kind != "retry" }.map(\.at)
        if from != nil {
            let last = instants.last
            instants = Array(
                instants.filter { WallInstant(rfc3339: $0).map { $0 > start } ?? false }
                    .prefix(count))
            if instants.isEmpty, reply.upcoming.count == limit, let last {
                throw Connection.fail(
                    2,
                    "--from: the daemon shows the next \(limit) runs of \(status.job), the last at \(last); "
                        + "name an earlier time")
            }
        }
        let texts = (status.calendar ?? []) + (status.cron ?? [])
        return SchedulePreview(
            normalized: texts.isEmpty ? nil : texts.joined(separator: "; "),
            timezone: status.timezone, everyUsec: status.everyUsec, instants: instants)
    }

    /// The end of the last year in which a schedule has occurrences.
    private static let lastInstant = WallInstant(secondsSinceEpoch: 7_258_118_399)

    private func read<Spec>(
        _ option: String, _ text: String, _ parse: (String) throws(ScheduleError) -> Spec
    ) throws -> Spec {
        do throws(ScheduleError) {
            return try parse(text)
        } catch {
            let indent = String(repeating: " ", count: error.offset)
            throw Connection.fail(2, "\(option): \(error)\n  \(text)\n  \(indent)^")
        }
    }

    private func zone() throws -> ZoneRules {
        guard let timezone else { return (try? ZoneFiles().local()) ?? .utc }
        return try rules(named: timezone)
    }

    private func rules(named name: String) throws -> ZoneRules {
        try read { (files) throws(ZoneFiles.Failure) in try files.rules(named: name) }
    }

    /// The rules of a zone with this name in the daemon.
    private func rules(under name: String) throws -> ZoneRules {
        try read { (files) throws(ZoneFiles.Failure) in try files.rules(under: name) }
    }

    private func read(
        _ zone: (ZoneFiles) throws(ZoneFiles.Failure) -> ZoneRules
    ) throws -> ZoneRules {
        do throws(ZoneFiles.Failure) { return try zone(ZoneFiles()) } catch {
            throw Connection.fail(2, "timezone: \(error)")
        }
    }

    private func instant() throws -> WallInstant {
        guard let from else { return Terminal.now }
        return try TimeOption.instant("--from", from, .any, by: times())
    }

    /// Parses and prints times in the zone of --timezone.
    private func times() throws -> TimeParser {
        let caller = TimeParser(now: Terminal.now)
        return timezone == nil ? caller : caller.inZone(try zone())
    }
}

extension DSTRule.Gap: ExpressibleByArgument {}
extension DSTRule.Overlap: ExpressibleByArgument {}

/// The output of `timerctl next --json`.
struct SchedulePreview: Codable {
    /// The schedule's normal form; absent for an interval.
    var normalized: String?
    /// The time zone of the schedule; absent if it needs none.
    var timezone: String?
    /// The interval; absent if the schedule is another one.
    var everyUsec: Int64?
    /// `end` if the interval is counted from the end of each run.
    var from: String?
    /// The delay after each boot of the machine, if the schedule is one.
    var afterBootUsec: Int64?
    /// The instants, in UTC; none if it never fires.
    var instants: [String]
    /// How many of the instants are skipped, because a user requested it; absent if none are.
    var skips: Int?
    /// For a job that is paused without an end: the time left to its next firing, in words.
    var pause: String?

    init(normalized: String?, timezone: String?, everyUsec: Int64? = nil, instants: [String]) {
        self.normalized = normalized
        self.timezone = timezone
        self.everyUsec = everyUsec
        self.instants = instants
    }

    /// For a job that is paused without an end.
    init(paused status: JobStatus) {
        self.init(normalized: nil, timezone: nil, instants: [])
        let left = status.remainingUsec.map {
            "\(TimeSpan.text(.microseconds($0))) left after it is resumed"
        }
        let rest =
            left
            ?? status.everyUsec.map {
                "\(TimeSpan.text(.microseconds($0))) after the end of its run and of the pause"
            }
            ?? (status.onBootUsec != nil
                ? "no run is left in this boot of the machine" : nil)
            ?? (status.policy?.onResume == "fire-if-due"
                ? "runs when it is resumed, if a run became due during the pause"
                : "waits for its next scheduled time after it is resumed")
        afterBootUsec = status.afterBootUsec
        pause = "paused; \(rest)"
    }

    init(
        _ normalized: String, zone: ZoneRules, gap: DSTRule.Gap?, overlap: DSTRule.Overlap?,
        source: (ZoneRules) -> WallSchedule.Source, after start: WallInstant, count: Int
    ) {
        let schedule = WallSchedule([source(zone)], gap: gap, overlap: overlap)
        self.init(schedule, text: normalized, timezone: zone.name, after: start, count: count)
    }

    init(
        _ schedule: WallSchedule, text: String?, timezone: String?, after start: WallInstant,
        count: Int
    ) {
        var instants: [String] = []
        var at = start
        while instants.count < count, let slot = schedule.next(after: at) {
            instants.append(slot.rfc3339Micros)
            at = slot
        }
        self.init(normalized: text, timezone: timezone, instants: instants)
    }

    init(every span: Duration, zone: ZoneRules, after start: WallInstant, count: Int) {
        self.init(
            normalized: TimeSpan.compactText(span), timezone: zone.name,
            everyUsec: span.wholeMicroseconds,
            instants: (1...count).map { (start + span * $0).rfc3339Micros })
    }
}

extension JobStatus {
    /// Its schedule by the wall clock, which has no sources if it has another one.
    ///
    /// - Parameter rules: those of a zone by its name in the daemon.
    func wallSchedule(_ rules: (String) throws -> ZoneRules) throws -> WallSchedule {
        let sources =
            try (calendar ?? []).map { text -> WallSchedule.Source in
                let spec = try CalendarSpec(text)
                return .calendar(spec, try rules(spec.zoneName ?? timezone ?? "UTC"))
            }
            + (cron ?? []).map { text in
                .cron(try CronSpec(text), try rules(timezone ?? "UTC"))
            }
        let at = (at.flatMap { WallInstant(rfc3339: $0) }).map { [WallSchedule.Source.at($0)] }
        return WallSchedule(
            sources + (at ?? []), gap: dstGap.flatMap { DSTRule.Gap(rawValue: $0) },
            overlap: dstOverlap.flatMap { DSTRule.Overlap(rawValue: $0) })
    }

    /// Whether its schedule alone does not say when it runs.
    fileprivate var hasLimits: Bool {
        (calendar ?? cron) != nil && (except ?? onlyOn) != nil || everyNth != nil
            || window != nil && onDemand == nil && onBootUsec == nil && afterUsec == nil
            || (notBefore ?? notAfter) != nil
    }
}
