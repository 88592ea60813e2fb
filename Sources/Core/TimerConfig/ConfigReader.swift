// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerZones

/// The result of reading a configuration: its usable part and its errors.
public struct ConfigReading: Sendable {
    /// The jobs without an error, in the order of the files.
    public var jobSet: JobSet
    /// How many jobs each file defines, by its path, in the order of the files.
    public var shares: [(file: String, jobs: Int)]
    /// In which line of its file each job begins, from 1, in the order of the jobs.
    var lines: [UInt32]
    /// The daemon's own settings; a setting with an error has its default.
    public var settings: DaemonSettings
    /// The errors in the order of the files. Each file has at most `errorsMax` errors, and one more
    /// with the number of the others.
    public var errors: [ConfigError]
    /// The number of all errors, including those that `errors` only counts.
    public var errorCount: Int
    /// The names of the jobs that are left out because of an error in them or in the `[defaults]`
    /// that they have, and the files that are left out.
    public var rejected: [String]
    /// Those of `errors` that are in a table `[defaults]`.
    public var defaultsErrors: [ConfigError] = []
    /// Possible mistakes that are no errors, if they were requested. Each file has at most
    /// `errorsMax` warnings, and as many notes.
    public var warnings: [ConfigWarning]
    /// The number of all warnings, also those that are not in `warnings`; notes are not counted.
    public var warningCount: Int
    /// The number of all notes, also those that are not in `warnings`.
    public var noteCount: Int
    /// Why a reload cannot use everything; empty if there is no error.
    public var faults = ConfigFaults()
    /// The files that have a table of settings, such as `[daemon]`.
    public var settingsFiles: Set<String> = []
    /// What a later reading needs to parse only what has changed; nil if it must parse everything.
    public var contents: ConfigContents?
    /// The files that were not parsed, because they have not changed. Their jobs are not in this
    /// reading.
    public var unchanged: Set<String> = []

    /// The time zones that are named, with their rules, and the names of those that the machine does
    /// not have.
    public var zones: [String: ZoneRules] = [:]
    public var missingZones: Set<String> = []
    /// The files of dates by their paths, with hashes of their contents, or of the reasons why they
    /// cannot be read. The hashes are valid only in this process.
    public var datesFiles: [String: Int] = [:]
    /// Whether jobs refer to tables that none of the files has, such as `[notify.ops]`.
    public var lacksTables = false

    /// How many errors, warnings and notes of one file are reported, each: people fix the first
    /// ones first.
    public static let errorsMax = 100
}

/// The tables of settings that are not of single jobs, such as `[daemon]`.
public struct DaemonSettings: Hashable, Sendable {
    /// How many runs of all jobs may be active at once.
    public var maxConcurrent = 64
    /// The most that `max-concurrent` may be.
    static let concurrentMax: Int64 = 10_000
    /// How long runs that ended are kept; the latest run of each job stays.
    public var history: Duration = .seconds(30 * 86_400)
    /// How many bytes the database may have before the oldest of them are deleted.
    public var historyMax: Int64 = 1 << 30
    /// The least that `history-max` may be, in bytes.
    static let historyMaxLeast: UInt64 = 16 << 20
    /// The users that jobs may run as; nil for all.
    public var allowedUsers: AllowedUsers?
    /// How many jobs the configuration may have, in all files.
    public var jobsMax = 100_000
    /// From one job to the most with which a start takes less than 10 s and nothing that concerns
    /// all jobs delays a firing by more than 0.1 s (Benchmarks/README.md).
    static let jobsRange: ClosedRange<Int64> = 1...250_000
    /// Whether the daemon notices changes of the files and uses them without a request.
    public var autoReload = true
    /// Who may change things, in addition to root and the daemon's user.
    public var operators = AllowedUsers(users: [], groups: [])
    /// The hosts under which a reverse proxy serves the status page, in small letters, some with a port.
    public var webHosts: [String] = []
    /// Of how many jobs metrics have series of their own.
    public var metricsJobsMax = 1000
    /// The fleet that this machine belongs to; nil: none.
    public var fleet: FleetSettings?

    public init() {}

    /// The `concurrency-max` of a job that allows runs at the same time and does not set one: three
    /// quarters of the limit for all jobs, and at most the limit minus one, so that other jobs can
    /// run. At least 1.
    ///
    /// - Parameter places: the limit for all jobs.
    static func concurrencyMax(ofPlaces places: Int) -> Int { max(1, places - max(1, places / 4)) }
}

/// What is checked in a configuration beside errors.
public struct ConfigChecks: Sendable {
    /// The instant from which schedules are checked for possible mistakes.
    public var now: WallInstant
    /// The machine whose users, groups, directories and programs are checked; nil to check none.
    public var machine: (any MachineQueries)?
    /// Whether jobs without a user run as root, so that each of them causes a warning.
    public var runsAsRoot: Bool

