// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostThreads
import Synchronization
import TimerConfig
import TimerControl
import TimerCore

/// Reads the configuration and finds the part of it that can be used.
extension Reloader {
    /// Why a configuration is refused.
    struct Errors: Error {
        var sentences: [String]
        var number: Int

        /// The number of errors, in words.
        var count: String { plural(number, "error") }
    }

    /// The usable part of the configuration that was read.
    struct Readable: Sendable {
        var settings: DaemonSettings
        var warnings: [String]
        var findings: ConfigFindings
        /// All jobs of the configuration, or of the part of it that can be used.
        var whole: JobSet
        var part: ConfigPart?
        var origins: ConfigOrigins
        /// The jobs that were not loaded, and the errors of jobs that do not change.
        var rejected: [Rejection]
        /// The errors of the files that are refused.
        var errors: [String]

        init(_ reading: ConfigReading, part: ConfigPart?) {
            settings = reading.settings
            findings = ConfigFindings(of: reading)
            warnings = findings.warnings.sentences
            whole = reading.jobSet
            self.part = part
            origins = part?.origins ?? ConfigOrigins(of: reading)
            rejected = reading.rejections(with: part)
            errors = reading.errors.map(\.description)
        }

        var refused: [String] { part?.refused ?? [] }
        var kept: [Job.Name] { part?.kept.map(\.job) ?? [] }

        /// - Parameter kept: the definitions in use of the jobs in `kept`.
        func jobSet(keeping kept: [Job.Name: Job]) -> Result<JobSet, Errors> {
            guard let part else { return .success(whole) }
            do throws(ConfigError) {
                return .success(try part.jobSet(keeping: kept))
            } catch {
                return .failure(
                    Errors(sentences: errors + [error.description], number: errors.count + 1))
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
            privileges: runsJobs ? OwnPrivileges() : nil)
        return TimeLimitedMachine(Machine(look), on: lookUps)
    }

    func digest() -> Int { ConfigReader.digest(path: path, ownerUID: user) }

    /// Reads the configuration.
    func read(isStrict: Bool) -> Result<Readable, Errors> {
        defer { Heap.giveBackSoon() }
        do throws(ConfigError) {
            let machine = machine()
            var throttle = ThreadThrottle()
            var reading = try ConfigReader.load(
                path: path, ownerUID: user, seed: MachineID.seed,
                checks: ConfigChecks(at: clocks.now().wall, asking: machine),
                concurrentRunsMax: concurrentRunsMax
            ) { throttle.pauseIfDue() }
            if machine.hasTimedOut { reading.warnUnchecked(in: path) }
            guard !reading.errors.isEmpty else { return .success(Readable(reading, part: nil)) }
            if !isStrict, let part = reading.part(over: state.withLock(\.origins)) {
                return .success(Readable(reading, part: part))
            }
            return .failure(
                Errors(
                    sentences: reading.errors.map(\.description), number: reading.errorCount))
        } catch {
            return .failure(Errors(sentences: [error.description], number: 1))
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
