// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerZones

/// What a configuration without errors was read from, so that the next reading need not parse files
/// that did not change.
///
/// Only files of `jobs.d` are in it whose jobs depend on nothing in other files but the settings, the
/// defaults, the notifiers and the slots. What depends on the machine, such as a time zone, is compared
/// by `ConfigReader.holds`.
public struct ConfigContents: Sendable {
    /// The hashes of the files that need not be parsed again, by their paths.
    var files: [String: Int]
    var settings: DaemonSettings
    /// A hash of `[defaults]` of the main file.
    var defaults: Int
    var notifiers: [Notifier]
    var slots: [RunSlot]

    /// Whether the jobs of unchanged files are the same beside these settings, defaults, notifiers and
    /// slots.
    func allows(_ reading: ConfigReading) -> Bool {
        reading.contents?.defaults == defaults && reading.settings == settings
            && reading.jobSet.notifiers == notifiers && reading.jobSet.slots == slots
    }

    /// A hash of the contents of a file, which is valid only in this process.
    static func hash(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes.count)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}

extension ConfigReader {
    /// Reads the files that have changed since an earlier reading, by the same rules as `load`. If
    /// that is not enough to know what `load` would find, it reads all of them.
    ///
    /// - Parameters:
    ///   - contents: what the earlier reading was read from; nil to read all files.
    ///   - jobs: the jobs that this reading found in these files.
    ///   - computesTimes: whether the schedules are used. If not, the time zones and the files of dates do
    ///     not matter.
    ///   - others: as for `load`.
    /// - Returns: a reading whose `unchanged` names the files that were not parsed. Their jobs are
    ///   not in it; the caller has them, and asks `holds` about them. Such a reading has no errors.
    /// - Throws: as `load`.
    /// - Complexity: O(*n*) in the bytes of all files, and in the jobs of all files.
    public static func load(
        changesSince contents: ConfigContents?, jobs: (Set<String>) -> [Job.Name],
        path: String, ownerUID: UInt32, zones: ZoneFiles = ZoneFiles(), seed: UInt64 = 0,
        checks: ConfigChecks? = nil, concurrentRunsMax: Int? = nil, computesTimes: Bool = true,
        eachJob: (() -> Void)? = nil
    ) throws(ConfigError) -> ConfigReading {
        let zones = computesTimes ? zones : ZoneFiles(substitute: .utc)
        func load(_ known: [String: Int]) throws(ConfigError) -> ConfigReading {
            try Self.load(
                path: path, ownerUID: ownerUID, zones: zones, seed: seed, checks: checks,
                concurrentRunsMax: concurrentRunsMax, known: known,
                readsDates: computesTimes, eachJob: eachJob)
        }
        guard let contents else { return try load([:]) }
        let reading = try load(contents.files)
        guard !reading.unchanged.isEmpty else { return reading }
        let kept = jobs(reading.unchanged)
        if contents.allows(reading), isApart(reading, from: kept, eachJob) { return reading }
        return try load([:])
    }

    /// Whether the jobs of a reading concern none of the others: not if a job is defined twice,
    /// if the earlier name of a job is that of another one, or if there are too many together.
    private static func isApart(
        _ reading: ConfigReading, from others: [Job.Name], _ eachJob: (() -> Void)?
    ) -> Bool {
        let jobs = reading.jobSet.jobs
        guard jobs.count + others.count <= reading.settings.jobsMax else { return false }
        let names = Set(jobs.map { $0.fleet?.template ?? $0.name }).union(
            jobs.compactMap(\.renamedFrom))
        for name in others {
            guard !names.contains(name) else { return false }
            eachJob?()
        }
        return true
    }

    /// Whether reading a file again that did not change would find the same jobs in it, and nothing
    /// to warn of. It would not if a time zone or the machine has changed, or if a time has passed.
    ///
    /// - Parameter eachJob: called after each job, so that the caller can pause.
    /// - Complexity: O(*n*) in the number of jobs.
    public static func holds(
        _ jobs: some Sequence<Job>, checks: ConfigChecks, zones: ZoneFiles = ZoneFiles(),
        eachJob: () -> Void
    ) -> Bool {
        var decoder = Decoder(zones: zones, seed: 0, checks: checks)
        for job in jobs {
            guard decoder.holds(job, checks) else { return false }
            eachJob()
        }
        return true
    }
}

extension Decoder {
    fileprivate mutating func holds(_ job: Job, _ checks: ConfigChecks) -> Bool {
        if case .wall(let schedule) = job.schedule {
            for zone in schedule.zones where !hasRules(of: zone) { return false }
            guard schedule.findings(at: checks.now).isEmpty else { return false }
        }
        return findings(of: job, checks).isEmpty
    }

    /// Whether the rules of a zone are those of the machine now.
    private func hasRules(of zone: ZoneRules) -> Bool {
        do throws(ZoneFiles.Failure) {
            return try zone == (zone.isLocal ? zones.local() : zones.rules(named: zone.name))
        } catch {
            return false
        }
    }
}
