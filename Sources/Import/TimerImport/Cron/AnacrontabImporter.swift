// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Makes jobs of an anacrontab(5), and reports what became of each line.
public struct AnacrontabImporter {
    public var result: ImportResult { table.result }
    /// The numbers of the lines that are jobs now, so that they can be switched off in the file.
    public var importedLines: [Int] { table.importedLines }

    private var table: LogicalTable
    private let options: CrontabOptions
    /// When anacron ran a job last, by its identifier; nil: it is not asked.
    private let lastRun: ((String) -> CivilDate?)?
    private let today: CivilDate
    private var reading: CrontabReading
    /// START_HOURS_RANGE and RANDOM_DELAY, which are no variables here.
    private var (hours, randomDelay): (String?, Int) = (nil, 0)

    /// Reads the table.
    ///
    /// - Parameters:
    ///   - lastRun: the day on which anacron ran the job of an identifier; nil: the jobs do not take
    ///     that into account.
    ///   - today: the day of the import.
    /// - Complexity: O(*n*).
    public init(
        _ source: CrontabSource, _ options: CrontabOptions, today: CivilDate,
        lastRun: ((String) -> CivilDate?)? = nil
    ) {
        (table, self.options) = (LogicalTable(source), options)
        (self.lastRun, self.today) = (lastRun, today)
        reading = CrontabReading(source: source, hasUser: false)
        for line in table.lines where !table.skips(line) {
            do throws(CronFault) { try read(line) } catch { table.refuse(line, error.message) }
        }
        guard !result.jobs.isEmpty else { return }
        table.note(
            "anacron counts days of the calendar and runs one job after the other; timerd counts 24 hours for a day, "
                + "and jobs that are due at the same time run at the same time")
    }

    private mutating func read(_ line: LogicalLine) throws(CronFault) {
        if let setting = Self.setting(line.text) {
            return table.finish(line, apply(setting.name, setting.value))
        }
        let words = Self.words(line.text, 4)
        guard words.count == 4 else {
            throw CronFault(
                message: "is neither a setting nor a job: period, delay, identifier and command")
        }
        guard let delay = Int(words[1]), (0...1_000_000).contains(delay) else {
            throw CronFault(message: "the delay \"\(words[1])\" is not a number of minutes")
        }
        guard !words[2].contains("/") else {
            throw CronFault(message: "the identifier has a slash")
        }
        try add(words, delay: delay, line)
    }

    /// `NAME = value`, of which anacron takes all behind the equals sign.
    private static func setting(_ text: String) -> (name: String, value: String)? {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        let name = text[..<equals].split { $0 == " " || $0 == "\t" }
        guard name.count == 1 else { return nil }
        return (String(name[0]), String(text[text.index(after: equals)...]))
    }

    /// The first words; the last one of so many is the rest of the line.
    private static func words(_ text: String, _ count: Int) -> [String] {
        text.split(maxSplits: count - 1, omittingEmptySubsequences: true) {
            $0 == " " || $0 == "\t"
        }.map { String($0.drop { $0 == " " || $0 == "\t" }) }
    }

    private mutating func apply(_ name: String, _ value: String) -> ImportReport.Outcome {
        switch name {
        case "START_HOURS_RANGE":
            hours = value
            return .setting
        case "RANDOM_DELAY":
            guard let minutes = Int(value), (0...1440).contains(minutes) else {
                return .noted("\"\(value)\" is not a number of minutes; it is left out")
            }
            randomDelay = minutes
            return .setting
        default:
            guard let setting = CrontabSetting("\(name)=\"\(value)\"", .cronie) else {
                return .noted("the variable is left out: its value cannot be read")
            }
            return reading.apply(setting, options)
        }
    }

    // MARK: - Jobs

    private mutating func add(
        _ words: [String], delay: Int, _ line: LogicalLine
    ) throws(CronFault) {
        try reading.spend(line.text)
        var job = table.job(line, named: words[2])
        // Anacron uses /bin/sh whatever SHELL is.
        job.set("shell", .string(words[3]))
        guard setSchedule(words[0], delay: delay, id: words[2], of: &job) else {
            throw CronFault(
                message:
                    "the period \"\(words[0])\" is not a number of days, @daily, @weekly, @monthly or @yearly"
            )
        }
        if randomDelay > 0 { job.set("random-delay", .string("\(randomDelay)min")) }
        reading.setUserAndEnvironment(owner: table.source.owner, of: &job, options)
        job.set("working-directory", .string("/"))
        table.add(job, line, mailing: reading.notifier(for: nil))
    }

    /// Returns false if the period is not known.
    private mutating func setSchedule(
        _ period: String, delay: Int, id: String, of job: inout ImportedJob
    ) -> Bool {
        let firstHour = hours.flatMap { $0.split(separator: "-").first }.flatMap { Int($0) }
        if let rest = ["@monthly": "1 *", "@yearly": "1 1", "@annually": "1 1"][period] {
            let hour = firstHour.flatMap { (0...23).contains($0) ? $0 : nil } ?? 0
            job.set("cron", .string("\(min(59, delay)) \(hour) \(rest) *"))
            job.set("on-missed", .string("run-once"))
            if delay > 59 { job.note("the delay of \(delay) min is cut to 59 min") }
            setWindow(of: &job)
            return true
        }
        let days = ["@daily": 1, "@weekly": 7][period] ?? Int(period)
        guard let days, (1...10_000).contains(days) else { return false }
        job.set("every", .string("\(days)d"))
        job.set("first", .string(first(days: days, delay: delay, id: id, of: &job)))
        job.set("count", .string("wall"))
        setWindow(of: &job)
        return true
    }

    /// The hours in which anacron starts jobs, of which the last one is not part.
    private func setWindow(of job: inout ImportedJob) {
        guard let hours else { return }
        let ends = hours.split(separator: "-", omittingEmptySubsequences: false).map {
            Int($0.filter { $0 != " " && $0 != "\t" })
        }
        guard ends.count == 2, let from = ends[0], let to = ends[1], (0..<to).contains(from),
            to <= 24
        else {
            return job.note(
                "START_HOURS_RANGE=\(hours) is not a range of hours: a run can start at any hour")
        }
        if from == 0, to == 24 { return }
        job.set("window", .string("\(from):00-\(to):00"))
    }

    /// The time before the first run: the delay, after the days until anacron would run it.
    private func first(days: Int, delay: Int, id: String, of job: inout ImportedJob) -> String {
        var left = 0
        if let lastRun {
            if let last = lastRun(id) {
                left = max(0, last.daysSinceEpoch + days - today.daysSinceEpoch)
            } else {
                job.note(
                    "anacron has no last run of \(id); the job runs \(delay) min after it is added")
            }
        } else {
            job.note(
                "the job runs \(delay) min after it is added, even if anacron has run it today; --seed uses "
                    + "anacron's last run")
        }
        let parts = (left > 0 ? ["\(left)d"] : []) + (delay > 0 ? ["\(delay)min"] : [])
        return parts.isEmpty ? "0s" : parts.joined(separator: " ")
    }
}
