// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// One key of a job's table: its name, whether `[defaults]` may have it, and what reads it.
///
/// A new key is one entry in `all`, and its field in `Draft`.
struct JobKey: Sendable {
    let name: String
    let isDefault: Bool
    let read: @Sendable (TomlNode, inout Draft) throws(Fault) -> Void

    init(
        _ name: String, default isDefault: Bool = true,
        _ read: @escaping @Sendable (TomlNode, inout Draft) throws(Fault) -> Void
    ) {
        self.name = name
        self.isDefault = isDefault
        self.read = read
    }

    /// All keys by their names.
    static let named = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    /// The names of those that `[defaults]` may have.
    static let defaultNames = all.filter(\.isDefault).map(\.name)

    static let all: [JobKey] =
        [
            JobKey("description", default: false) { node, draft throws(Fault) in
                draft.description = try node.string()
            },
            JobKey("command", default: false) { node, draft throws(Fault) in
                draft.command = .arguments(try node.arguments())
            },
            JobKey("shell", default: false) { node, draft throws(Fault) in
                let line = try node.string()
                guard !line.isEmpty else { throw Fault(node.mark, "the command line is empty") }
                draft.shell = .shell(line)
            },
            JobKey("every", default: false) { node, draft throws(Fault) in
                draft.every = try node.interval()
            },
            JobKey("after", default: false) { node, draft throws(Fault) in
                draft.after = try node.interval()
            },
            JobKey("on-boot", default: false) { node, draft throws(Fault) in
                draft.onBoot = try node.span()
            },
            JobKey("calendar", default: false) { node, draft throws(Fault) in
                draft.calendar = try node.schedules(CalendarSpec.init)
            },
            JobKey("cron", default: false) { node, draft throws(Fault) in
                let drawing = draft.drawing
                draft.cron = try node.schedules { (text) throws(ScheduleError) in
                    try CronSpec.read(text, drawing: drawing)
                }
            },
            JobKey("at", default: false) { node, draft throws(Fault) in
                draft.at = (try node.instant(), node.mark)
            },
            JobKey("timezone") { node, draft throws(Fault) in
                draft.timezone = (try node.string(), node.mark)
            },
            JobKey("dst-gap") { node, draft throws(Fault) in
                draft.gap = try node.choice(of: DSTRule.Gap.allCases.map { ($0.rawValue, $0) })
            },
            JobKey("dst-overlap") { node, draft throws(Fault) in
                draft.overlap = try node.choice(
                    of: DSTRule.Overlap.allCases.map { ($0.rawValue, $0) })
            },
            JobKey("first") { node, draft throws(Fault) in draft.first = try node.span() },
            JobKey("count") { node, draft throws(Fault) in
                draft.count = try node.choice(of: TimeBasis.allCases.map { ($0.rawValue, $0) })
            },
            JobKey("paused") { node, draft throws(Fault) in draft.paused = try node.boolean() },
            JobKey("environment") { node, draft throws(Fault) in
                draft.environment.merge(try node.environment()) { $1 }
            },
            JobKey("pass-environment") { node, draft throws(Fault) in
                draft.execution.passEnvironment = try node.variableNames()
            },
            JobKey("working-directory") { node, draft throws(Fault) in
                let path = try node.string()
                guard path.hasPrefix("/") else {
                    throw Fault(node.mark, "\"\(path)\" must be an absolute path, beginning with /")
                }
                draft.workingDirectory = path
            },
            JobKey("renamed-from", default: false) { node, draft throws(Fault) in
                draft.renamedFrom = (try node.jobName(), node.mark)
            },
        ] + policies + execution
}

/// One key of the table `[daemon]`.
struct DaemonKey: Sendable {
    let name: String
    let read: @Sendable (TomlNode, inout DaemonSettings) throws(Fault) -> Void

    static let all: [DaemonKey] = [
        DaemonKey(name: "max-concurrent") { node, settings throws(Fault) in
            settings.maxConcurrent = try node.integer(in: 1...DaemonSettings.concurrentMax)
        },
        DaemonKey(name: "history") { node, settings throws(Fault) in
            settings.history = try node.span()
        },
        DaemonKey(name: "allowed-users") { node, settings throws(Fault) in
            settings.allowedUsers = try node.allowedUsers()
        },
        DaemonKey(name: "jobs-max") { node, settings throws(Fault) in
            settings.jobsMax = try node.integer(in: 1...1_000_000)
        },
    ]
}

