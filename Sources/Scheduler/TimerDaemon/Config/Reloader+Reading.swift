// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import HostThreads
import Synchronization
import TimerConfig
import TimerControl
import TimerCore
import TimerZones

/// Reads the configuration and finds the part of it that can be used.
extension Reloader {
    /// Why a configuration is refused: its errors, of which only the first may have sentences.
    package struct Errors: Error {
        var sentences: [String]
        var number: Int

        var count: String { plural(number, "error") }
    }

    /// The usable part of the configuration that was read.
    package struct Readable: Sendable {
        var settings: DaemonSettings
        var warnings: [String]
        var findings: ConfigFindings
        var jobs: Jobs
        /// The queries about this machine, with the warning if some were not answered in time.
        var machine: TimeLimitedMachine
        var origins: ConfigOrigins
        /// What it was read from; nil if the next reload must read everything.
        var contents: ConfigContents?
        /// The jobs that were not loaded, and the errors of jobs that do not change.
        var rejected: [Rejection]
        /// The errors of the files that are refused.
        var errors: [String]

        /// What was read: everything, or the part that can be used or has changed.
        enum Jobs: Sendable {
            case all(JobSet)
            /// The jobs of the files without errors.
            case part(ConfigPart)
            /// The jobs of the files that have changed.
            case change(ConfigChange)
        }

        init(_ reading: ConfigReading, _ jobs: Jobs, asking machine: TimeLimitedMachine) {
            self.jobs = jobs
            self.machine = machine
            settings = reading.settings
            findings = ConfigFindings(of: reading)
            warnings = findings.warnings.sentences
            let part: ConfigPart?
            switch jobs {
            case .all: (part, origins) = (nil, ConfigOrigins(of: reading))
            case .part(let some): (part, origins) = (some, some.origins)
            case .change(let change): (part, origins) = (nil, change.origins)
            }
            contents = reading.contents
            rejected = reading.rejections(with: part)
            errors = reading.errors.map(\.description)
        }

        var refused: [String] {
            if case .part(let part) = jobs { part.refused } else { [] }
        }

        /// The jobs that keep their definitions, because their files are refused or did not change.
        var kept: [Job.Name] {
            switch jobs {
            case .all: []
            case .part(let part): part.kept.map(\.job)
            case .change(let change): change.kept
            }
        }

        /// - Parameter kept: the definitions in use of the jobs in `kept`, in its order.
        func jobSet(keeping kept: [Job]) -> Result<JobSet, Errors> {
            switch jobs {
            case .all(let jobSet): return .success(jobSet)
            case .change(let change): return .success(change.jobSet(keeping: kept))
            case .part(let part):
                do throws(ConfigError) {
                    return .success(try part.jobSet(keeping: kept))
                } catch {
                    return .failure(
                        Errors(sentences: errors + [error.description], number: errors.count + 1))
                }
            }
        }
    }

    /// The machine at this time. The service of this process has its own /tmp, /var/tmp and /dev,
    /// which are not those of the jobs, so nothing in them is looked at. A home directory that
    /// ProtectHome= hides cannot be entered, so nothing in it is reported as missing.
    private func machine() -> TimeLimitedMachine {
        let own = ["/tmp", "/var/tmp", "/dev"]
        let look = MachineCheck(
            runsAsRoot: !runsJobs, hidden: runsJobs ? [] : own,
            privileges: runsJobs ? OwnPrivileges() : nil,
            highestLimits: HighestLimits(ofOwnRunner: runsJobs))
        return TimeLimitedMachine(Machine(look), on: lookUps)
    }

    func digest() -> Int { ConfigReader.digest(path: path, ownerUID: user) }

