// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Makes jobs of crontabs. The same sources, added in the same order, have the same result.
public struct CrontabImporter {
    public let options: CrontabOptions
    public internal(set) var result = ImportResult()
    /// The times of each job of the result that the source and timerd can both tell.
    public private(set) var times: [ImportedTimes] = []
    /// The lines of each file that are jobs now, by file, for the commands that switch them off.
    public private(set) var importedLines: [String: [Int]] = [:]
    /// The files that Debian's cron ignores because of a line in them, so that none of their jobs runs.
    public internal(set) var ignoredFiles: Set<String> = []
    var namer: JobNamer
    private var notifiers: NotifierNames

    public init(_ options: CrontabOptions) {
        self.options = options
        namer = JobNamer(taken: options.takenJobs)
        notifiers = NotifierNames(taken: options.takenNotifiers)
    }

    /// Adds the jobs of a crontab.
    ///
    /// - Throws: `ImportFault` if it is not known whether its lines name users. Nothing is added then.
    /// - Complexity: O(*n*) in the size of the crontab.
    public mutating func add(_ source: CrontabSource) throws(ImportFault) {
        let lines = SourceLine.lines(of: source.bytes, options.flavour)
        let hasUser: Bool
        if let known = source.hasUserField {
            hasUser = known
            if source.isFieldAssumed, !known { noteUsers(lines, source) }
        } else {
            hasUser = try guessUserField(lines, source)
        }
        var reading = CrontabReading(source: source, hasUser: hasUser)
        for line in lines { read(line, &reading) }
        noteFile(lines, reading)
    }

    /// Accounts for a file of /etc/cron.d that cron does not read because of its name. Nothing is lost
    /// then, unless it is a crontab that only has a wrong name.
    ///
    /// - Parameter bytes: the contents; nil if they cannot be read.
    public mutating func leaveOut(_ file: String, _ name: CronFileName, _ bytes: [UInt8]?) {
        let why = "\(options.flavour.name) does not read a file of this name"
        guard name == .ignored, let bytes, hasJobs(bytes) else {
            return result.report.add(SourcePlace(file), "", .leftOut(why))
        }
        result.report.add(
            SourcePlace(file), "",
            .noted("not imported: \(why), so that its lines do not run; rename it if they should"))
    }

    /// Whether a file of /etc/cron.d has a line that runs something.
    private func hasJobs(_ bytes: [UInt8]) -> Bool {
        SourceLine.lines(of: bytes, options.flavour).contains { line in
            line.fault == nil && !line.isComment
                && CrontabSetting(line.text, options.flavour) == nil
                && (try? CrontabEntry(line.text, options.flavour, hasUser: true)) != nil
        }
    }

    /// Reports that a file cannot be read, and imports nothing of it.
    public mutating func refuse(_ file: String, because why: String) {
        result.report.add(SourcePlace(file), "", .refused(why))
    }

    // MARK: - Lines

    private mutating func read(_ line: SourceLine, _ reading: inout CrontabReading) {
        let place = SourcePlace(reading.source.file, line: line.number)
        guard !line.isComment else {
            reading.comments.append(line.text)
            if line.text.utf8.allSatisfy({ $0 == 32 || $0 == 9 }) { reading.comments = [] }
            return result.report.add(place, line.text, .comment)
        }
        if let fault = line.fault { return refuse(line, fault, breaks: line.breaksFile, &reading) }
        defer { reading.comments = [] }
        if let setting = CrontabSetting(line.text, options.flavour) {
            guard line.text.utf8.count <= Self.lineMax || options.flavour == .systemdCron else {
                return refuse(line, Self.tooLong(line.text), breaks: false, &reading)
            }
            let outcome = reading.apply(setting, options)
            return result.report.add(place, line.text, outcome)
        }
        do throws(CronFault) {
            let entry = try entry(line, reading)
            add(entry, line, &reading)
        } catch {
            refuse(line, error.message, breaks: error.breaksFile, &reading)
        }
    }

    /// - Parameter breaks: whether Debian's cron refuses the whole file because of the line.
    mutating func refuse(
        _ line: SourceLine, _ why: String, breaks: Bool, _ reading: inout CrontabReading
    ) {
        if breaks { reading.broken += 1 }
        reading.comments = []
        result.report.add(
            SourcePlace(reading.source.file, line: line.number), line.text, .refused(why))
    }

