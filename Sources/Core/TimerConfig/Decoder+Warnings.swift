// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// The warnings and notes about a job, each with its place.
extension Decoder {
    /// Counts a warning or note. Returns whether it is reported: only the first ones of a file are.
    private mutating func isTold(_ code: ConfigWarning.Code) -> Bool {
        if code.isNote {
            noteCount += 1
            reported.notes += 1
            return reported.notes <= ConfigReading.errorsMax
        }
        warningCount += 1
        reported.warnings += 1
        return reported.warnings <= ConfigReading.errorsMax
    }

    /// The first part of a search path that is empty or relative.
    private static func relativePart(of path: String?) -> Substring.UTF8View? {
        path?.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .first { $0.first != UInt8(ascii: "/") }
    }

    /// Looks for what is no error and may still not be meant.
    mutating func check(
        _ job: Job, _ draft: Draft, _ key: TomlEntry, _ entries: [TomlEntry],
        _ reader: inout FileReader
    ) {
        // When a one-off job was made, its time was to come, and what it names is said when it fails.
        guard let checks, !isOneOff else { return }
        if case .wall(let schedule) = job.schedule {
            let marks = draft.scheduleMarks
            for finding in schedule.findings(at: checks.now) where finding.source < marks.count {
                let (key, mark) = marks[finding.source]
                warn(
                    .init(rawValue: finding.code.rawValue), job, key, mark, finding.message, &reader
                )
            }
        }
        if !zones.missing.isEmpty { checkZones(job, draft, key, &reader) }
        for (line, mark) in draft.cron {
            for difference in line.differences {
                warn(.differsFromCron, job, "cron", mark, difference, &reader)
            }
        }
        checkMachine(for: job, draft, key, entries, &reader)
    }

    /// Warns of zones that the machine had when the job was loaded, and no longer has.
    private mutating func checkZones(
        _ job: Job, _ draft: Draft, _ key: TomlEntry, _ reader: inout FileReader
    ) {
        guard case .wall(let schedule) = job.schedule else { return }
        for name in Set(schedule.zones.filter { !$0.isLocal }.map(\.name)).sorted()
        where zones.missing.contains(name) {
            let mark = draft.timezone?.mark ?? draft.calendar.first?.mark ?? key.mark
            warn(
                .missingZone, job, "timezone", mark,
                "\"\(name)\" is no longer a time zone of this machine; the rules that it had are used until timerd is "
                    + "restarted, and then the job is not loaded: install the package that has it, such as "
                    + "tzdata-legacy, or name another zone", &reader)
        }
    }

    /// Warns of what the machine does not have of what a job names. Of a job that is left out it
    /// judges only by the values that are known.
    mutating func checkMachine(
        for job: Job, _ draft: Draft, _ key: TomlEntry, _ entries: [TomlEntry],
        _ reader: inout FileReader
    ) {
        guard let checks, !isOneOff else { return }
        let refused = draft.refused
        let isUserKnown = refused.isDisjoint(with: Self.keysOfUser)
        for finding in findings(of: job, checks) {
            let needsUser =
                ["command", "condition"].contains(finding.key)
                || finding.code == .missingDirectory
            guard !refused.contains(finding.key), isUserKnown || !needsUser else { continue }
            // What stands in [defaults] is said of each job that takes it.
            let mark = entries.first { $0.key == finding.key }?.node.mark ?? key.mark
            warn(finding.code, job, finding.key, mark, finding.message, &reader)
        }
    }

    /// The keys on which it depends which files a job can use.
    private static let keysOfUser = [
        "user", "group", "environment", "environment-file", "working-directory", "capabilities",
    ]

    private mutating func warn(
        _ code: ConfigWarning.Code, _ job: Job, _ key: String, _ mark: SourceMark,
        _ message: String, _ reader: inout FileReader
    ) {
        // Each reading must report it again, so the file must be parsed each time.
        isLasting = false
        guard isTold(code) else { return }
        warnings.append(
            ConfigWarning(
                code: code, file: reader.file(of: mark), mark: mark.plain,
                message: "job \"\(job.name)\": \(key): \(message)",
                excerpt: reader.excerpt(at: mark)))
    }

    /// What is not meant in a job beside its schedule, and what it names and the machine does not have.
    mutating func findings(of job: Job, _ checks: ConfigChecks) -> [MachineCheck.Finding] {
        var found: [MachineCheck.Finding] = []
        if checks.runsAsRoot, job.execution.user == nil {
            found.append(
                MachineCheck.Finding(
                    code: .runsAsRoot, key: "user",
                    message:
                        "none is named, so its runs are root's; name the one who owns what it needs, or root"
                ))
        }
        if let part = Self.relativePart(of: job.environment["PATH"]) {
            let what = part.isEmpty ? "an empty part" : "the relative part \"\(part)\""
            found.append(
                MachineCheck.Finding(
                    code: .relativePath, key: "environment",
                    message:
                        "PATH has \(what), which is looked up from the working directory: users who may write there can choose the program"
                ))
        }
        guard let machine = checks.machine else { return found }
        let question = MachineCheck.Question(of: job)
        if let known = findings[question] { return found + known }
        let asked = machine.findings(for: question)
        findings[question] = asked
        return found + asked
    }
}
