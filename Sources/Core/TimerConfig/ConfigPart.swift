// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// Why a reload cannot use everything that was read.
public struct ConfigFaults: Hashable, Sendable {
    /// Whether nothing of it can be used, because the main file has an error, `jobs.d` cannot be
    /// listed, or the jobs together break a rule.
    public var isWhole = false
    /// The files of `jobs.d` that have errors, by their paths.
    public var files: Set<String> = []
    /// The jobs that are defined in those files, each with its file.
    public var jobs: [Job.Name: String] = [:]
}

/// From which files the jobs in use come, so that the jobs of a file with an error can be kept, and
/// that it can be said where a job is defined.
public struct ConfigOrigins: Sendable {
    /// A job, and the line of its file in which it begins.
    struct DefinedJob: Sendable {
        var name: Job.Name
        var line: UInt32
    }

    /// The jobs of each file of `jobs.d`, in the order of the file.
    var jobs: [String: [DefinedJob]] = [:]
    /// The main file, of which a reload uses everything or nothing, and its jobs.
    private(set) var main: (file: String, jobs: [DefinedJob])
    /// The files that have a table of settings, such as `[daemon]`.
    var settings: Set<String> = []

    /// The origins of a configuration that is used as a whole.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    public init(of reading: ConfigReading) {
        settings = reading.settingsFiles
        main = (reading.shares.first?.file ?? "", [])
        var rest = zip(reading.jobSet.jobs, reading.lines).map {
            DefinedJob(name: $0.name, line: $1)
        }[...]
        for (index, share) in reading.shares.enumerated() {
            let defined = Array(rest.prefix(share.jobs))
            if index > 0 { jobs[share.file] = defined } else { main.jobs = defined }
            rest = rest.dropFirst(share.jobs)
        }
    }

    /// Where a job begins: the path of its file, and the line, from 1; nil if it is not known.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    public func place(of job: Job.Name) -> (file: String, line: Int)? {
        for (file, defined) in [(main.file, main.jobs)] + jobs.map({ ($0.key, $0.value) }) {
            if let found = defined.first(where: { $0.name == job }), found.line > 0 {
                return (file, Int(found.line))
            }
        }
        return nil
    }

    /// The jobs of a file of `jobs.d`; none if the file is not known.
    func jobs(of file: String) -> [Job.Name] { (jobs[file] ?? []).map(\.name) }

    /// The jobs of these files of `jobs.d`, in any order.
    public func jobs(of files: Set<String>) -> [Job.Name] { files.flatMap { jobs(of: $0) } }
}

/// The part of a configuration that a reload uses although files of `jobs.d` have errors. The jobs
/// of these files do not change.
public struct ConfigPart: Sendable {
    /// The files that are refused, in their order.
    public let refused: [String]
    /// The jobs that do not change, each with its file. Some of them may not be in use.
    public let kept: [(job: Job.Name, file: String)]
    /// The files of the jobs that are in use after the reload.
    public let origins: ConfigOrigins
    private let pieces: JobPieces
    private let jobsMax: Int
    private let notifiers: [Notifier]
    private let slots: [RunSlot]

    /// The configuration with the unchanged jobs in the places of their files.
    ///
    /// - Parameter kept: the unchanged jobs that are in use, in the order of `kept`.
    /// - Throws: `ConfigError` if they conflict with the other jobs.
    /// - Complexity: O(*n*) in the number of jobs.
    public func jobSet(keeping kept: [Job]) throws(ConfigError) -> JobSet {
        let jobs = pieces.jobs(keeping: kept)
        let file = refused[0]
        guard jobs.count <= jobsMax else {
            throw ConfigError(
                file: file,
                message:
                    "with its jobs, which stay as they are, there are \(jobs.count) jobs; correct it, "
                    + "or raise jobs-max in [daemon], which is \(jobsMax)")
        }
        let names = Set(kept.map(\.name))
        for job in jobs {
            guard let old = job.renamedFrom, !names.contains(job.name), names.contains(old) else {
                continue
            }
            throw ConfigError(
                file: self.kept.first { $0.job == old }?.file ?? file,
                message:
                    "its job \"\(old)\" stays as it is, so job \"\(job.name)\" cannot be renamed from it; "
                    + "correct this file first")
        }
        return JobSet(jobs, notifiers: notifiers, slots: slots)
    }

    fileprivate init(
        _ reading: ConfigReading, over origins: ConfigOrigins
    ) {
        let files = reading.faults.files
        refused = files.sorted()
        var read: [String: ArraySlice<Job>] = [:]
        var order: [String] = []
        var rest = reading.jobSet.jobs[...]
        for share in reading.shares {
            order.append(share.file)
            if !files.contains(share.file) { read[share.file] = rest.prefix(share.jobs) }
            rest = rest.dropFirst(share.jobs)
        }
        // The main file comes first, and the others in the order of their names.
        let others = Set(order.dropFirst()).union(files).sorted()
        // If a job was moved from a refused file into another one, its new definition is used.
        var known = Set(read.values.joined().map(\.name))
        var next = ConfigOrigins(of: reading)
        var kept: [(job: Job.Name, file: String)] = []
        var pieces = JobPieces()
        if let main = order.first { pieces.read(read[main] ?? []) }
        for file in others {
            if let jobs = read[file] {
                pieces.read(jobs)
                continue
            }
            let defined = (origins.jobs[file] ?? []).filter { known.insert($0.name).inserted }
            next.jobs[file] = defined
            kept += defined.map { ($0.name, file) }
            pieces.keep(defined.map(\.name))
        }
        // If a job was moved into a refused file, it is kept too.
        let moved = reading.faults.jobs.filter { known.insert($0.key).inserted }
            .sorted { $0.key < $1.key }
        for (job, file) in moved {
            // The line is of the file that is refused: where the job was moved to is not in use.
            next.jobs[file, default: []].append(ConfigOrigins.DefinedJob(name: job, line: 0))
            kept.append((job, file))
        }
        pieces.keep(moved.map(\.key))
        self.kept = kept
        self.pieces = pieces
        self.origins = next
        jobsMax = reading.settings.jobsMax
        notifiers = reading.jobSet.notifiers
        slots = reading.jobSet.slots
    }
}

extension ConfigReading {
    /// The part that a reload uses if this reading has errors.
    ///
    /// A file with a table `[daemon]` is refused only together with everything else. Its settings
    /// concern all jobs, such as the allowed users, and must not change because a line of it has an
    /// error.
    ///
    /// - Parameter origins: the files of the jobs in use.
    /// - Returns: nil if nothing of it can be used.
    public func part(over origins: ConfigOrigins) -> ConfigPart? {
        guard !faults.isWhole, !faults.files.isEmpty,
            faults.files.isDisjoint(with: origins.settings.union(settingsFiles))
        else { return nil }
        return ConfigPart(self, over: origins)
    }
}
