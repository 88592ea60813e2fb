// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerControl
import TimerCore
import TimerImport

/// Finds the sources of this machine that can be switched, and imports them.
struct SwitchDiscovery {
    /// The names that other jobs and notifiers have, also those of sources that were imported before.
    private var takenJobs: Set<String>
    private let takenNotifiers: Set<String>

    /// The jobs of a source.
    struct Imported {
        var result: ImportResult
        /// The lines of a crontab that become jobs, by `MarkedTable.key`.
        var tableLines: [String] = []
        var isSecret = false
    }

    /// - Throws: the exit status, if the daemon does not answer.
    init(_ connection: Connection) throws {
        let jobs = try connection.ask(.list, for: JobNames.self, forChange: true).jobs
        takenJobs = Set(jobs.map(\.job))
        let notifiers = try connection.ask(.notifiers, for: NotifiersReply.self)
        takenNotifiers = Set(notifiers.notifiers.map(\.notifier))
    }

    // MARK: - Sources

    /// All crontabs of the machine; those of other users and of the system only if this is root.
    static var tables: [SwitchedSource] {
        guard geteuid() == 0 else { return [.userTable(Account.own)] }
        var found: [SwitchedSource] = []
        if access(ImportCrontabVerb.systemTable, F_OK) == 0 {
            found.append(.file(ImportCrontabVerb.systemTable))
        }
        let folder = ImportCrontabVerb.systemFolder
        found += ImportCrontabVerb.names(in: folder)
            .filter { CronFileName($0, .debian) == .read }.map { .file("\(folder)/\($0)") }
        return found + ImportCrontabVerb.usersWithTable.map { .userTable($0) }
    }

    /// All timers of the machine, if this is root and systemd runs.
    static var timers: [UnitName] {
        guard geteuid() == 0, access("/run/systemd/system", F_OK) == 0 else { return [] }
        return UnitSearch(root: nil).timers()
    }

    // MARK: - Jobs

    /// Makes the jobs of a source, with names that no other job has.
    mutating func imported(_ source: SwitchedSource) throws(SwitchFault) -> Imported {
        let imported =
            if case .timer(let unit, _) = source { try jobs(of: unit, source) } else {
                try jobs(ofTable: source)
            }
        takenJobs.formUnion(imported.result.jobs.map(\.name.description))
        return imported
    }

    private func jobs(ofTable source: SwitchedSource) throws(SwitchFault) -> Imported {
        guard let table = SwitchTable(source) else { throw SwitchFault("it is no crontab") }
        let (bytes, isPublic) = try table.read()
        guard let defaults = try? CronOptions.parse([]) else { throw SwitchFault("no options") }
        var options = defaults.importOptions
        (options.takenJobs, options.takenNotifiers) = (takenJobs, takenNotifiers)
        var importer = CrontabImporter(options)
        var (owner, isOfUser) = (Account.own, false)
        if case .userTable(let user) = source { (owner, isOfUser) = (user, true) }
        do throws(ImportFault) {
            try importer.add(
                CrontabSource(
                    file: source.description, bytes: bytes, stem: source.stem,
                    hasUserField: !isOfUser, owner: owner, namesOwner: geteuid() == 0))
        } catch { throw SwitchFault(error.description) }
        guard importer.ignoredFiles.isEmpty else {
            throw SwitchFault(
                "cron ignores all of it because of lines that are wrong, so that its jobs do not run; correct or remove them"
            )
        }
        let numbers = Set(importer.importedLines.values.joined())
        let lines = bytes.split(separator: 10, omittingEmptySubsequences: false).enumerated()
            .filter { numbers.contains($0.offset + 1) }
            .map { MarkedTable.key(String(decoding: $0.element, as: UTF8.self)) }
        return Imported(result: importer.result, tableLines: lines, isSecret: !isPublic)
    }

    private func jobs(
        of unit: UnitName, _ source: SwitchedSource
    ) throws(SwitchFault) -> Imported {
        let search = UnitSearch(root: nil)
        var options = ImportSystemdVerb.options(search)
        options.takenJobs = takenJobs
        var result = SystemdImport([unit], options: options, load: search.load).result
        guard result.jobs.contains(where: { $0.value(of: "every") != nil }) else {
            return Imported(result: result)
        }
        // The interval goes on where systemd has left it.
        let left = try SwitchTimer(unit: unit, start: .enabled).facts().nextIn
        if let left {
            for index in result.jobs.indices where result.jobs[index].value(of: "every") != nil {
                result.jobs[index].set("first", .span(max(left, .milliseconds(1))))
            }
        }
        return Imported(result: result)
    }
}