    /// By default only checks that ask nothing of the machine.
    public init(
        at now: WallInstant, asking machine: (any MachineQueries)? = nil, runsAsRoot: Bool = false
    ) {
        self.now = now
        self.machine = machine
        self.runsAsRoot = runsAsRoot
    }
}

/// Reads the files of a configuration, and finds what can be used of it.
public enum ConfigReader {
    /// The most bytes of a file; a larger one is refused as a whole.
    public static let bytesMax = ConfigFiles.bytesMax

    /// Reads the file and, if there is a directory `jobs.d` beside it, the files `*.toml` in it, in
    /// the order of their names.
    ///
    /// - Parameters:
    ///   - path: the main file.
    ///   - ownerUID: the user whose files are trusted, beside root's.
    ///   - zones: the machine's time zones.
    ///   - seed: the seed of the machine, from which `H` and `~` of crontab lines are computed.
    ///   - checks: what to check beside errors; nil for nothing.
    ///   - concurrentRunsMax: the limit for the runs of all jobs in a daemon that is running,
    ///     whatever the files say by now; nil for `max-concurrent`.
    ///   - replacing: a file with other contents, which are used instead of reading it.
    ///   - eachJob: called after each job, so that the caller can pause. Nil: without pauses, and a
    ///     large file is parsed on another thread meanwhile.
    /// - Throws: `ConfigError` if the main file cannot be read or is no TOML. All other errors are
    ///   in the result.
    public static func load(
        path: String, ownerUID: UInt32, zones: ZoneFiles = ZoneFiles(), seed: UInt64 = 0,
        checks: ConfigChecks? = nil, concurrentRunsMax: Int? = nil,
        replacing: (file: String, bytes: [UInt8])? = nil, eachJob: (() -> Void)? = nil
    ) throws(ConfigError) -> ConfigReading {
        try load(
            path: path, ownerUID: ownerUID, zones: zones, seed: seed, checks: checks,
            concurrentRunsMax: concurrentRunsMax, replacing: replacing, known: [:],
            eachJob: eachJob)
    }

    /// - Parameters:
    ///   - known: the files that are not parsed if their contents have these hashes.
    ///   - readsDates: whether files of dates are read; if not, they are taken to have none.
    static func load(
        path: String, ownerUID: UInt32, zones: ZoneFiles, seed: UInt64, checks: ConfigChecks?,
        concurrentRunsMax: Int?, replacing: (file: String, bytes: [UInt8])? = nil,
        known: [String: Int], readsDates: Bool = true, eachJob: (() -> Void)?
    ) throws(ConfigError) -> ConfigReading {
        var decoder = Decoder(
            zones: zones, seed: seed, checks: checks, concurrentRunsMax: concurrentRunsMax)
        decoder.eachJob = eachJob
        decoder.readsDates = readsDates
        try read(
            ConfigFiles(main: path, ownerUID: ownerUID), replacing: replacing, known: known,
            into: &decoder)
        return decoder.reading()
    }

    static func read(
        _ files: ConfigFiles, replacing: (file: String, bytes: [UInt8])?, known: [String: Int],
        into decoder: inout Decoder
    ) throws(ConfigError) {
        func bytes(
            of file: String, _ read: () throws(ConfigError) -> [UInt8]
        ) throws(ConfigError) -> [UInt8] {
            guard let replacing, replacing.file == file else { return try read() }
            return replacing.bytes
        }
        decoder.files = files
        let main = try bytes(of: files.main) { () throws(ConfigError) in try files.readMain() }
        decoder.decode(try Document(bytes: main, file: files.main))
        let (others, error) = files.others()
        if let error { decoder.leaveOutFolder(error) }
        // With pauses between the jobs, others need the processors.
        let parsing = Parsing(isAhead: decoder.eachJob == nil)
        parsing.each(of: others) { (other) throws(ConfigError) in
            let bytes = try bytes(of: other.path) { () throws(ConfigError) in
                try files.read(other)
            }
            let hash = ConfigContents.hash(bytes)
            if known[other.path] == hash { return .unchanged(hash) }
            return .contents(parsing.contents(bytes, of: other.path), hash)
        } take: { other, file, following in
            // Of the files that follow, those that are known have no jobs to read.
            decoder.filesToCome = known.isEmpty ? following : 0
            do throws(ConfigError) {
                switch try file.get() {
                case .unchanged(let hash): decoder.keep(file: other.path, hash: hash)
                case .contents(let contents, let hash):
                    decoder.decode(try contents.document(), hash: hash)
                }
            } catch {
                decoder.leaveOut(file: other.path, error)
            }
        }
        let (oneOffs, oneOffError) = files.oneOffs()
        if let oneOffError { decoder.leaveOutFolder(oneOffError) }
        for file in oneOffs {
            do throws(ConfigError) {
                try decoder.decodeOneOff(
                    try Document(bytes: try files.read(file), file: file.path), named: file.name)
            } catch {
                // The one-off job has ended, or was cancelled, since the directory was listed.
                guard files.isThere(file) else { continue }
                decoder.leaveOut(file: file.path, error)
            }
        }
    }

