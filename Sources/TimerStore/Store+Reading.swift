// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Reads what earlier instances of the daemon stored. The tables accept any number, so each value
/// is checked against the range that timerd writes (`Accepted`) before it is used in a calculation.
/// A row that fails is added to `damage`, and the daemon continues with the valid parts of it.
extension Store {
    private static let jobsAsSaved = "SELECT \(JobColumn.list) FROM (\(jobs))"

    /// The time record of each job. A job whose row is damaged is paused, with the valid parts of
    /// its times: an administrator who knows what happened to the database must decide whether it
    /// may run.
    func jobRecords() throws(StoreError) -> [JobRecord] {
        var records: [JobRecord] = []
        try connection.run(
            "\(Self.jobsAsSaved) ORDER BY name", doing: "read the records of the jobs"
        ) { row in
            let row = Columns<JobColumn>(row)
            if let record = JobRecord(row) {
                records.append(record)
            } else if let name = row.text(.name).flatMap({ Job.Name($0) }) {
                let faults = JobRecord.faults(in: row)
                records.append(JobRecord(salvaging: row, of: name, faults))
                note(
                    """
                    the saved state of job "\(name)" is damaged (\(faults.joined(separator: ", "))); the job is \
                    paused, with what could be read of its time: see `timerctl show \(name)`, then `timerctl \
                    resume \(name)`
                    """)
            } else {
                note(
                    "the saved state of a job has no name that could be one: \(row.text(.name) ?? "")"
                )
            }
        }
        return records
    }

    /// The runs without a recorded end. The store does not know whether they were started.
    func openRuns() throws(StoreError) -> [RecoveredState.OpenRun] {
        var runs: [RecoveredState.OpenRun] = []
        try connection.run(
            """
            SELECT \(OpenRunColumn.list) FROM run
            WHERE outcome IS NULL ORDER BY scheduled_us, job
            """, doing: "read the open runs"
        ) { row in
            let row = Columns<OpenRunColumn>(row)
            guard
                let id = Run.ID(
                    job: row.text(.job), scheduledUs: row.integer(.scheduledUs),
                    attempt: row.integer(.attempt))
            else {
                let text = [OpenRunColumn.job, .scheduledUs, .attempt].map {
                    row.text($0) ?? "NULL"
                }
                return note(
                    "a run has no identity that can be read (\(text.joined(separator: " "))); it is ignored"
                )
            }
            let missed = row.integer(.missed).flatMap { Int(kept: $0) }
            let active = row.integer(.activeNs).flatMap { Duration(keptNanoseconds: $0) }
            let bootID = row.text(.bootId).flatMap { BootID($0) }
            let recorded = row.integer(.recordedUs).flatMap { WallInstant(kept: $0) }
            let owner = row.text(.owner).flatMap { Job.Name($0) }
            if owner == nil || missed == nil || active == nil || bootID == nil || recorded == nil {
                note("the saved data of run \(id) is damaged; the damaged part is ignored")
            }
            runs.append(
                RecoveredState.OpenRun(
                    id: id, of: owner ?? id.firing.job,
                    firing: Firing(
                        id: id.firing, missed: missed ?? 0, active: active ?? .zero,
                        cause: row.text(.cause).flatMap { Firing.Cause($0) } ?? .schedule),
                    bootID: bootID ?? .unknown, wasSpawned: true, recorded: recorded))
        }
        return runs
    }

