// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// The values of a job's table, and those of `[defaults]` below them: of its file, and of the main
/// file.
struct Draft: Sendable {
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
    var at: Marked<WallInstant>?
    var timezone: Marked<String>?
    var gap: DSTRule.Gap?
    var overlap: DSTRule.Overlap?
    var first: Duration?
    var from = IntervalStart.start
    var count = TimeBasis.active
    var paused = false
    var environment: [String: String] = [:]
    var workingDirectory: String?
    var policy = Policy()
    var concurrencyMax: Marked<Int>?
    var execution = Execution()
    var skipExitCodes: Marked<Set<Int32>>?
    /// The names in `run-environment-any`, which need no prefix.
    var otherRunVariables: Set<String> = []
    var ioClass: IOClass?
    var ioPriority: Int?
    var cpuPolicy = CPUPolicy.other
    /// Of a realtime policy: the lowest.
    var cpuPriority = 1
    var renamedFrom: Marked<Job.Name>?
    var hasDurationHistogram = false
    /// Where `fleet` is written; nil: it is not.
    var fleetMark: SourceMark?
    /// Whether each machine of the fleet runs the job for itself.
    var isOnEachMachine = false
    /// The policy in the fleet; only jobs with `fleet` have one.
    var fleet = FleetPolicy()
    /// Where `notify` is written, for errors about its notifiers; nil: it is not.
    var notifyMark: SourceMark?
    /// Where `slots` is written, for errors about them; nil: it is not.
    var slotsMark: SourceMark?
    /// The lists of dates that it names.
    var dateUse = DateUse()
    /// Which of the dates of its schedule it runs on, counted from a date.
    var everyNth: Int?
    var countedFrom: CivilDate?
    /// At which times its runs may start.
    var window: Marked<WeekRanges>?
    var outsideWindow = JobWindow.Outside.wait
    var stopsAtWindowEnd = false
    /// From when and until when its schedule makes runs.
    var notBefore: Marked<ValidityLimit>?
    var notAfter: Marked<ValidityLimit>?
    /// After how many runs it is finished.
    var maxRuns: Int?
    var maxSuccesses: Int?
    /// After which jobs it runs, and where that is written; nil: after none.
    var follows: Marked<Follows>?
    var onDemand = false
    /// What `condition` says, of the job and of `[defaults]`.
    var condition = ConditionDraft()
    /// The keys whose values are not known, because they are wrong.
    var refused: Set<String> = []
    /// Whether a key is unknown, and nothing tells what it was meant for.
    var hasStrangeKey = false

    /// The job, if the table has everything that a job needs. `faults` finds all that is missing.
    func job(
        named name: Job.Name, at mark: SourceMark, zones: ZoneFiles
    ) throws(Fault) -> Job {
        try Self.checkOne(of: [command != nil, shell != nil], among: JobKey.commands, at: mark)
        let schedules = [
            every != nil, after != nil, onBoot != nil, !calendar.isEmpty, !cron.isEmpty, at != nil,
            onDemand,
        ]
        // What follows other jobs needs no schedule.
        let isOnDemand = onDemand || follows != nil && !schedules.contains(true)
        if follows == nil || schedules.contains(true) {
            try Self.checkOne(of: schedules, among: JobKey.schedules, at: mark)
        }
        let counted =
            every.map { Schedule.every($0) } ?? after.map { .after($0) }
            ?? onBoot.map { .onBoot($0) } ?? (isOnDemand ? .onDemand : nil)
        let schedule = if let counted { counted } else { Schedule.wall(try wallSchedule(zones)) }
        guard let command = command ?? shell else { throw Fault(mark, "a command is missing") }
        try checkSkipExitCodes(at: mark)
        if let renamedFrom, renamedFrom.value == name {
            throw Fault(renamedFrom.mark, "renamed-from: names the job itself")
        }
        var job = make(name, command, schedule)
        try addLimits(to: &job, zones)
        return job
    }

    /// Gives the job its window, and the time in which its schedule makes runs.
    private func addLimits(to job: inout Job, _ zones: ZoneFiles) throws(Fault) {
        guard let mark = window?.mark ?? notBefore?.mark ?? notAfter?.mark, fleetMark == nil else {
            return
        }
        let zone =
            needsZone
            ? try Self.rules(zones, timezone?.value, at: timezone?.mark ?? mark) : .utc
        job.window = jobWindow(zone)
        job.validity = try validity(zone)
        guard case .wall(var schedule) = job.schedule else { return }
        if job.window?.outside == .skip { schedule.window = job.window }
        schedule.validity = job.validity
        job.schedule = .wall(schedule)
    }

    private func make(_ name: Job.Name, _ command: Job.Command, _ schedule: Schedule) -> Job {
        var policy = policy
        // A value in [defaults] applies to the jobs that can have it.
        if policy.concurrency == .allow { policy.concurrencyMax = concurrencyMax?.value }
        var execution = execution
        execution.runVariables.formUnion(otherRunVariables)
        execution.skipExitCodes = skipExitCodes?.value ?? []
        execution.priorities.io = ioScheduling
        execution.priorities.cpu = cpuScheduling
        execution.condition = condition.condition
        var job = Job(
            name: name, command: command, schedule: schedule, description: description,
            first: every == nil ? nil : first, count: count, paused: paused,
            environment: environment, workingDirectory: workingDirectory, policy: policy,
            execution: execution, renamedFrom: renamedFrom?.value)
        job.hasDurationHistogram = hasDurationHistogram
        if every != nil { job.from = from }
        job.follows = follows?.value
        job.limit = runLimit
        if fleetMark != nil { share(&job) }
        return job
    }