    /// The longest command of Debian's cron and cronie, in bytes.
    static let lineMax = 998

    private static func tooLong(_ text: String) -> String {
        "has \(text.utf8.count) bytes; cron reads at most \(lineMax)"
    }

    /// Reads a line; the numbers of `~` are drawn for the name that the job gets.
    private mutating func entry(
        _ line: SourceLine, _ reading: CrontabReading
    ) throws(CronFault) -> CrontabEntry {
        let entry = try CrontabEntry(line.text, options.flavour, hasUser: reading.hasUser)
        if options.flavour != .systemdCron, entry.command.utf8.count > Self.lineMax {
            throw CronFault(message: "the command " + Self.tooLong(entry.command))
        }
        if let user = entry.user, let fault = Self.fault(inAccount: user) {
            throw CronFault(message: fault)
        }
        return entry
    }

    /// Why timerd does not accept the name of a user; nil if it does.
    static func fault(inAccount name: String) -> String? {
        let isWord = name.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == 95 || byte == 45
        }
        guard let first = name.utf8.first, isWord, name.utf8.count <= 31, first != 45,
            !(48...57).contains(first)
        else {
            return "\"\(name)\" is not a user; a line of this file has a user before the command"
        }
        return nil
    }

    // MARK: - Jobs

    private mutating func add(
        _ found: CrontabEntry, _ line: SourceLine, _ reading: inout CrontabReading
    ) {
        let fallback = "\(reading.source.stem)-\(line.number)"
        let command = CronCommand(found.command, options.flavour)
        guard !command.line.isEmpty else {
            return refuse(
                line, "there is no command before the first %", breaks: false, &reading)
        }
        if options.expandsRunParts, let scripts = scripts(of: command.line) {
            return expand(found, line, &reading, scripts)
        }
        let name = namer.name(from: command.programName, else: fallback)
        do throws(CronFault) {
            let entry = try drawn(found, line, reading, for: name)
            try reading.spend(line.text)
            append(entry, name, command, line, &reading)
            finish([name], line, &reading)
        } catch {
            refuse(line, error.message, breaks: error.breaksFile, &reading)
        }
    }

    /// The line with the numbers of `~` of this job.
    private func drawn(
        _ entry: CrontabEntry, _ line: SourceLine, _ reading: CrontabReading, for name: Job.Name
    ) throws(CronFault) -> CrontabEntry {
        guard entry.schedule.utf8.contains(UInt8(ascii: "~")) else { return entry }
        return try CrontabEntry(line.text, options.flavour, hasUser: reading.hasUser) {
            (fields) throws(CronFault) in
            do throws(ScheduleError) {
                // Always the same seed: the same file gives the same numbers.
                return try CronSpec.read(fields, drawing: .init(seed: 0, job: name)).spec
                    .description
            } catch {
                throw CronFault(message: "\(error)")
            }
        }
    }

    mutating func append(
        _ entry: CrontabEntry, _ name: Job.Name, _ command: CronCommand, _ line: SourceLine,
        _ reading: inout CrontabReading
    ) {
        var job = ImportedJob(
            name, at: SourcePlace(reading.source.file, line: line.number),
            source: reading.comments + [line.text])
        reading.setCommand(command, of: &job)
        let entry = reading.setSchedule(entry, of: &job, options)
        reading.setUserAndEnvironment(entry, of: &job, options)
        if let slot = reading.slot {
            result.add(slot: slot)
            job.set("slots", .strings([slot]))
        }
        let notifier = reading.notifier(for: entry)
        if let notifier {
            let name = notifiers.name(
                of: notifier, wanted: "\(reading.source.stem)-mail", in: &result)
            job.set("notify", .strings([name]))
        }
        entry.notes.forEach { job.note($0) }
        if command.line.contains("/usr/sbin/anacron") {
            job.note(
                "it does nothing while anacron is installed, which runs these scripts; import /etc/anacrontab too"
            )
        }
        result.jobs.append(job)
        times.append(
            ImportedTimes(
                job: name, place: job.place, times: entry.times,
                zone: reading.zone(options)))
    }

    mutating func finish(
        _ names: [Job.Name], _ line: SourceLine, _ reading: inout CrontabReading
    ) {
        reading.jobs += names.count
        importedLines[reading.source.file, default: []].append(line.number)
        result.report.add(
            SourcePlace(reading.source.file, line: line.number), line.text, .mapped(names))
    }
}