    /// The place of a job, with or without errors; nil if no readable file has it.
    ///
    /// - Throws: `ConfigError` if the main file cannot be read or is no TOML.
    public static func place(
        of job: Job.Name, path: String, ownerUID: UInt32
    ) throws(ConfigError) -> (file: String, line: Int)? {
        var decoder = Decoder(zones: ZoneFiles(), seed: 0, checks: nil)
        try read(
            ConfigFiles(main: path, ownerUID: ownerUID), replacing: nil, known: [:], into: &decoder)
        return decoder.place(of: job).map { ($0.file, $0.mark.line) }
    }

    /// A hash of the contents of the files, or of the errors that prevent reading them. It differs
    /// between two states of the files, almost certainly, and is valid only in this process.
    ///
    /// - Complexity: O(*n*) in the bytes of the files, which are not parsed.
    public static func digest(path: String, ownerUID: UInt32) -> Int {
        let files = ConfigFiles(main: path, ownerUID: ownerUID)
        var hasher = Hasher()
        func add(_ name: String, _ read: () throws(ConfigError) -> [UInt8]) {
            hasher.combine(name)
            do throws(ConfigError) {
                let bytes = try read()
                hasher.combine(ConfigContents.hash(bytes))
            } catch {
                hasher.combine(error)
            }
        }
        add(path) { () throws(ConfigError) in try files.readMain() }
        let (others, error) = files.others()
        hasher.combine(error)
        for other in others { add(other.path) { () throws(ConfigError) in try files.read(other) } }
        return hasher.finalize()
    }

    /// Whether a file of dates has other contents than these, or can be read now and could not
    /// before, or the other way round.
    ///
    /// - Parameter known: `datesFiles` of a reading in this process.
    /// - Complexity: O(*n*) in the bytes of the files.
    public static func haveChanged(
        _ known: [String: Int], path: String, ownerUID: UInt32
    ) -> Bool {
        let files = ConfigFiles(main: path, ownerUID: ownerUID)
        return known.contains { files.hash(ofDates: $0.key) != $0.value }
    }

    /// The name of the directory beside the main file that contains a definition `NAME.toml` for
    /// each one-off job.
    public static let oneOffDirectory = "one-off.d"

    /// Reads the definition of a one-off job, by the same rules as `load`.
    ///
    /// - Parameters:
    ///   - path: the main file of the configuration, which is not read.
    ///   - settings: the settings in use.
    /// - Throws: the first error in it.
    public static func loadOneOff(
        _ name: String, path: String, ownerUID: UInt32, settings: DaemonSettings,
        zones: ZoneFiles = ZoneFiles()
    ) throws(ConfigError) -> Job {
        let files = ConfigFiles(main: path, ownerUID: ownerUID)
        var decoder = Decoder(
            zones: zones, seed: 0, checks: nil, settings: settings, isSingle: true)
        let file = try files.oneOff("\(name).toml")
        try decoder.decodeOneOff(
            try Document(bytes: try files.read(file), file: file.path), named: file.name)
        let reading = decoder.reading()
        if let error = reading.errors.first { throw error }
        return reading.jobSet.jobs[0]
    }

    /// Reads one text as if it were the only file, or the only one beside others.
    ///
    /// - Parameter ownerUID: the user whose files of dates are trusted, beside root's; nil: none can
    ///   be read.
    /// - Throws: `ConfigError` if it is no TOML.
    public static func read(
        _ bytes: [UInt8], file: String, beside surroundings: ConfigSurroundings? = nil,
        ownerUID: UInt32? = nil, zones: ZoneFiles = ZoneFiles(), seed: UInt64 = 0,
        checks: ConfigChecks? = nil
    ) throws(ConfigError) -> ConfigReading {
        var decoder = Decoder(
            zones: zones, seed: seed, checks: checks, surroundings: surroundings)
        decoder.files = ownerUID.map { ConfigFiles(main: file, ownerUID: $0) }
        decoder.decode(try Document(bytes: bytes, file: file))
        return decoder.reading()
    }

    /// The names of all keys, by table, for the documentation and its tests.
    public static var knownKeys: (daemon: [String], job: [String]) {
        (DaemonKey.all.map(\.name), JobKey.all.map(\.name))
    }

    /// The names of the other tables, with the names of their keys. The tables `notify`, `slot` and
    /// `dates` contain tables with these keys.
    public static var settingsTables: [(name: String, keys: [String])] {
        SettingsTable.all.filter { $0.name != "daemon" }.map { ($0.name, $0.keys.map(\.name)) }
            + [
                ("notify", NotifierKey.all.map(\.name)), ("slot", SlotDraft.keys.map(\.name)),
                ("dates", DatesDraft.keys.map(\.name)),
            ]
    }
}