    /// The latest ended run of each job.
    /// - Complexity: O(*m* log *n*) for *m* jobs and *n* runs: the names are found one after the
    ///   other, because grouping millions of runs would take seconds.
    func lastRuns() throws(StoreError) -> [Job.Name: RunSummary] {
        var runs: [Job.Name: RunSummary] = [:]
        try connection.run(
            """
            WITH RECURSIVE known (owner) AS (
                SELECT min(owner) FROM run WHERE outcome IS NOT NULL
                UNION ALL
                SELECT (SELECT min(owner) FROM run WHERE outcome IS NOT NULL AND owner > known.owner)
                FROM known WHERE known.owner IS NOT NULL
            )
            SELECT \(LastRunColumn.allCases.map { "run.\($0.name)" }.joined(separator: ", "))
            FROM known JOIN run ON run.id = (
                SELECT id FROM run AS last WHERE last.owner = known.owner AND last.outcome IS NOT NULL
                ORDER BY last.ended_us DESC, last.scheduled_us DESC, last.attempt DESC LIMIT 1)
            """, doing: "read the latest runs"
        ) { row in
            // A run that cannot be read is not shown; it is only displayed.
            let row = Columns<LastRunColumn>(row)
            guard
                let id = Run.ID(
                    job: row.text(.job), scheduledUs: row.integer(.scheduledUs),
                    attempt: row.integer(.attempt)),
                let outcome = row.text(.outcome).flatMap({ RunOutcome($0) }),
                let ended = row.integer(.endedUs).flatMap({ WallInstant(kept: $0) }),
                let owner = row.text(.owner).flatMap({ Job.Name($0) })
            else { return }
            let usage = RunUsage(
                elapsedUs: row.integer(.elapsedUs), userUs: row.integer(.userUs),
                systemUs: row.integer(.systemUs), peakBytes: row.integer(.peakBytes))
            runs[owner] = RunSummary(
                id: id, began: row.integer(.beganUs).flatMap { WallInstant(kept: $0) },
                ended: ended, outcome: outcome, usage: usage, failed: row.integer(.failed) == 1)
        }
        return runs
    }

    /// When runs last succeeded that ended after their jobs' records were taken, which are not in
    /// the records.
    /// - Complexity: O(*m* log *n*) for *m* jobs and *n* runs: a record is taken when a job fires,
    ///   so that few runs end after it.
    func lastSuccesses() throws(StoreError) -> [Job.Name: WallInstant] {
        var found: [Job.Name: WallInstant] = [:]
        try connection.run(
            """
            SELECT job.name, max(run.ended_us) FROM job CROSS JOIN run
            WHERE run.owner = job.name AND run.outcome IS NOT NULL AND run.ended_us > job.at_us
                AND run.failed = 0 AND substr(run.outcome, 1, 7) = 'exited('
            GROUP BY job.name
            """, doing: "read the latest successes"
        ) { row in
            guard let job = row.text(0).flatMap({ Job.Name($0) }),
                let ended = row.integer(1).flatMap({ WallInstant(kept: $0) })
            else { return }
            found[job] = ended
        }
        return found
    }

    /// The previous instance of the daemon. If its row is damaged, only its existence is known.
    func previousInstance() throws(StoreError) -> RecoveredState.PreviousInstance? {
        var previous: RecoveredState.PreviousInstance?
        try connection.run(
            """
            SELECT \(LifeColumn.list)
            FROM instance WHERE id BETWEEN \(Accepted.instance.lowerBound) AND \(Accepted.instance.upperBound - 1)
            ORDER BY id DESC LIMIT 1
            """, doing: "read the daemon's last start"
        ) { row in
            let row = Columns<LifeColumn>(row)
            let boot = row.text(.bootId).flatMap { BootID($0) }
            let began = boot.flatMap {
                row.now(.beganUs, awake: .beganAwakeNs, boot: .beganBootNs, bootID: $0)
            }
            let ended = boot.flatMap {
                row.now(.endedUs, awake: .endedAwakeNs, boot: .endedBootNs, bootID: $0)
            }
            if began == nil || (ended == nil && row.integer(.endedUs) != nil) {
                note(
                    "the saved data of the daemon's last start is damaged; the damaged part is ignored"
                )
            }
            previous = .init(
                instance: row.integer(.id) ?? 1, began: began ?? .unknown(wall: nil), ended: ended)
        }
        return previous
    }
}

