// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// Gathers the jobs of all files, and everything that is wrong with them.
struct Decoder {
    private(set) var jobs: [Job] = []
    /// How many of `jobs` there were at the end of each file.
    private(set) var ends: [(file: String, jobs: Int)] = []
    private(set) var places: [String: Place] = [:]
    /// Where the templates are, by their names.
    var templatePlaces: [String: Place] = [:]
    /// Where each `renamedFrom` is written, by the name of the job that has it.
    private(set) var renamings: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// Where the `concurrency-max` is written that counts for a job, by the job's name.
    private(set) var maxima: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// Where the `user` of a job is written, if users are restricted.
    private(set) var users: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// Where `fleet` is written, by the job's name.
    private(set) var fleetPlaces: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// Whether there is a table `[fleet]`, with or without an error.
    var hasFleet = false
    /// Where the `notify` is written that counts for a job, by the job's name.
    private(set) var notifyPlaces: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// The notifiers without an error, and the places of all, by their names.
    var notifiers: [Notifier] = []
    var notifierPlaces: [String: (file: String, mark: SourceMark, excerpt: String?)] = [:]
    /// The slots without an error, and the places of all, by their names.
    var slots: [RunSlot] = []
    var slotPlaces: [String: (file: String, mark: SourceMark, excerpt: String?)] = [:]
    /// The lists of dates without an error, and the places of all, by their names.
    var dateLists: [DateList.Name: DateList] = [:]
    var datesPlaces: [String: (file: String, mark: SourceMark, excerpt: String?)] = [:]
    /// The files of dates by their paths, with hashes of their contents, or of the reasons why they
    /// cannot be read.
    var datesFiles: [String: Int] = [:]
    /// The lists that each job names, and where.
    private(set) var dateUses: [Job.Name: (use: DateUse, mark: SourceMark, excerpt: String?)] = [:]
    /// How the files of dates are opened; nil if no files can be read.
    var files: ConfigFiles?
    /// Whether files of dates are read; if not, they are taken to have none.
    var readsDates = true
    /// Where the `slots` are written that count for a job, by the job's name.
    private(set) var slotUsePlaces: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    /// Where `follows` is written, by the name of the job that has it.
    private(set) var followsPlaces: [Job.Name: (mark: SourceMark, excerpt: String?)] = [:]
    private(set) var settings: DaemonSettings
    /// `[defaults]` of the main file, for the other files; nil: it is not read yet.
    private(set) var mainDefaults: MainDefaults?
    private(set) var defaultsErrors: [ConfigError] = []
    /// The job whose values are traced to their places; nil: none.
    var tracedJob: Job.Name?
    /// Where its values come from; nil: it is not read yet.
    private(set) var origins: [KeyOrigin]?
    /// Whether the file that is being read was written by a command.
    private(set) var isOneOff = false
    private(set) var errors: [ConfigError] = []
    /// How many errors are not among `errors`, beside the sentences that count them.
    private(set) var unlisted = 0
    private(set) var rejected: [String] = []
    /// What is known of jobs that are left out, for the rules about several tables. The jobs are
    /// those that each file has errors of.
    private(set) var halfRead: [HalfRead] = []
    var warnings: [ConfigWarning] = []
    var warningCount = 0
    var noteCount = 0
    private(set) var faults = ConfigFaults()
    private(set) var settingsFiles: Set<String> = []
    /// The files that a later reading need not parse if they have the same contents, with hashes of
    /// these.
    private(set) var lasting: [String: Int] = [:]
    /// The files that were not parsed, because they have not changed.
    private(set) var unchanged: Set<String> = []
    /// How many files follow the one that is being read.
    var filesToCome = 0
    /// Whether the file that is being read may be among `lasting`.
    var isLasting = false
    /// How many of the file that is being read are among `warnings`.
    var reported = (warnings: 0, notes: 0)
    /// What the machine answered. Of very many jobs most ask the same.
    var findings: [MachineCheck.Question: [MachineCheck.Finding]] = [:]
    let checks: ConfigChecks?
    let zones: ZoneFiles
    private let seed: UInt64
    let concurrentRunsMax: Int?
    /// Whether only the definition of a one-off job is read. Then it is not known which notifiers
    /// there are.
    let isSingle: Bool
    /// What the files get from others that are not read now.
    let surroundings: ConfigSurroundings?

