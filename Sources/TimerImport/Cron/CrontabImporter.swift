// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Makes jobs of crontabs. The same sources, added in the same order, have the same result.
public struct CrontabImporter {
    public let options: CrontabOptions
    public private(set) var result = ImportResult()
    /// The times of each job of the result that the source and timerd can both tell.
    public private(set) var times: [ImportedTimes] = []
    /// The lines of each file that are jobs now, by file, for the commands that switch them off.
    public private(set) var importedLines: [String: [Int]] = [:]
    var namer = JobNamer()
    var notifiers: [ImportedNotifier: String] = [:]

    public init(_ options: CrontabOptions) { self.options = options }

    /// Adds the jobs of a crontab.
    ///
    /// - Throws: `ImportFault` if it is not known whether its lines name users. Nothing is added then.
    /// - Complexity: O(*n*) in the size of the crontab.
    public mutating func add(_ source: CrontabSource) throws(ImportFault) {
        let lines = SourceLine.lines(of: source.bytes, options.flavour)
        let hasUser: Bool
        if let known = source.hasUserField {
            hasUser = known
        } else {
            hasUser = try guessUserField(lines, source)
        }
        var reading = CrontabReading(source: source, hasUser: hasUser)
        for line in lines { read(line, &reading) }
        noteFile(lines, reading)
    }

    /// A file of /etc/cron.d that cron does not read because of its name.
    public mutating func leaveOut(_ file: String, because why: String) {
        result.report.add(SourcePlace(file), "", .noted("not imported: \(why)"))
    }