    /// Reads the configuration.
    ///
    /// - Parameter contents: what the configuration in use was read from; nil to parse all files.
    func read(
        isStrict: Bool, changesSince contents: ConfigContents? = nil
    ) -> Result<Readable, Errors> {
        defer { Heap.giveBackSoon() }
        do throws(ConfigError) {
            let machine = machine()
            let (origins, known) = state.withLock { ($0.origins, $0.zones) }
            // A job whose zone is gone from the machine does not make its file wrong.
            let zones = ZoneFiles(folder: zoneFolder, substitute: .remembered(known))
            var throttle = ThreadThrottle()
            var reading = try ConfigReader.load(
                changesSince: contents, jobs: { origins.jobs(of: $0) }, path: path, ownerUID: user,
                zones: zones, seed: MachineID.seed,
                checks: ConfigChecks(at: clocks.now().wall, asking: machine),
                concurrentRunsMax: concurrentRunsMax
            ) { throttle.pauseIfDue() }
            state.withLock { state in
                state.zones.merge(reading.zones) { $1 }
                state.missingZones = reading.missingZones
                state.datesFiles = reading.datesFiles
            }
            if machine.hasTimedOut { reading.warnUnchecked(in: path) }
            func readable(_ jobs: Readable.Jobs) -> Result<Readable, Errors> {
                .success(Readable(reading, jobs, asking: machine))
            }
            if !reading.unchanged.isEmpty {
                return readable(.change(ConfigChange(reading, over: origins)))
            }
            if reading.errors.isEmpty { return readable(.all(reading.jobSet)) }
            if !isStrict, let part = reading.part(over: origins) { return readable(.part(part)) }
            return .failure(
                Errors(
                    sentences: reading.errors.map(\.description), number: reading.errorCount))
        } catch {
            return .failure(Errors(sentences: [error.description], number: 1))
        }
    }

    /// Applies a configuration of which only the changed files were parsed, with the jobs in use of
    /// the other files if these are still the same. Otherwise reads everything.
    func complete(_ reading: Readable, with change: ConfigChange, _ reload: Reload) {
        loop.later { [self] loop in
            loop.reload(keeping: change.kept, on: queue) { [self] jobs in
                guard let jobSet = jobSet(reading, with: change, jobs) else {
                    readEverything(reload)
                    return nil
                }
                report(reading, nil, because: reload.cause)
                accept(reading, reload)
                return Loop.NewJobSet(jobSet, rejected: reading.rejected)
            } done: { [self] notice in
                queue.async { [self] in reply(to: notice, reading, reload) }
            }
        }
    }

    /// - Returns: nil if reading everything may find something else.
    private func jobSet(
        _ reading: Readable, with change: ConfigChange, _ jobs: [Job]
    ) -> JobSet? {
        guard jobs.count == change.kept.count else { return nil }
        var throttle = ThreadThrottle()
        let checks = ConfigChecks(at: clocks.now().wall, asking: reading.machine)
        let zones = ZoneFiles(folder: zoneFolder)
        guard
            ConfigReader.holds(
                jobs, checks: checks, zones: zones, eachJob: { throttle.pauseIfDue() }),
            !reading.machine.hasTimedOut
        else { return nil }
        return change.jobSet(keeping: jobs) { throttle.pauseIfDue() }
    }

    /// Continues a reload as one that begins now.
    private func readEverything(_ reload: Reload) {
        queue.async { [self] in
            var reload = reload
            reload.number = state.withLock { $0.begin().number }
            loop.launcher.refresh()
            continueReload(reload, with: read(isStrict: reload.isStrict))
        }
    }

    /// A sentence such as `1 file of jobs.d was refused: a.toml; its jobs stay as they are`.
    static func refusal(of files: [String]) -> String? {
        guard !files.isEmpty else { return nil }
        let most = 5
        let names = files.prefix(most).map { file in
            // A name may have any characters, and the sentence is one line.
            Printable.text(file.split(separator: "/").last.map(String.init) ?? file)
        }
        let more = files.count > most ? " and \(files.count - most) more" : ""
        return plural(files.count, "file of jobs.d was", "files of jobs.d were") + " refused: "
            + names.joined(separator: ", ") + more
            + (files.count == 1 ? "; its jobs stay as they are" : "; their jobs stay as they are")
    }
}
