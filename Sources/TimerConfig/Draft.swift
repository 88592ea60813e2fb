// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// The values of a job's table, and those of `[defaults]` below them.
struct Draft {
    var description: String?
    var command: Job.Command?
    var shell: Job.Command?
    var every: Duration?
    var after: Duration?
    var onBoot: Duration?
    var calendar: [(spec: CalendarSpec, mark: SourceMark)] = []
    var cron: [(spec: CronSpec.Line, mark: SourceMark)] = []
    /// From what its crontab lines compute `H` and `~`.
    var drawing: CronSpec.Drawing?
    var at: (instant: WallInstant, mark: SourceMark)?
    var timezone: (name: String, mark: SourceMark)?
    var gap: DSTRule.Gap?
    var overlap: DSTRule.Overlap?
    var first: Duration?
    var from = IntervalStart.start
    var count = TimeBasis.active
    var paused = false
    var environment: [String: String] = [:]
    var workingDirectory: String?
    var policy = Policy()
    var concurrencyMax: (number: Int, mark: SourceMark)?
    var execution = Execution()
    /// The names in `run-environment-any`.
    var otherRunVariables: Set<String> = []
    var ioClass: IOClass?
    var ioPriority: Int?
    var cpuPolicy = CPUPolicy.other
    var cpuPriority: Int?
    var renamedFrom: (name: Job.Name, mark: SourceMark)?
    var hasDurationHistogram = false
    /// Where `fleet` is written; nil: it is not.
    var fleetMark: SourceMark?
    /// Whether each machine runs it for itself.
    var isOnEachMachine = false
    /// Applies to jobs with `fleet`.
    var fleet = FleetPolicy()
    /// Where `notify` is written.
    var notifyMark: SourceMark?

    /// The job, if the table has everything that a job needs.
    func job(
        named name: Job.Name, at mark: SourceMark, zones: ZoneFiles
    ) throws(Fault) -> Job {
        try Self.checkOne(of: [command != nil, shell != nil], among: JobKey.commands, at: mark)
        try Self.checkOne(
            of: [
                every != nil, after != nil, onBoot != nil, !calendar.isEmpty, !cron.isEmpty,
                at != nil,
            ], among: JobKey.schedules, at: mark)
        let counted =
            every.map { Schedule.every($0) } ?? after.map { .after($0) }
            ?? onBoot.map { .onBoot($0) }
        let schedule = if let counted { counted } else { Schedule.wall(try wallSchedule(zones)) }
        guard let command = command ?? shell else { throw Fault(mark, "a command is missing") }
        if let renamedFrom, renamedFrom.name == name {
            throw Fault(renamedFrom.mark, "renamed-from: names the job itself")
        }
        var policy = policy
        // A value in [defaults] applies to the jobs that can have it.
        if policy.concurrency == .allow { policy.concurrencyMax = concurrencyMax?.number }
        var execution = execution
        execution.runVariables.formUnion(otherRunVariables)
        execution.priorities.io = ioScheduling
        execution.priorities.cpu = cpuScheduling
        var job = Job(
            name: name, command: command, schedule: schedule, description: description,
            first: every == nil ? nil : first, count: count, paused: paused,
            environment: environment, workingDirectory: workingDirectory, policy: policy,
            execution: execution, renamedFrom: renamedFrom?.name)
        job.hasDurationHistogram = hasDurationHistogram
        if every != nil { job.from = from }
        if fleetMark != nil { share(&job) }
        return job
    }

    /// The wall-clock schedule. Each occurrence is in the zone of its own text, of the job, or of
    /// the machine.
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

    /// Whether each source of a calendar schedule names a zone of its own. The one of the job, or of
    /// the machine, must be valid then, but is not part of the schedule.
    var namesAllZones: Bool {
        !calendar.isEmpty && cron.isEmpty && calendar.allSatisfy { $0.spec.zoneName != nil }
    }

    /// The place and key of each source of the schedule, in their order.
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

    /// - Parameter areThere: of each of `names`, whether it is there.
    static func checkOne(
        of areThere: [Bool], among names: [String], at mark: SourceMark
    ) throws(Fault) {
        switch areThere.count(where: \.self) {
        case 0:
            let names = names.dropLast().joined(separator: ", ") + " or \(names.last ?? "")"
            throw Fault(mark, "one of \(names) is missing")
        case 1: return
        default:
            let found = zip(names, areThere).filter(\.1).map(\.0)
            throw Fault(mark, "\(found.joined(separator: " and ")) exclude each other; keep one")
        }
    }
}

/// An error at a place of the file that is being read.
struct Fault: Error {
    var mark: SourceMark
    /// If the mark is that of a string: the part of its value before the error.
    var beginning: String?
    var message: String

    init(_ mark: SourceMark, behind beginning: String? = nil, _ message: String) {
        self.mark = mark
        self.beginning = beginning
        self.message = message
    }
}
