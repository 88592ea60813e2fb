// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What keeps a reload from using everything that was read.
public struct ConfigFaults: Hashable, Sendable {
    /// Whether nothing of it can be used: the main file has an error, `jobs.d` cannot be listed, or a rule about all
    /// jobs is broken.
    public var isWhole = false
    /// The files of `jobs.d` that have an error, by their paths.
    public var files: Set<String> = []
    /// The jobs that are written in those files, each with its file.
    public var jobs: [Job.Name: String] = [:]
}

/// Which files of `jobs.d` the jobs in use are from, so that the jobs of a file with an error can stay as they are.
public struct ConfigOrigins: Sendable {
    /// The jobs of each file, in the order of the file. Those of the main file are not here: a reload uses the whole of
    /// it or nothing.
    var jobs: [String: [Job.Name]] = [:]
    /// The files that have a table `[daemon]`.
    var settings: Set<String> = []

    /// The files of what was read, all of which is in use.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    public init(of reading: ConfigReading) {
        settings = reading.settingsFiles
        var rest = reading.jobSet.jobs[...]
        for (index, share) in reading.shares.enumerated() {
            if index > 0 { jobs[share.file] = rest.prefix(share.jobs).map(\.name) }
            rest = rest.dropFirst(share.jobs)
        }
    }

    /// The jobs of a file of `jobs.d`.
    func jobs(of file: String) -> [Job.Name] { jobs[file] ?? [] }
}

/// The part of a configuration that a reload uses although files of `jobs.d` have errors. The jobs of these files stay as
/// they are.
public struct ConfigPart: Sendable {
    /// The files that are refused, in their order.
    public let refused: [String]
    /// The jobs that stay as they are, each with its file. Not all of them need to be in use.
    public let kept: [(job: Job.Name, file: String)]
    /// Where the jobs are from that are in use afterwards.
    public let origins: ConfigOrigins
    private let pieces: [Piece]
    private let jobsMax: Int

    fileprivate enum Piece {
        case read(ArraySlice<Job>)
        case kept([Job.Name])
    }

    /// The configuration, with the jobs that stay as they are in the places of their files.
    ///
    /// - Parameter kept: those that are in use, by their names.
    /// - Throws: `ConfigError` if they do not go together with the others.
    /// - Complexity: O(*n*) in the number of jobs.
    public func jobSet(keeping kept: [Job.Name: Job]) throws(ConfigError) -> JobSet {
        var jobs: [Job] = []
        for piece in pieces {
            switch piece {
            case .read(let read): jobs += read
            case .kept(let names): jobs += names.compactMap { kept[$0] }
            }
        }
        let file = refused[0]
        guard jobs.count <= jobsMax else {
            throw ConfigError(
                file: file,
                message:
                    "with its jobs, which stay as they are, there are \(jobs.count) jobs; correct it, "
                    + "or raise jobs-max in [daemon], which is \(jobsMax)")
        }
        for job in jobs {
            guard let old = job.renamedFrom, kept[job.name] == nil, kept[old] != nil else {
                continue
            }
            throw ConfigError(
                file: self.kept.first { $0.job == old }?.file ?? file,
                message:
                    "its job \"\(old)\" stays as it is, so job \"\(job.name)\" cannot be renamed from it; "
                    + "correct this file first")
        }
        return JobSet(jobs)
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
        // The main file is the first; the others come in the order of their names.
        let others = Set(order.dropFirst()).union(files).sorted()
        // A job that was moved out of a refused file is where it is now.
        var known = Set(read.values.joined().map(\.name))
        var next = ConfigOrigins(of: reading)
        var kept: [(job: Job.Name, file: String)] = []
        var pieces = order.prefix(1).map { Piece.read(read[$0] ?? []) }
        for file in others {
            if let jobs = read[file] {
                pieces.append(.read(jobs))
                continue
            }
            let names = origins.jobs(of: file).filter { known.insert($0).inserted }
            next.jobs[file] = names
            kept += names.map { ($0, file) }
            pieces.append(.kept(names))
        }
        // And one that was moved into a refused file is not lost.
        let moved = reading.faults.jobs.filter { known.insert($0.key).inserted }
            .sorted { $0.key < $1.key }
        for (job, file) in moved {
            next.jobs[file, default: []].append(job)
            kept.append((job, file))
        }
        pieces.append(.kept(moved.map(\.key)))
        self.kept = kept
        self.pieces = pieces
        self.origins = next
        jobsMax = reading.settings.jobsMax
    }
}

extension ConfigReading {
    /// What a reload uses of this, if it has errors.
    ///
    /// A file with a table `[daemon]` is refused only together with everything else: what it says of all jobs, such as
    /// whose runs are allowed, must not change because a line of it has an error.
    ///
    /// - Parameter origins: where the jobs in use are from.
    /// - Returns: nil if nothing of it can be used.
    public func part(over origins: ConfigOrigins) -> ConfigPart? {
        guard !faults.isWhole, !faults.files.isEmpty,
            faults.files.isDisjoint(with: origins.settings.union(settingsFiles))
        else { return nil }
        return ConfigPart(self, over: origins)
    }
}
