// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// Gathers the jobs of all files, and everything that is wrong with them.
struct Decoder {
    private var jobs: [Job] = []
    private var places: [String: Place] = [:]
    /// Where each `formerly` is written, by the name of the job that has it.
    private var renamings: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// Where the `concurrency-max` is written that counts for a job, by the job's name.
    private var maxima: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    private var settings = DaemonSettings()
    private var errors: [ConfigError] = []
    /// How many errors are not among `errors`, beside the sentences that count them.
    private var untold = 0
    private var rejected: [String] = []
    private var warnings: [ConfigWarning] = []
    private let lintAt: WallInstant?
    private let zones: ZoneFiles

    /// - Parameter lintAt: as of when schedules are looked over for what may not be meant; nil: not at all.
    init(zones: ZoneFiles, lintAt: WallInstant?) {
        self.zones = zones
        self.lintAt = lintAt
    }

    /// Where a job is written.
    private struct Place {
        var file: String
        var mark: SourceMark
    }

    func reading() -> ConfigReading {
        var errors = errors
        var kept = jobs
        var rejected = rejected
        let untold =
            untold + leaveOutHeirs(&kept, &errors, &rejected)
            + leaveOutTooConcurrent(&kept, &errors, &rejected)
        if jobs.count > settings.jobsMax {
            let extra = jobs[settings.jobsMax...]
            kept = Array(kept.prefix(settings.jobsMax))
            rejected += extra.map(\.name.description)
            let place = places[extra[settings.jobsMax].name.description]
            errors.append(
                ConfigError(
                    file: place?.file ?? "", mark: place?.mark,
                    message: "there are \(jobs.count) jobs; the last \(extra.count) are left out "
                        + "(raise jobs-max in [daemon])"))
        }
        return ConfigReading(
            roster: Roster(kept), settings: settings, errors: errors,
            errorCount: errors.count + untold, rejected: rejected, warnings: warnings)
    }

    /// A job cannot take the account of one that is there, nor two the account of one.
    /// - Returns: how many errors it found beyond those it added, with the one that counts them.
    /// - Complexity: O(*n*) in the number of jobs.
    private func leaveOutHeirs(
        _ kept: inout [Job], _ errors: inout [ConfigError], _ rejected: inout [String]
    ) -> Int {
        var heirs: [Job.Name: Job.Name] = [:]
        let names = Set(jobs.map(\.name))
        var leftOut: Set<Job.Name> = []
        for job in jobs {
            guard let old = job.formerly else { continue }
            let other = heirs.updateValue(job.name, forKey: old)
            guard names.contains(old) || other != nil else { continue }
            let message =
                other.map {
                    "formerly: \"\(old)\" is what \"\($0)\" was called; an account has one heir"
                }
                ?? "formerly: \"\(old)\" is a job still; take one of them out, or give the new one no formerly"
            rejected.append(job.name.description)
            leftOut.insert(job.name)
            guard leftOut.count <= ConfigReading.errorsMax else { continue }
            let place = places[job.name.description]
            errors.append(
                ConfigError(
                    file: place?.file ?? "", mark: renamings[job.name]?.mark ?? place?.mark,
                    message: "job \"\(job.name)\": \(message)",
                    excerpt: renamings[job.name]?.excerpt, job: job.name.description))
        }
        kept.removeAll { leftOut.contains($0.name) }
        let more = leftOut.count - ConfigReading.errorsMax
        guard more > 0, let last = errors.last else { return 0 }
        errors.append(ConfigError(file: last.file, message: "and \(Self.count(more)) of formerly"))
        return more - 1
    }

    private static func count(_ more: Int) -> String {
        plural(more, "more error")
    }

    /// A job cannot have more runs at once than all jobs together: somebody would rely on what never happens.
    /// - Returns: how many errors it found beyond those it added.
    /// - Complexity: O(*n*) in the number of jobs.
    private func leaveOutTooConcurrent(
        _ kept: inout [Job], _ errors: inout [ConfigError], _ rejected: inout [String]
    ) -> Int {
        let tooMany = kept.filter { $0.policy.concurrencyMax ?? 0 > settings.maxConcurrent }
        guard !tooMany.isEmpty else { return 0 }
        for job in tooMany.prefix(ConfigReading.errorsMax) {
            errors.append(
                ConfigError(
                    file: places[job.name.description]?.file ?? "", mark: maxima[job.name]?.mark,
                    message:
                        "job \"\(job.name)\": concurrency-max: is more than max-concurrent of [daemon], "
                        + "which is \(settings.maxConcurrent); lower this one or raise that one",
                    excerpt: maxima[job.name]?.excerpt, job: job.name.description))
        }
        rejected += tooMany.map(\.name.description)
        kept.removeAll { $0.policy.concurrencyMax ?? 0 > settings.maxConcurrent }
        return max(0, tooMany.count - ConfigReading.errorsMax)
    }