/// What a job's table says, on top of what `[defaults]` says.
struct Draft {
    var description: String?
    var command: Job.Command?
    var shell: Job.Command?
    var every: Duration?
    var after: Duration?
    var onBoot: Duration?
    var calendar: [(spec: CalendarSpec, mark: SourceMark)] = []
    var cron: [(spec: CronSpec.Line, mark: SourceMark)] = []
    /// What its crontab lines draw values from.
    var drawing: CronSpec.Drawing?
    var at: (instant: WallInstant, mark: SourceMark)?
    var timezone: (name: String, mark: SourceMark)?
    var gap: DSTRule.Gap?
    var overlap: DSTRule.Overlap?
    var first: Duration?
    var count = TimeBasis.active
    var paused = false
    var environment: [String: String] = [:]
    var workingDirectory: String?
    var policy = Policy()
    var concurrencyMax: (number: Int, mark: SourceMark)?
    var execution = Execution()
    var renamedFrom: (name: Job.Name, mark: SourceMark)?

    /// The job, if the table says what one needs.
    func job(
        named name: Job.Name, at mark: SourceMark, zones: ZoneFiles
    ) throws(Fault) -> Job {
        let commands = [("command", command != nil), ("shell", shell != nil)].filter(\.1)
        try Self.checkOne(of: commands.map(\.0), among: "command or shell", at: mark)
        let schedules = [
            ("every", every != nil), ("after", after != nil), ("on-boot", onBoot != nil),
            ("calendar", !calendar.isEmpty), ("cron", !cron.isEmpty), ("at", at != nil),
        ].filter(\.1)
        try Self.checkOne(
            of: schedules.map(\.0), among: "every, after, on-boot, calendar, cron or at", at: mark)
        let counted =
            every.map { Schedule.every($0) } ?? after.map { .after($0) }
            ?? onBoot.map { .onBoot($0) }
        let schedule = if let counted { counted } else { Schedule.wall(try wallSchedule(zones)) }
        guard let command = command ?? shell else { throw Fault(mark, "a command is missing") }
        if let renamedFrom, renamedFrom.name == name {
            throw Fault(renamedFrom.mark, "renamed-from: names the job itself")
        }
        var policy = policy
        // One of [defaults] is for the jobs it can be for.
        if policy.concurrency == .allow { policy.concurrencyMax = concurrencyMax?.number }
        return Job(
            name: name, command: command, schedule: schedule, description: description,
            first: every == nil ? nil : first, count: count, paused: paused,
            environment: environment, workingDirectory: workingDirectory, policy: policy,
            execution: execution, renamedFrom: renamedFrom?.name)
    }

    /// The slots by the calendar clock, each in the zone its own text names, or the job, or the machine.
    private func wallSchedule(_ zones: ZoneFiles) throws(Fault) -> WallSchedule {
        var sources: [WallSchedule.Source] = []
        if let at { sources.append(.at(at.instant)) }
        let standard =
            calendar.isEmpty && cron.isEmpty
            ? ZoneRules.utc
            : try Self.rules(
                zones, timezone?.name, at: timezone?.mark ?? SourceMark(line: 1, column: 1))
        for (spec, mark) in calendar {
            let zone = try spec.zoneName.map { (name) throws(Fault) in
                try Self.rules(zones, name, at: mark)
            }
            sources.append(.calendar(spec, zone ?? standard))
        }
        sources += cron.map { .cron($0.spec.spec, standard) }
        return WallSchedule(sources, gap: gap, overlap: overlap)
    }

    /// Where each source of the schedule is written, in their order, and under which key.
    var scheduleMarks: [(key: String, mark: SourceMark)] {
        (at.map { [("at", $0.mark)] } ?? []) + calendar.map { ("calendar", $0.mark) }
            + cron.map { ("cron", $0.mark) }
    }

    private static func rules(
        _ zones: ZoneFiles, _ name: String?, at mark: SourceMark
    ) throws(Fault) -> ZoneRules {
        do throws(ZoneFiles.Failure) {
            guard let name else { return try zones.local() }
            return try zones.rules(named: name)
        } catch {
            throw Fault(mark, "timezone: \(error)")
        }
    }

    private static func checkOne(
        of found: [String], among names: String, at mark: SourceMark
    ) throws(Fault) {
        guard !found.isEmpty else { throw Fault(mark, "one of \(names) is missing") }
        guard found.count == 1 else {
            throw Fault(mark, "\(found.joined(separator: " and ")) exclude each other; keep one")
        }
    }
}

/// What is wrong at a place of the file being read.
struct Fault: Error {
    var mark: SourceMark
    /// Where the mark is that of a string: what of its value stands before the fault.
    var beginning: String?
    var message: String

    init(_ mark: SourceMark, behind beginning: String? = nil, _ message: String) {
        self.mark = mark
        self.beginning = beginning
        self.message = message
    }
}