extension JobRecord {
    /// Reads a row of `jobRecords`; nil if any part of it is not valid.
    fileprivate init?(_ row: Columns<JobColumn>) {
        func span(_ column: JobColumn) -> Duration? {
            row.integer(column).flatMap { Duration(keptNanoseconds: $0) }
        }
        func count(_ column: JobColumn) -> Int? {
            row.integer(column).flatMap { Int(kept: $0) }
        }
        guard let name = row.text(.name).flatMap({ Job.Name($0) }),
            let phase = row.text(.phase).flatMap({ Phase(word: $0, pause: Pause(row)) }),
            let active = span(.activeNs), let accrued = span(.accruedNs),
            let counting = row.integer(.counting), let firings = count(.firings),
            let lastScheduled = row.instant(.lastScheduledUs, in: Accepted.scheduledMicroseconds),
            let configuredPaused = row.integer(.configuredPaused),
            let removed = row.instant(.removedUs),
            let bootID = row.text(.bootId).flatMap({ BootID($0) }),
            let at = row.now(.atUs, awake: .atAwakeNs, boot: .atBootNs, bootID: bootID),
            let instance = row.integer(.instance), Accepted.instance.contains(instance),
            let basis = row.text(.basis).flatMap({ TimeBasis(rawValue: $0) }),
            let maxLoss = span(.maxLossNs), let skips = count(.skips),
            let processedThrough = row.instant(.processedThroughUs),
            let clockEpoch = count(.clockEpoch),
            let isDueThisBoot = row.integer(.dueThisBoot),
            let awaitsEnd = row.integer(.awaitsEnd),
            let endedInPause = row.instant(.endedInPauseUs),
            let lastSuccess = row.instant(.lastSuccessUs),
            let watchedSince = row.instant(.watchedSinceUs)
        else { return nil }
        self.init(
            job: name, phase: phase, active: active, accrued: accrued, isCounting: counting != 0,
            firings: firings, lastScheduled: lastScheduled.value,
            configuredPaused: configuredPaused != 0, removed: removed.value, at: at,
            instance: instance,
            basis: basis, maxLoss: maxLoss, skips: skips, processedThrough: processedThrough.value,
            clockEpoch: clockEpoch, isDueThisBoot: isDueThisBoot != 0,
            awaitsEnd: awaitsEnd != 0, endedInPause: endedInPause.value,
            lastSuccess: lastSuccess.value,
            watchedSince: watchedSince.value)
    }

    /// The valid range of a column of numbers; nil for other columns.
    private static func range(of column: JobColumn) -> ClosedRange<Int64>? {
        switch column {
        case .pauseSinceUs, .pauseUntilUs, .removedUs, .atUs, .processedThroughUs,
            .endedInPauseUs,
            .lastSuccessUs, .watchedSinceUs:
            Accepted.wallMicroseconds
        case .atAwakeNs, .atBootNs: Accepted.bootNanoseconds
        case .activeNs, .accruedNs, .maxLossNs: Accepted.spanNanoseconds
        case .firings, .skips, .clockEpoch: Accepted.count
        case .lastScheduledUs: Accepted.scheduledMicroseconds
        case .instance: Accepted.instance
        case .name, .phase, .pauseBy, .pauseNote, .pauseWithRun, .counting, .configuredPaused,
            .bootId, .basis, .dueThisBoot, .awaitsEnd:
            nil
        }
    }

    /// The columns of a row that contain invalid values, each with its value.
    fileprivate static func faults(in row: Columns<JobColumn>) -> [String] {
        var faults: [String] = []
        for column in JobColumn.allCases {
            guard let range = range(of: column), let value = row.integer(column),
                !range.contains(value)
            else { continue }
            faults.append("\(column.name) = \(value)")
        }
        let boot = row.text(.bootId) ?? ""
        if BootID(boot) == nil { faults.append("boot_id = '\(boot.prefix(64))'") }
        if row.text(.phase) == "paused",
            row.integer(.pauseSinceUs) == nil || row.text(.pauseBy) == nil
        {
            faults.append("the name of who paused it is missing")
        }
        return faults.isEmpty ? ["a word that timerd does not know"] : faults
    }