    /// A file that cannot be read at all.
    mutating func leaveOut(file: String, _ error: ConfigError) {
        errors.append(error)
        rejected.append(file)
    }

    mutating func take(_ document: Document) {
        var reader = FileReader(document: document)
        var defaults = Draft()
        for entry in document.entries where entry.key == "defaults" {
            for (key, value) in reader.table(entry) {
                reader.readDefault(key, value, into: &defaults)
            }
        }
        // A job would run with settings nobody asked for: at once where `paused = "yes"` was refused.
        let hasDefaults = reader.count == 0
        reader.addToErrors("; no job of this file runs until this is right")
        for entry in document.entries {
            switch entry.key {
            case "defaults": break
            case "daemon": readDaemon(entry, &reader)
            case "job": readJobs(entry, hasDefaults ? defaults : nil, &reader)
            default:
                reader.unknown(entry, "table", among: ["daemon", "defaults", "job"], subject: nil)
            }
        }
        errors += reader.errors.sorted { ($0.mark ?? .start) < ($1.mark ?? .start) }
        let more = reader.count - reader.errors.count
        if more > 0 {
            untold += more - 1
            errors.append(
                ConfigError(
                    file: document.file,
                    message: "and \(Self.count(more)); correct the first ones to see the others"))
        }
    }

    private mutating func readDaemon(_ entry: TomlEntry, _ reader: inout FileReader) {
        for (key, value) in reader.table(entry) {
            guard let found = DaemonKey.all.first(where: { $0.name == key.key }) else {
                reader.unknown(key, "key", among: DaemonKey.all.map(\.name), subject: "[daemon]")
                continue
            }
            reader.attempt("[daemon]: \(key.key)") { () throws(Fault) in
                try found.read(value, &settings)
            }
        }
    }

    /// - Parameter defaults: nil if they are in error; then no job is taken, but all are checked.
    private mutating func readJobs(
        _ entry: TomlEntry, _ defaults: Draft?, _ reader: inout FileReader
    ) {
        for (key, value) in reader.table(entry) {
            let job = readJob(key, value, defaults ?? Draft(), &reader)
            if let job, defaults != nil {
                jobs.append(job)
            } else {
                rejected.append(key.key)
            }
        }
    }

    private mutating func readJob(
        _ key: TomlEntry, _ value: TomlNode, _ defaults: Draft, _ reader: inout FileReader
    ) -> Job? {
        let subject = "job \"\(key.key)\""
        let before = reader.count
        reader.job = key.key
        defer { reader.job = nil }
        guard let name = Job.Name(key.key) else {
            let fault = Job.Name.fault(in: key.key) ?? "not a job name"
            reader.report(Fault(key.mark, fault), subject)
            return nil
        }
        if let other = places[key.key] {
            reader.report(
                Fault(key.mark, "is in \(other.file) already; give one another name"), subject)
        } else {
            places[key.key] = Place(file: reader.document.file, mark: key.mark)
        }
        guard case .table(let entries) = value.value else {
            reader.report(
                Fault(value.mark, "must be a table, [job.\(key.key)], not \(value.value.kind)"),
                subject)
            return nil
        }
        var draft = defaults
        for entry in entries {
            guard let found = JobKey.all.first(where: { $0.name == entry.key }) else {
                reader.unknown(entry, "key", among: JobKey.all.map(\.name), subject: subject)
                continue
            }
            reader.attempt("\(subject): \(entry.key)") { () throws(Fault) in
                try found.read(entry.node, &draft)
            }
        }
        let hasOther = entries.contains { ["after", "calendar", "cron", "at"].contains($0.key) }
        if hasOther, let first = entries.first(where: { $0.key == "first" }) {
            reader.report(Fault(first.mark, "first goes with every alone"), subject)
        }
        if draft.policy.concurrency != .allow,
            let most = entries.first(where: { $0.key == "concurrency-max" })
        {
            reader.report(
                Fault(most.mark, "concurrency-max goes with concurrency = \"allow\" alone"), subject
            )
        }
        // What was refused above would only be said to be missing.
        guard reader.count == before else { return nil }
        let job = reader.attempt(subject) { () throws(Fault) in
            try draft.job(named: name, at: key.mark, zones: zones)
        }
        if let job { lint(job, draft, &reader) }
        if let formerly = draft.formerly {
            let mark = formerly.mark
            renamings[name] = (mark, reader.document.text.excerpt(at: mark))
        }
        if let mark = draft.concurrencyMax?.mark, job?.policy.concurrencyMax != nil {
            maxima[name] = (mark, reader.document.text.excerpt(at: mark))
        }
        return job
    }