    /// A file that cannot be read.
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
            let outcome = reading.take(setting, options)
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
    private mutating func refuse(
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

    /// Names of users that timerd accepts.
    private static func fault(inAccount name: String) -> String? {
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

    private mutating func append(
        _ entry: CrontabEntry, _ name: Job.Name, _ command: CronCommand, _ line: SourceLine,
        _ reading: inout CrontabReading
    ) {
        var job = ImportedJob(
            name, at: SourcePlace(reading.source.file, line: line.number),
            source: reading.comments + [line.text])
        reading.setCommand(command, of: &job)
        let entry = reading.setSchedule(entry, of: &job, options)
        reading.setSurroundings(entry, of: &job, options)
        let notifier = reading.notifier(for: entry)
        if let notifier {
            job.set("notify", .strings([register(notifier, reading)]))
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

    private mutating func finish(
        _ names: [Job.Name], _ line: SourceLine, _ reading: inout CrontabReading
    ) {
        reading.jobs += names.count
        importedLines[reading.source.file, default: []].append(line.number)
        result.report.add(
            SourcePlace(reading.source.file, line: line.number), line.text, .mapped(names))
    }

    // MARK: - Scripts of a directory

    /// The directory whose scripts a command runs, and their names.
    private func scripts(of line: String) -> (directory: String, names: [String])? {
        let words = line.split { " \t;()&|".contains($0) }.map(String.init)
        guard
            let index = words.firstIndex(where: { $0 == "run-parts" || $0.hasSuffix("/run-parts") }
            ),
            let directory = words[(index + 1)...].first(where: { !$0.hasPrefix("-") }),
            directory.hasPrefix("/"), let names = options.scripts(directory)
        else { return nil }
        return (directory, names)
    }

    private mutating func expand(
        _ entry: CrontabEntry, _ line: SourceLine, _ reading: inout CrontabReading,
        _ scripts: (directory: String, names: [String])
    ) {
        guard !scripts.names.isEmpty else {
            return result.report.add(
                SourcePlace(reading.source.file, line: line.number), line.text,
                .unneeded("\(scripts.directory) has no scripts"))
        }
        var names: [Job.Name] = []
        for script in scripts.names {
            let name = namer.name(from: script, else: "\(reading.source.stem)-\(line.number)")
            let command = CronCommand(Self.quoted("\(scripts.directory)/\(script)"), .systemdCron)
            var own = entry
            own.notes.append(
                "the scripts of \(scripts.directory) run at the same time, and not one after the other; a script "
                    + "that is added there later is not run")
            if entry.command.contains("anacron") {
                own.notes.append("the test for anacron is left out; switch anacron off as well")
            }
            append(own, name, command, line, &reading)
            names.append(name)
        }
        finish(names, line, &reading)
    }

    /// A path as a word of the shell.
    private static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20)
                || "/_.-".utf8.contains(byte)
        }
        return isPlain
            ? path
            : "'"
                + path.split(separator: "'", omittingEmptySubsequences: false).joined(
                    separator: "'\\''")
                + "'"
    }

    // MARK: - Files

    /// Whether the lines of a file name a user: the sixth word of a line is one, and a seventh follows.
    /// A word that cannot be a user proves the opposite, because cron refuses a file of the system with
    /// such a line. A word such as `mail` that is a program as well proves nothing.
    private func guessUserField(
        _ lines: [SourceLine], _ source: CrontabSource
    ) throws(ImportFault) -> Bool {
        var (with, without, unclear): (SourceLine?, SourceLine?, SourceLine?) = (nil, nil, nil)
        for line in lines where line.fault == nil && !line.isComment {
            guard CrontabSetting(line.text, options.flavour) == nil,
                let entry = try? CrontabEntry(line.text, options.flavour, hasUser: false)
            else { continue }
            let words = entry.command.split { $0 == " " || $0 == "\t" }.map(String.init)
            guard words.count > 1, options.isAccount(words[0]) else {
                without = without ?? line
                if Self.fault(inAccount: words.first ?? "") != nil { return false }
                continue
            }
            if options.isProgram(words[0]) {
                unclear = unclear ?? line
            } else {
                with = with ?? line
            }
        }
        if with == nil, unclear == nil || without != nil { return false }
        guard let with, let without else {
            if let unclear, with == nil {
                throw ImportFault(
                    "\(source.file): line \(unclear.number) has a word that is a user and a program; use --system if "
                        + "each line names a user before the command, or --user NAME if it is the crontab of a user"
                )
            }
            return true
        }
        throw ImportFault(
            "\(source.file): line \(with.number) seems to name a user before the command, and line \(without.number) "
                + "does not; use --system if all lines do, or --user NAME if it is the crontab of a user"
        )
    }

    /// What is true for all of a file.
    private mutating func noteFile(_ lines: [SourceLine], _ reading: CrontabReading) {
        let place = SourcePlace(reading.source.file)
        if options.flavour == .debian, reading.broken > 0, reading.jobs > 0 {
            result.report.add(
                place, "",
                .noted(
                    "Debian's cron ignores all of this file because of lines that are not imported; its other jobs "
                        + "did not run there"))
        }
        if options.flavour == .debian, lines.count > 10_000 {
            result.report.add(
                place, "",
                .noted(
                    "has \(lines.count) lines; Debian's cron ignores a crontab with more than 10000"
                ))
        }
        if reading.lacksPath {
            result.report.add(
                place, "",
                .noted(
                    "no PATH is set: cron searches programs in \(CrontabReading.cronPath), and timerd also in "
                        + "/usr/local and in sbin; --strict-path writes cron's"))
        }
    }

    // MARK: - Mail

    /// The name of the notifier with these keys.
    private mutating func register(_ notifier: [TomlEntry], _ reading: CrontabReading) -> String {
        let key = ImportedNotifier("", notifier)
        if let name = notifiers[key] { return name }
        let base = "\(reading.source.stem)-mail"
        let taken = Set(result.notifiers.map(\.name))
        var (name, number) = (JobNamer.clean(base) ?? "mail", 2)
        let stem = name
        while taken.contains(name) {
            name = "\(stem)-\(number)"
            number += 1
        }
        notifiers[key] = name
        result.notifiers.append(ImportedNotifier(name, notifier))
        return name
    }
}