    /// A job with the values that are known, to check these. It is never run.
    func standIn(named name: Job.Name) -> Job {
        make(name, command ?? shell ?? .shell("true"), .every(every ?? .seconds(3600)))
    }

    /// All that keeps the values from being a job, beside the keys that were refused.
    ///
    /// - Parameter entries: the keys of the job's own table.
    func faults(
        named name: Job.Name, _ entries: [TomlEntry], at mark: SourceMark, zones: ZoneFiles
    ) -> [Fault] {
        var faults: [Fault] = []
        func note(_ check: () throws(Fault) -> Void) {
            do throws(Fault) { try check() } catch { faults.append(error) }
        }
        var keys = Set(entries.map(\.key))
        if !onDemand { keys.remove("on-demand") }
        // A key that was probably meant for one of them is not said to be missing.
        let meant = refused.union(keys)
        for names in [JobKey.commands, JobKey.schedules] {
            let areThere = names.map(keys.contains)
            if names == JobKey.schedules, keys.contains("follows"), !areThere.contains(true) {
                continue
            }
            guard areThere.contains(true) || !hasStrangeKey && meant.isDisjoint(with: names) else {
                continue
            }
            note { () throws(Fault) in try Self.checkOne(of: areThere, among: names, at: mark) }
        }
        if let renamedFrom, renamedFrom.value == name {
            faults.append(Fault(renamedFrom.mark, "renamed-from: names the job itself"))
        }
        note { () throws(Fault) in try checkSkipExitCodes(at: mark) }
        note { () throws(Fault) in _ = try validity(.utc) }
        let isWall = ["calendar", "cron"].contains(where: keys.contains) || needsZone
        if let timezone, isWall {
            note { () throws(Fault) in _ = try Self.rules(zones, timezone.value, at: timezone.mark)
            }
        } else if isWall, !refused.contains("timezone") {
            note { () throws(Fault) in _ = try Self.rules(zones, nil, at: mark) }
        }
        for (spec, mark) in calendar {
            guard let zone = spec.zoneName else { continue }
            note { () throws(Fault) in _ = try Self.rules(zones, zone, at: mark) }
        }
        return faults
    }

    /// A run with one exit code cannot both succeed and have nothing to do.
    /// - Parameter mark: where the job is, which is marked if the main file has the key.
    private func checkSkipExitCodes(at mark: SourceMark) throws(Fault) {
        guard let skips = skipExitCodes, !refused.contains("success-exit-codes"),
            let code = skips.value.intersection(execution.success.exitCodes).min()
        else { return }
        let which = execution.success.exitCodes == [0] ? ", which is [0] by default" : ""
        throw Fault(
            skips.mark.isInherited ? mark : skips.mark,
            "skip-exit-codes: \(code) is in success-exit-codes too\(which); remove it from one of them"
        )
    }

    /// The wall-clock schedule. Each occurrence is in the zone of its own text, of the job, or of
    /// the machine.
    private func wallSchedule(_ zones: ZoneFiles) throws(Fault) -> WallSchedule {
        var sources: [WallSchedule.Source] = []
        if let at { sources.append(.at(at.value)) }
        let standard =
            calendar.isEmpty && cron.isEmpty
            ? ZoneRules.utc
            : try Self.rules(
                zones, timezone?.value, at: timezone?.mark ?? SourceMark(line: 1, column: 1))
        for (spec, mark) in calendar {
            let zone = try spec.zoneName.map { (name) throws(Fault) in
                try Self.rules(zones, name, at: mark)
            }
            sources.append(.calendar(spec, zone ?? standard))
        }
        sources += cron.map { .cron($0.spec.spec, standard) }
        var schedule = WallSchedule(sources, gap: gap, overlap: overlap)
        if let dateCount {
            schedule.rules = Boxed(wrappedValue: FiringRules(everyNth: dateCount))
        }
        return schedule
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

    /// At least two names for a message: `a, b or c`.
    static func oneOf(_ names: [String]) -> String {
        names.dropLast().joined(separator: ", ") + " or \(names.last ?? "")"
    }

    /// - Parameter areThere: of each of `names`, whether it is there.
    static func checkOne(
        of areThere: [Bool], among names: [String], at mark: SourceMark
    ) throws(Fault) {
        switch areThere.count(where: \.self) {
        case 0:
            throw Fault(mark, "one of \(oneOf(names)) is missing")
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
    /// Further errors of the same value, such as of other elements of an array.
    var others: [Fault] = []

    init(_ mark: SourceMark, behind beginning: String? = nil, _ message: String) {
        self.mark = mark
        self.beginning = beginning
        self.message = message
    }
}

extension Sequence {
    /// Reads each element, so that an error in one does not hide those in the others.
    ///
    /// - Throws: the first error, with the others in it, at most as many as are reported.
    func readEach<Value>(
        _ read: (Element) throws(Fault) -> Value
    ) throws(Fault) -> [Value] {
        var values: [Value] = []
        var fault: Fault?
        for element in self {
            do throws(Fault) { values.append(try read(element)) } catch {
                guard fault?.others.append(error) != nil else {
                    fault = error
                    continue
                }
                if fault?.others.count == ConfigReading.errorsMax { break }
            }
        }
        if let fault { throw fault }
        return values
    }
}
