// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Makes jobs of an fcrontab(5), and reports what became of each line.
public struct FcrontabImporter {
    public var result: ImportResult { table.result }
    /// The times of the jobs that run at times of the clock.
    public private(set) var times: [ImportedTimes] = []
    /// The numbers of the lines that are jobs now, so that they can be switched off in the file.
    public var importedLines: [Int] { table.importedLines }

    /// The slot of the jobs that wait for each other.
    private static let serialSlot = "serial"

    private var table: LogicalTable
    private let options: CrontabOptions
    private var reading: CrontabReading
    private var shared = FcronOptions()

    /// - Complexity: O(*n*).
    public init(_ source: CrontabSource, _ options: CrontabOptions) {
        (table, self.options) = (LogicalTable(source), options)
        reading = CrontabReading(source: source, hasUser: false)
        for line in table.lines where !table.skips(line) {
            do throws(CronFault) { try read(line) } catch { table.refuse(line, error.message) }
        }
    }

    private mutating func read(_ line: LogicalLine) throws(CronFault) {
        let text = String(line.text.drop { $0 == " " || $0 == "\t" })
        if text.hasPrefix("!") {
            try shared.add(text.dropFirst().filter { $0 != " " && $0 != "\t" })
            return table.finish(line, .setting)
        }
        if "@&%".contains(text.first ?? " ") || !Self.isSetting(text) {
            return try add(text, line)
        }
        guard let setting = CrontabSetting(text, .cronie) else {
            throw CronFault(message: "is neither a setting nor a job")
        }
        table.finish(line, reading.apply(setting, options))
    }

    private static func isSetting(_ text: String) -> Bool {
        guard let first = text.utf8.first else { return false }
        return !(48...57).contains(first) && first != UInt8(ascii: "*")
    }

    // MARK: - Jobs

    private mutating func add(_ text: String, _ line: LogicalLine) throws(CronFault) {
        var words = text.split { $0 == " " || $0 == "\t" }.map(String.init)
        var own = shared
        var schedule = Schedule(kind: .fields, keyword: nil)
        var marks = 0
        if let first = words.first, let kind = Schedule.Kind(rawValue: String(first.prefix(1))) {
            schedule = try Schedule(kind, String(first.dropFirst()), &own)
            words.removeFirst()
            marks = 1
        }
        let count = schedule.fieldCount
        guard words.count > count else {
            throw CronFault(message: "a field of the time, or the command, is missing")
        }
        let command = CronCommand(Self.rest(text, after: count + marks), .systemdCron)
        try reading.spend(line.text)
        var job = table.job(line, named: command.programName)
        reading.setCommand(command, of: &job)
        try schedule.set(Array(words.prefix(count)), own, of: &job)
        setOptions(own, of: &job)
        own.losses.forEach { job.note($0) }
        table.add(job, line, mailing: mail(own))
        if let text = job.value(of: "cron"), case .string(let fields) = text,
            let found = try? CronTimes(fields: fields)
        {
            times.append(
                ImportedTimes(
                    job: job.name, place: job.place, times: found, zone: own.text("timezone")))
        }
    }

    /// The text behind this many words, without blanks before it.
    private static func rest(_ text: String, after count: Int) -> String {
        let parts = text.split(maxSplits: count, omittingEmptySubsequences: true) {
            $0 == " " || $0 == "\t"
        }
        return parts.count > count ? String(parts[count].drop { $0 == " " || $0 == "\t" }) : ""
    }

    private mutating func setOptions(_ own: FcronOptions, of job: inout ImportedJob) {
        let user = own.text("runas")
        if let user {
            job.set("user", .string(user))
            if !options.isAccount(user) { job.note("there is no user \(user) on this machine") }
        }
        reading.setUserAndEnvironment(owner: user ?? table.source.owner, of: &job, options)
        if let nice = own.text("nice").flatMap({ Int64($0) }), (-20...19).contains(nice) {
            job.set("nice", .integer(nice))
        }
        if let zone = own.text("timezone"), job.value(of: "every") == nil {
            if options.isZone(zone) {
                job.set("timezone", .string(zone))
            } else {
                job.note(
                    "\"\(zone)\" is not a time zone of this machine; the machine's own is used")
            }
        }
        if let seconds = own.text("jitter").flatMap({ Int($0) }), (1...255).contains(seconds) {
            job.set("random-delay", .string("\(seconds)s"))
        }
        if !options.isModern {
            job.set("concurrency", .string(own.isOn("exesev") ? "allow" : "forbid"))
            job.set("kill-leftovers", .boolean(false))
        }
        if own.isOn("nolog") { job.set("log", .string("failures")) }
        if own.isOn("serial") {
            // fcron runs one job of this kind at a time, of all users.
            table.add(slot: Self.serialSlot)
            job.set("slots", .strings([Self.serialSlot]))
        }
        if let condition = own.condition { job.set("condition", condition) }
    }

    /// The keys of the notifier that mails as the options say; nil: there are no mails.
    private func mail(_ own: FcronOptions) -> [TomlEntry]? {
        guard own.isOn("mail", default: true) else { return nil }
        let kinds = own.isOn("erroronlymail") ? ["failure"] : ["output"]
        return own.text("mailto").map { reading.notifier(to: $0, on: kinds) }
            ?? reading.notifier(for: nil, on: kinds)
    }