    /// The valid parts of a damaged row, as a job that is paused with a note that says why.
    fileprivate init(salvaging row: Columns<JobColumn>, of name: Job.Name, _ faults: [String]) {
        func instant(_ column: JobColumn) -> WallInstant? {
            row.integer(column).flatMap { WallInstant(kept: $0) }
        }
        func span(_ column: JobColumn) -> Duration {
            row.integer(column).flatMap { Duration(keptNanoseconds: $0) } ?? .zero
        }
        func count(_ column: JobColumn) -> Int {
            row.integer(column).flatMap { Int(kept: $0) } ?? 0
        }
        let known = instant(.atUs) ?? instant(.processedThroughUs) ?? instant(.lastScheduledUs)
        let at = row.text(.bootId).flatMap { BootID($0) }.flatMap {
            row.now(.atUs, awake: .atAwakeNs, boot: .atBootNs, bootID: $0)
        }
        let note = "its saved state is damaged: \(faults.joined(separator: ", "))"
        self.init(
            job: name,
            phase: .paused(
                Pause(
                    since: known ?? WallInstant(secondsSinceEpoch: 0), by: .user("timerd"),
                    note: note)),
            active: span(.activeNs), accrued: span(.accruedNs), isCounting: false,
            firings: count(.firings),
            lastScheduled: row.integer(.lastScheduledUs).flatMap { WallInstant(keptSchedule: $0) },
            configuredPaused: (row.integer(.configuredPaused) ?? 0) != 0,
            removed: instant(.removedUs), at: at ?? .unknown(wall: known),
            instance: Accepted.instance.lowerBound,
            basis: row.text(.basis).flatMap { TimeBasis(rawValue: $0) } ?? .active,
            maxLoss: span(.maxLossNs), skips: count(.skips),
            processedThrough: instant(.processedThroughUs),
            clockEpoch: count(.clockEpoch),
            isDueThisBoot: (row.integer(.dueThisBoot) ?? 0) != 0,
            awaitsEnd: (row.integer(.awaitsEnd) ?? 0) != 0,
            endedInPause: instant(.endedInPauseUs),
            lastSuccess: instant(.lastSuccessUs), watchedSince: instant(.watchedSinceUs))
    }
}

extension Phase {
    fileprivate init?(word: String, pause: Pause?) {
        switch word {
        case "armed": self = .armed
        case "stopped": self = .stopped
        case "finished": self = .finished
        case "paused":
            guard let pause else { return nil }
            self = .paused(pause)
        default: return nil
        }
    }
}

extension Pause {
    fileprivate init?(_ row: Columns<JobColumn>) {
        guard let since = row.instant(.pauseSinceUs)?.value, let by = row.text(.pauseBy),
            let until = row.instant(.pauseUntilUs)
        else { return nil }
        self.init(
            since: since, by: Initiator(stored: by), note: row.text(.pauseNote), until: until.value,
            withRun: row.integer(.pauseWithRun) ?? 0 != 0)
    }
}

/// An optional instant, which distinguishes a missing instant from one that cannot be read.
private struct Instant {
    var value: WallInstant?
}

extension Columns {
    fileprivate func instant(
        _ column: C, in range: ClosedRange<Int64> = Accepted.wallMicroseconds
    ) -> Instant? {
        guard let microseconds = integer(column) else { return Instant() }
        guard range.contains(microseconds) else { return nil }
        return Instant(value: WallInstant(microsecondsSinceEpoch: microseconds))
    }

    /// A reading of the clocks: wall in microseconds, awake and boot in nanoseconds.
    fileprivate func now(_ wall: C, awake: C, boot: C, bootID: BootID) -> Now? {
        guard let wall = integer(wall), let awake = integer(awake), let boot = integer(boot)
        else { return nil }
        return Now(keptWall: wall, awake: awake, boot: boot, bootID: bootID)
    }
}

extension Now {
    /// A reading of which only the wall clock is known, or nothing.
    fileprivate static func unknown(wall: WallInstant?) -> Now {
        Now(
            wall: wall ?? WallInstant(secondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: .unknown)
    }
}