    /// - Parameters:
    ///   - checks: what is looked for beside errors; nil: nothing.
    ///   - concurrentRunsMax: how many runs of all jobs may be active at once; nil: `max-concurrent` of the files.
    ///   - settings: what the table `[daemon]` of a file goes before.
    /// Called after each job.
    var eachJob: (() -> Void)?

    init(
        zones: ZoneFiles, seed: UInt64, checks: ConfigChecks?, concurrentRunsMax: Int? = nil,
        settings: DaemonSettings = DaemonSettings(), isSingle: Bool = false,
        surroundings: ConfigSurroundings? = nil
    ) {
        self.settings = surroundings?.settings ?? settings
        self.surroundings = surroundings
        mainDefaults = surroundings?.defaults
        self.isSingle = isSingle
        self.zones = zones
        self.seed = seed
        self.checks = checks
        self.concurrentRunsMax = concurrentRunsMax
    }

    /// Where the name of a job is written.
    struct Place {
        var file: String
        var mark: SourceMark
    }

    /// A job that is left out because of an error in its file.
    struct HalfRead {
        /// Its right values, with a command and a schedule that may not be its own.
        var job: Job
        /// The keys whose values are not known, because they are wrong.
        var refused: Set<String>
    }

    /// A file that cannot be read at all.
    mutating func leaveOut(file: String, _ error: ConfigError) {
        errors.append(error)
        rejected.append(file)
        faults.files.insert(file)
    }

    /// The files of `jobs.d`, or the definitions of one-off jobs, cannot be listed.
    mutating func leaveOutFolder(_ error: ConfigError) {
        errors.append(error)
        rejected.append(error.file)
        faults.isWhole = true
    }

    /// A file of `jobs.d` that is not parsed, because it has not changed.
    mutating func keep(file: String, hash: Int) {
        unchanged.insert(file)
        lasting[file] = hash
        ends.append((file, jobs.count))
    }

    /// - Parameter hash: the hash of its contents, if a later reading may do without it.
    mutating func decode(_ document: Document, hash: Int? = nil) {
        // Who made a one-off job has said all that it is.
        var reader = FileReader(document: document, inheriting: isOneOff ? nil : mainDefaults)
        reported = (0, 0)
        isLasting = true
        let defaults = readDefaults(&reader)
        // The settings are read before the jobs, wherever they are in the file.
        let tables = SettingsTable.all
        for entry in document.entries {
            guard let table = tables.first(where: { $0.name == entry.key }) else { continue }
            readSettings(entry, table, &reader)
        }
        for entry in document.entries where !tables.contains(where: { $0.name == entry.key }) {
            switch entry.key {
            case "defaults": break
            case "job":
                readJobs(entry, defaults, &reader)
            case "notify":
                settingsFiles.insert(document.file)
                readNotifiers(entry, &reader)
            case "slot":
                settingsFiles.insert(document.file)
                readSlots(entry, &reader)
            case "dates":
                settingsFiles.insert(document.file)
                readDates(entry, &reader)
            default:
                reader.unknown(
                    entry, "table",
                    among: tables.map(\.name) + ["defaults", "job", "notify", "slot", "dates"],
                    subject: nil)
            }
        }
        if reader.count > 0 {
            // The first file is the main file, of which everything is used or nothing.
            if ends.isEmpty || reader.blamesMainFile { faults.isWhole = true }
            if !ends.isEmpty { faults.files.insert(document.file) }
        } else if isLasting, let hash, !settingsFiles.contains(document.file) {
            lasting[document.file] = hash
        }
        ends.append((document.file, jobs.count))
        errors += reader.errors.sorted { ($0.mark ?? .start) < ($1.mark ?? .start) }
        errors += reader.errorsOfOthers
        let more =
            reader.count - reader.repeats - reader.errors.count - reader.errorsOfOthers.count
        if more > 0 {
            unlisted += more - 1
            errors.append(
                ConfigError(
                    file: document.file,
                    message: "and \(Self.count(more)); correct the first ones to see the others"))
        }
    }