    // MARK: - Schedules

    /// The schedule at the beginning of a line, before it is a key of a job.
    private struct Schedule {
        enum Kind: String {
            case elapsed = "@"
            case fields = "&"
            case periodic = "%"
        }

        var kind: Kind
        /// The word after `%` of a periodic line, such as `daily`; nil for any other line.
        var keyword: String?

        /// How many fields follow each keyword.
        private static let keywords = [
            "hourly": 1, "midhourly": 1, "daily": 2, "middaily": 2, "nightly": 2, "weekly": 2,
            "midweekly": 2, "monthly": 3, "midmonthly": 3, "mins": 5, "hours": 5, "days": 5,
            "mons": 5,
            "dow": 5,
        ]

        init(kind: Kind, keyword: String?) { (self.kind, self.keyword) = (kind, keyword) }

        /// - Parameter text: what is directly behind the character of the kind.
        init(_ kind: Kind, _ text: String, _ options: inout FcronOptions) throws(CronFault) {
            self.kind = kind
            var text = text
            if kind == .periodic {
                let word = text.prefix { $0 != "," }
                guard Self.keywords[String(word)] != nil else {
                    throw CronFault(message: "fcron does not know the keyword \"%\(word)\"")
                }
                keyword = String(word)
                text = String(text.dropFirst(word.count + 1))
            } else if text.utf8.first.map({ (48...57).contains($0) }) == true {
                // A number in place of the options means `first` or `runfreq`.
                text = (kind == .elapsed ? "first(" : "runfreq(") + text + ")"
            }
            try options.add(text)
        }

        var fieldCount: Int {
            switch kind {
            case .elapsed: 1
            case .fields: 5
            case .periodic: keyword.flatMap { Self.keywords[$0] } ?? 5
            }
        }

        func set(
            _ words: [String], _ options: FcronOptions, of job: inout ImportedJob
        ) throws(CronFault) {
            switch kind {
            case .elapsed: try setElapsed(words[0], options, of: &job)
            case .fields: try setFields(words, options, of: &job)
            case .periodic: try setPeriodic(words, of: &job)
            }
        }

        private func setElapsed(
            _ text: String, _ options: FcronOptions, of job: inout ImportedJob
        ) throws(CronFault) {
            guard let seconds = FcronOptions.seconds(text), seconds > 0 else {
                throw CronFault(message: "\"\(text)\" is not a time such as 12h02")
            }
            job.set("every", .span(.seconds(seconds)))
            if let first = options.text("first") {
                guard let seconds = FcronOptions.seconds(first) else {
                    throw CronFault(message: "first: \"\(first)\" is not a time such as 12h02")
                }
                job.set("first", .span(.seconds(seconds)))
            }
            // Fcron counts the time in which it runs, and keeps it, as timerd does.
            job.set("count", .string("active"))
        }

        private func setFields(
            _ words: [String], _ options: FcronOptions, of job: inout ImportedJob
        ) throws(CronFault) {
            if let count = options.text("runfreq"), count != "1" {
                throw CronFault(
                    message: "a run at each \(count). match only (runfreq) is not possible")
            }
            let fields = try FcronFields(words)
            let isEither = options.isOn("dayor") || !options.isOn("dayand", default: true)
            let isRestricted = !fields.isStar[2] && !fields.isStar[4]
            if isRestricted, !isEither {
                job.set("calendar", .string(fields.calendar))
            } else {
                job.set("cron", .string(fields.cron))
            }
            job.set("on-missed", .string(options.isOn("bootrun") ? "run-once" : "skip"))
            if options.isOn("runatreboot") {
                job.note(
                    "the job does not run at each boot as well (runatreboot); add a job with on-boot"
                )
            }
        }

        /// Fcron runs such a line once in each interval, as soon as it can; the job runs at the first of
        /// these times, or when the machine is on again.
        private func setPeriodic(_ words: [String], of job: inout ImportedJob) throws(CronFault) {
            let keyword = keyword ?? ""
            let isMiddle = keyword.hasPrefix("mid") || keyword == "nightly"
            var fields = try FcronFields(words + Array(repeating: "*", count: 5 - words.count))
            let starts = [30, 12, 15]
            if words.count == 5 {
                let index = ["mins", "hours", "days", "mons", "dow"].firstIndex(of: keyword) ?? 0
                for below in 0..<min(index, 4) { fields.thin(below, toOne: true) }
                if !fields.isStar[index] { fields.thin(index, toOne: false) }
            } else {
                for index in words.indices {
                    let isTop = index == words.count - 1 && !keyword.hasSuffix("weekly")
                    fields.thin(index, toOne: true, from: isMiddle && isTop ? starts[index] : 0)
                }
                if keyword.hasSuffix("weekly") {
                    (fields.values[4], fields.isStar[4]) = ([isMiddle ? 4 : 1], false)
                }
            }
            job.set("cron", .string(fields.cron))
            job.set("on-missed", .string("run-once"))
            job.note(
                "fcron runs it once in each interval, at the first possible time; this job runs at \(fields.cron), "
                    + "and a run that was missed starts as soon as timerd runs again, outside of the given hours too"
            )
        }
    }
}