    private mutating func lint(_ job: Job, _ draft: Draft, _ reader: inout FileReader) {
        guard let lintAt, case .wall(let schedule) = job.schedule else { return }
        let marks = draft.scheduleMarks
        for finding in schedule.findings(at: lintAt) where finding.source < marks.count {
            let (key, mark) = marks[finding.source]
            warnings.append(
                ConfigWarning(
                    code: finding.code, file: reader.document.file, mark: mark,
                    message: "job \"\(job.name)\": \(key): \(finding.message)",
                    excerpt: reader.document.text.excerpt(at: mark)))
        }
    }
}

extension SourceMark {
    fileprivate static let start = SourceMark(line: 1, column: 1)
}

/// One file being read, with what is wrong in it so far.
struct FileReader {
    var document: Document
    /// The first of them, up to `ConfigReading.errorsMax`.
    private(set) var errors: [ConfigError] = []
    /// How many there are.
    private(set) var count = 0
    /// The job that is being read.
    var job: String?

    init(document: Document) { self.document = document }

    /// Whether an error that is found now is only counted.
    private var isFull: Bool { errors.count >= ConfigReading.errorsMax }

    mutating func report(_ fault: Fault, _ subject: String?) {
        count += 1
        guard !isFull else { return }
        let mark =
            fault.beginning.map { document.text.mark(behind: $0, ofStringAt: fault.mark) }
            ?? fault.mark
        errors.append(
            ConfigError(
                file: document.file, mark: mark,
                message: (subject.map { "\($0): " } ?? "") + fault.message,
                excerpt: document.text.excerpt(at: mark), job: job))
    }

    /// Says of each error so far what else follows from it.
    mutating func addToErrors(_ text: String) {
        for place in errors.indices { errors[place].message += text }
    }

    @discardableResult
    mutating func attempt<Value>(
        _ subject: String, _ body: () throws(Fault) -> Value
    ) -> Value? {
        do throws(Fault) {
            return try body()
        } catch {
            report(error, subject)
            return nil
        }
    }

    mutating func unknown(
        _ entry: TomlEntry, _ what: String, among names: [String], subject: String?
    ) {
        let near = isFull ? nil : nearestName(entry.key, among: names)
        let hint = near.map { " (did you mean \"\($0)\"?)" } ?? ""
        report(Fault(entry.mark, "unknown \(what) \"\(entry.key)\"\(hint)"), subject)
    }

    /// The entries of a table; anything else is reported.
    mutating func table(_ entry: TomlEntry) -> [(TomlEntry, TomlNode)] {
        guard case .table(let entries) = entry.node.value else {
            report(
                Fault(
                    entry.node.mark, "must be a table, [\(entry.key)], not \(entry.node.value.kind)"
                ),
                entry.key)
            return []
        }
        return entries.map { ($0, $0.node) }
    }

    mutating func readDefault(_ key: TomlEntry, _ value: TomlNode, into draft: inout Draft) {
        let names = JobKey.all.filter(\.isDefault).map(\.name)
        guard let found = JobKey.all.first(where: { $0.name == key.key }) else {
            return unknown(key, "key", among: names, subject: "[defaults]")
        }
        guard found.isDefault else {
            return report(
                Fault(
                    key.mark,
                    "\"\(key.key)\" belongs to one job; [defaults] may have "
                        + names.joined(separator: ", ")), "[defaults]")
        }
        attempt("[defaults]: \(key.key)") { () throws(Fault) in try found.read(value, &draft) }
    }
}