    /// The definition of a one-off job: one table `[job.NAME]` with `at`, in the file `NAME.toml`.
    ///
    /// - Throws: what is wrong with the file as a whole.
    mutating func decodeOneOff(_ document: Document, named file: String) throws(ConfigError) {
        let name = file.hasSuffix(".toml") ? String(file.dropLast(5)) : file
        var jobs: [TomlEntry] = []
        if document.entries.count == 1, document.entries[0].key == "job",
            case .table(let tables) = document.entries[0].node.value
        {
            jobs = tables
        }
        guard jobs.count == 1, jobs[0].key == name, case .table(let keys) = jobs[0].node.value,
            keys.contains(where: { $0.key == "at" })
        else {
            throw ConfigError(
                file: document.file,
                message: "must have one table, [job.\(name)] with the key at; "
                    + "it is written by `timerctl at`, and removed with `timerctl cancel`")
        }
        let count = self.jobs.count
        isOneOff = true
        decode(document)
        isOneOff = false
        for index in count..<self.jobs.count { self.jobs[index].isOneOff = true }
    }

    /// Reads `[defaults]` of a file, over those of the main file.
    private mutating func readDefaults(_ reader: inout FileReader) -> Draft {
        var draft = reader.inherited?.draft ?? Draft()
        var keys: [TomlEntry] = []
        for entry in reader.document.entries where entry.key == "defaults" {
            keys = reader.table(entry)
            if reader.count > 0 { draft.refused.formUnion(JobKey.defaultNames) }
            for key in keys { reader.readDefault(key, into: &draft) }
        }
        // Otherwise a job would run with settings that no file asks for: at once where `paused = "yes"` was refused.
        reader.addToErrors("; jobs that would get it are not loaded until it is right")
        defaultsErrors += reader.errors
        if mainDefaults == nil, !isOneOff, !isSingle {
            mainDefaults = MainDefaults(
                keys, of: reader.document, refused: draft.refused, errors: reader.errors)
        }
        // A file that is read alone tells what keeps its jobs from running.
        if let inherited = surroundings?.defaults, !inherited.draft.refused.isEmpty, !isOneOff {
            errors += inherited.errors
        }
        return draft
    }

    private mutating func readSettings(
        _ entry: TomlEntry, _ table: SettingsTable, _ reader: inout FileReader
    ) {
        settingsFiles.insert(reader.document.file)
        let subject = "[\(table.name)]"
        let before = reader.count
        for key in reader.table(entry) {
            reader.read(key, of: subject, among: table.keys, into: &settings)
        }
        if table.name == "fleet" { checkFleet(entry, isRight: reader.count == before, &reader) }
    }

    /// Reads the jobs of a file. All are checked; those are not used that have a wrong value of
    /// `[defaults]`.
    private mutating func readJobs(
        _ entry: TomlEntry, _ defaults: Draft, _ reader: inout FileReader
    ) {
        let table = reader.table(entry)
        makeRoom(for: table.count)
        let templates = readTemplates(among: table, &reader)
        for key in table where templates.own[key.key] == nil {
            if let template = templates.templates[key.key] {
                readInstances(of: template, templates.own, defaults, &reader)
            } else if !templates.strays.contains(key.key),
                let job = readJob(key, defaults, &reader)
            {
                append(job)
            } else {
                leaveOut(key.shown)
            }
        }
    }

    mutating func append(_ job: Job) {
        jobs.append(job)
        eachJob?()
    }

    /// - Parameter job: a job that is left out, as its name is written.
    mutating func leaveOut(_ job: String) {
        rejected.append(job)
        eachJob?()
    }

    /// Makes room for the jobs of a file, and of those that follow if they are as large. With very
    /// many jobs most of the time would otherwise go into moving those that are there.
    private mutating func makeRoom(for count: Int) {
        guard jobs.count + count > jobs.capacity else { return }
        let all = jobs.count + count * (1 + filesToCome)
        let room = max(jobs.count + count, min(all, settings.jobsMax))
        // Room for exactly what a file adds would let them be moved for every file.
        guard jobs.isEmpty || room >= 2 * jobs.count else { return }
        jobs.reserveCapacity(room)
        places.reserveCapacity(room)
    }

