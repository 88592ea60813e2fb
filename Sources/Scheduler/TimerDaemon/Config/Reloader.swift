// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
package import Logging
import Synchronization
package import TimerConfig
package import TimerControl
package import TimerCore
import TimerLog
import TimerZones

/// Reads the configuration again and hands the new jobs to the loop, one reload after the other. It
/// has a queue of its own, so that a slow disk delays no timer.
package final class Reloader: Sendable {
    /// Why the configuration is read again, for the log.
    package enum Cause {
        /// A user or a program requested it.
        case request(by: String)
        /// `auto-reload` noticed that its files have changed.
        case change
        /// A time zone that jobs name is on the machine again.
        case zones

        /// For the end of a sentence about the reload.
        var text: String {
            switch self {
            case .request(let initiator): "reload requested by \(initiator)"
            case .change: "its files were changed"
            case .zones: "a time zone is there again"
            }
        }
    }

    struct State {
        /// The digest of the files when they were read last.
        var digest: Int
        /// The files of dates that were read last, with hashes of their contents.
        var datesFiles: [String: Int]
        var origins: ConfigOrigins
        /// What the configuration in use was read from; nil if the next reload must read everything, as
        /// while another one is applied.
        var contents: ConfigContents?
        /// The number of the last reload that has begun, and of the last one whose configuration is
        /// used.
        var number = 0
        var accepted = 0
        /// The settings of the configuration in use, also after a refused reload.
        var settings: DaemonSettings
        /// What was reported about it, so that a reload reports only what is new.
        var findings: ConfigFindings
        var watch: ConfigWatch?
        /// The last known rules of the time zones that jobs name.
        var zones: [String: ZoneRules]
        /// The zones that were missing at the last reading.
        var missingZones: Set<String>

        /// Begins a reload.
        /// - Returns: its number, and what the configuration in use was read from, if that is known.
        mutating func begin() -> (number: Int, contents: ConfigContents?) {
            number += 1
            defer { contents = nil }
            return (number, contents)
        }

        /// The reload with this number is applied. It was read from these files.
        mutating func end(_ number: Int, _ contents: ConfigContents?) {
            if number == self.number { self.contents = contents }
        }
    }

    /// One reload, from its cause to its result.
    struct Reload: Sendable {
        var number: Int
        var cause: Cause
        /// Whether any error refuses the whole configuration, and not only the file that has it.
        var isStrict: Bool
        var done: @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    }

    let path: String
    let user: UInt32
    let loop: Loop
    /// Who may give commands, which follows the configuration.
    private let apply: @Sendable (DaemonSettings) -> Void
    private let supervision: Supervision
    let clocks: Clocks
    let log: Logger
    /// Whether the jobs run as the daemon's user, with the same view of the machine. A runner that
    /// is a service of its own runs jobs as root, and sees directories that are hidden from the
    /// service of this process.
    let runsJobs: Bool
    let zoneFolder: String
    /// How many runs may be active at once. This is read only at the start, so a reload does not
    /// change it.
    let concurrentRunsMax: Int
    /// The fleet that this machine joined at the start.
    private let fleet: FleetSettings?
    let queue = DispatchQueue(label: "timerd.config", qos: .default)
    let lookUps = DispatchQueue(label: "timerd.look-ups", qos: .utility)
    let state: Mutex<State>

    /// The configuration in use before the first reload.
    package struct InUse {
        /// The digest of the files before they were read.
        var digest: Int
        var datesFiles: [String: Int]
        var origins: ConfigOrigins
        var contents: ConfigContents?
        var settings: DaemonSettings
        var findings: ConfigFindings
        var zones: [String: ZoneRules]
        var missingZones: Set<String>

        package init(_ reading: ConfigReading, digest: Int) {
            self.digest = digest
            datesFiles = reading.datesFiles
            origins = ConfigOrigins(of: reading)
            contents = reading.contents
            settings = reading.settings
            findings = ConfigFindings(of: reading)
            zones = reading.zones
            missingZones = reading.missingZones
        }
    }

    /// - Parameters:
    ///   - apply: is called with the settings that are in use from now on.
    ///   - zoneFolder: where the time zones of the machine are.
    package init(
        path: String, user: UInt32, inUse: InUse, loop: Loop,
        apply: @escaping @Sendable (DaemonSettings) -> Void,
        supervision: Supervision, clocks: Clocks, log: Logger, runsJobs: Bool,
        zoneFolder: String = ZoneFiles.standardFolder
    ) {
        self.zoneFolder = zoneFolder
        self.apply = apply
        apply(inUse.settings)
        self.path = path
        self.user = user
        self.loop = loop
        self.supervision = supervision
        self.clocks = clocks
        self.log = log
        self.runsJobs = runsJobs
        concurrentRunsMax = inUse.settings.maxConcurrent
        fleet = inUse.settings.fleet
        state = Mutex(
            State(
                digest: inUse.digest, datesFiles: inUse.datesFiles, origins: inUse.origins,
                contents: inUse.contents,
                settings: inUse.settings, findings: inUse.findings, zones: inUse.zones,
                missingZones: inUse.missingZones))
        queue.async { [self] in
            watch(inUse.settings)
            // The files may have changed since they were read.
            if inUse.settings.autoReload { reloadIfChanged() }
        }
    }

    /// Where a job in use is defined: the path of its file, and the line; nil if that is not known.
    ///
    /// - Complexity: O(*n*) in the number of jobs.
    package func place(of job: Job.Name) -> (file: String, line: Int)? {
        state.withLock(\.origins).place(of: job)
    }

    /// How many jobs have metrics of their own.
    package var metricsJobsMax: Int { state.withLock(\.settings.metricsJobsMax) }

    /// Reloads and calls `done` once the change is on the disk. Files of `jobs.d` that have errors
    /// are refused, and their jobs do not change. With any other error the whole configuration is
    /// refused and nothing changes.
    ///
    /// - Parameter isStrict: whether any error refuses the whole configuration.
    package func reload(
        by initiator: String, isStrict: Bool = false,
        done: @escaping @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        queue.async { [self] in
            reload(.request(by: initiator), isStrict: isStrict, digest: digest(), done)
        }
    }

    func reload(
        _ cause: Cause, isStrict: Bool = false, digest: Int,
        _ done: @escaping @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        supervision.reloading(at: clocks.now())
        let (number, contents) = state.withLock { state in
            state.digest = digest
            return state.begin()
        }
        // The runner reads the files at the same time, so it has the definitions when the first job
        // changes.
        loop.launcher.refresh()
        let reload = Reload(number: number, cause: cause, isStrict: isStrict, done: done)
        continueReload(reload, with: read(isStrict: isStrict, changesSince: contents))
        // A watched directory may have been replaced, or one may exist now that did not exist
        // before.
        let (watch, files) = state.withLock { ($0.watch, $0.datesFiles) }
        watch?.look(for: files.keys)
    }

    func continueReload(_ reload: Reload, with result: Result<Readable, Errors>) {
        switch result {
        case .success(let reading): apply(reading, reload)
        case .failure(let errors): refuse(errors, reload)
        }
    }

    private func apply(_ reading: Readable, _ reload: Reload) {
        switch reading.jobs {
        case .all(let jobSet): apply(jobSet, of: reading, reload)
        case .part: applyPart(of: reading, reload)
        case .change(let change): complete(reading, with: change, reload)
        }
    }

    private func apply(_ jobSet: JobSet, of reading: Readable, _ reload: Reload) {
        report(reading, nil, because: reload.cause)
        accept(reading, reload)
        let new = Loop.NewJobSet(jobSet, rejected: reading.rejected)
        loop.later { [self] loop in
            loop.reload(new) { [self] notice in
                queue.async { [self] in reply(to: notice, reading, reload) }
            }
        }
    }

    private func applyPart(of reading: Readable, _ reload: Reload) {
        let refusal = Self.refusal(of: reading.refused)
        report(reading, refusal, because: reload.cause)
        let rejected = reading.rejected
        loop.later { [self] loop in
            loop.reload(keeping: reading.kept, on: queue) { [self] kept in
                switch reading.jobSet(keeping: kept) {
                case .success(let jobSet):
                    accept(reading, reload)
                    let known = Self.names(in: jobSet)
                    return Loop.NewJobSet(
                        jobSet, rejected: rejected.filter { !known.contains($0.name) },
                        outdated: rejected.filter { known.contains($0.name) },
                        refusal: refusal)
                case .failure(let errors):
                    refuse(errors, reload)
                    return nil
                }
            } done: { [self] notice in
                queue.async { [self] in reply(to: notice, reading, reload) }
            }
        }
    }

    /// Logs the errors in the configuration that was read. After a change of a file that timerd noticed by itself, only
    /// those that are new; after a reload that a user requested, all of them.
    func report(_ reading: Readable, _ refusal: String?, because cause: Cause) {
        var news = reading.findings
        if case .request = cause {
        } else {
            news = news.without(state.withLock(\.findings))
        }
        for warning in news.warnings.sentences { log.warning("\(warning)") }
        for error in news.errors.sentences { log.error("\(error)") }
        if let refusal, !news.errors.sentences.isEmpty {
            let notice = DaemonNotice.configRefused("\(refusal) (\(cause.text))", in: path)
            loop.later { $0.log(notice) }
        }
    }

    /// The names of the jobs, as the configuration has them: a job that each machine of a fleet runs
    /// for itself has the name of its machine beside it.
    private static func names(in jobSet: JobSet) -> Set<String> {
        Set(jobSet.jobs.map { ($0.fleet?.template ?? $0.name).description })
    }

    /// Uses this configuration from here on, unless a later one is used already.
    func accept(_ reading: Readable, _ reload: Reload) {
        let isLast = state.withLock { state in
            guard reload.number > state.accepted else { return false }
            state.accepted = reload.number
            state.origins = reading.origins
            state.settings = reading.settings
            state.findings = reading.findings
            return true
        }
        guard isLast else { return }
        if reading.settings.fleet != fleet {
            log.warning(
                "\(path): the table [fleet] has changed; this takes effect when timerd is restarted"
            )
        }
        apply(reading.settings)
        watch(reading.settings)
    }

    func reply(to notice: Notice?, _ reading: Readable, _ reload: Reload) {
        guard case .reloaded(let added, let changed, let removed, let kept) = notice else {
            return reload.done(.failure(ErrorReply("the daemon is stopping")))
        }
        state.withLock { $0.end(reload.number, reading.contents) }
        let refusal = Self.refusal(of: reading.refused)
        supervision.reloaded(
            refusal.map { "Configuration reloaded, but \($0)" } ?? "Configuration reloaded")
        reload.done(
            .success(
                ReloadReply(
                    added: added.map { .init(job: $0.description) },
                    redefined: changed.map { .init(job: $0.description) },
                    removed: removed.map { .init(job: $0.description) }, kept: kept,
                    warnings: reading.warnings, refusedFiles: reading.refused,
                    errors: reading.errors)))
    }

    private func refuse(_ errors: Errors, _ reload: Reload) {
        for error in errors.sentences { log.error("\(error)") }
        let kept = "\(errors.count); the current configuration is kept (\(reload.cause.text))"
        let notice = DaemonNotice.configRefused(kept, in: path)
        let refusal =
            "reload refused, \(errors.count) in \(path); the current configuration is kept"
        supervision.reloaded("R" + refusal.dropFirst())
        loop.later {
            // The refusal is in the status before an event says that there is one.
            $0.note(configRefusal: refusal)
            $0.log(notice)
        }
        reload.done(
            .failure(
                ErrorReply(notice.message, code: .invalidConfiguration, details: errors.sentences)))
    }
}