    mutating func readJob(
        _ key: TomlEntry, _ defaults: Draft, _ reader: inout FileReader
    ) -> Job? {
        let shown = key.shown
        func subject() -> String { "job \"\(shown)\"" }
        let before = reader.count
        reader.job = shown
        defer { reader.job = nil }
        let other = places[key.key]
        guard
            let name: Job.Name = reader.name(
                key, usedIn: other.map { "\($0.file):\($0.mark.line)" }, subject())
        else {
            return nil
        }
        if other == nil {
            places[key.key] = Place(file: reader.document.file, mark: key.mark)
        }
        guard case .table(let entries) = key.node.value else {
            let node = key.node
            reader.report(
                Fault(node.mark, "must be a table, [job.\(key.key)], not \(node.value.kind)"),
                subject())
            return nil
        }
        if name == tracedJob, origins == nil { trace(entries, reader) }
        var draft = defaults
        // All machines of a fleet compute the same times.
        let isShared = entries.contains { $0.key == "fleet" }
        draft.drawing = CronSpec.Drawing(seed: isShared ? 0 : seed, job: name)
        for entry in entries { reader.read(entry, of: subject(), into: &draft) }
        for fault in draft.strayKeys(among: entries) { reader.report(fault, subject()) }
        let job =
            reader.count == before ? try? draft.job(named: name, at: key.mark, zones: zones) : nil
        guard let job else {
            for fault in draft.faults(named: name, entries, at: key.mark, zones: zones) {
                reader.report(fault, subject())
            }
            noteHalfRead(name, draft, key, entries, isFirst: other == nil, &reader)
            return nil
        }
        guard draft.refused.isEmpty else {
            noteHalfRead(name, draft, key, entries, isFirst: other == nil, &reader)
            return nil
        }
        check(job, draft, key, entries, &reader)
        notePlaces(of: name, job, draft, key, entries, &reader)
        return job
    }

    /// Notes where the values of a job come from.
    private mutating func trace(_ entries: [TomlEntry], _ reader: FileReader) {
        var file: [TomlEntry] = []
        for entry in reader.document.entries where entry.key == "defaults" {
            if case .table(let keys) = entry.node.value { file = keys }
        }
        origins = KeyLayers(own: entries, file: file, main: reader.inherited?.entries ?? [])
            .origins(reader)
    }

    /// Remembers a job that is left out, so that its error does not hide what is wrong with its
    /// other values beside the other tables, and warns of what the machine does not have.
    private mutating func noteHalfRead(
        _ name: Job.Name, _ draft: Draft, _ key: TomlEntry, _ entries: [TomlEntry], isFirst: Bool,
        _ reader: inout FileReader
    ) {
        guard isFirst, !reader.isFull else { return }
        let job = draft.standIn(named: name)
        halfRead.append(HalfRead(job: job, refused: draft.refused))
        checkMachine(for: job, draft, key, entries, &reader)
        notePlaces(of: name, job, draft, key, entries, &reader)
    }

    /// Remembers where the keys are that are checked again when all files have been read.
    private mutating func notePlaces(
        of name: Job.Name, _ job: Job, _ draft: Draft, _ key: TomlEntry, _ entries: [TomlEntry],
        _ reader: inout FileReader
    ) {
        // This is what `ConfigReader.holds` cannot see in the job, so the file must be parsed
        // again.
        if draft.renamedFrom != nil || draft.fleetMark != nil || draft.follows != nil
            || draft.cron.contains(where: { !$0.spec.differences.isEmpty })
            || draft.namesAllZones || draft.dateUse.mark != nil
        {
            isLasting = false
        }
        if let renamedFrom = draft.renamedFrom {
            let mark = renamedFrom.mark
            renamings[name] = (mark, reader.excerpt(at: mark))
        }
        if let mark = draft.concurrencyMax?.mark, job.policy.concurrencyMax != nil {
            maxima[name] = (mark, reader.excerpt(at: mark))
        }
        if let mark = draft.notifyMark, !draft.policy.notify.isEmpty {
            notifyPlaces[name] = (mark, reader.excerpt(at: mark))
        }
        if let mark = draft.slotsMark, !draft.policy.slots.isEmpty {
            slotUsePlaces[name] = (mark, reader.excerpt(at: mark))
        }
        if let mark = draft.dateUse.mark {
            dateUses[name] = (draft.dateUse, mark, reader.excerpt(at: mark))
        }
        if let mark = draft.follows?.mark {
            followsPlaces[name] = (mark, reader.excerpt(at: mark))
        }
        if let mark = draft.fleetMark {
            fleetPlaces[name] = (mark, reader.excerpt(at: mark))
        }
        // Most jobs are allowed by name, and have no place to be remembered.
        if let allowed = settings.allowedUsers,
            draft.execution.user.map({ !allowed.users.contains($0) }) ?? true
        {
            let mark = entries.first { $0.key == "user" }?.node.mark ?? key.mark
            users[name] = (mark, reader.excerpt(at: mark))
        }
    }
}

extension SourceMark {
    fileprivate static let start = SourceMark(line: 1, column: 1)
}
