// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Reads what earlier instances of the daemon stored. The tables accept any number, so each value
/// is checked against the range that timerd writes (`Accepted`) before it is used in a calculation.
/// A row that fails is added to `damage`, and the daemon continues with the valid parts of it.
extension Store {
    /// The time record of each job. A job whose row is damaged is paused, with the valid parts of
    /// its times: an administrator who knows what happened to the database must decide whether it
    /// may run.
    func jobRecords() throws(StoreError) -> [JobRecord] {
        var records: [JobRecord] = []
        let what = "read the records of the jobs"
        // Reading both tables takes nearly twice as long, and at most starts nothing is staged.
        let table = try hasAppliedStaged(doing: what) ? "(\(Self.jobsWithStaged))" : "job"
        try connection.run(
            "SELECT \(JobColumn.list) FROM \(table) ORDER BY name", doing: what
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
                    "the saved state of a job has an invalid name: \(row.text(.name) ?? "")"
                )
            }
        }
        return records
    }

    /// The runs without a recorded end. The store does not know which of those that were released are
    /// running.
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
                    bootID: bootID ?? .unknown, isReleased: row.integer(.released) != 0,
                    recorded: recorded))
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
                SELECT min(owner) FROM run WHERE ended_us IS NOT NULL
                UNION ALL
                SELECT (SELECT min(owner) FROM run WHERE ended_us IS NOT NULL AND owner > known.owner)
                FROM known WHERE known.owner IS NOT NULL
            )
            SELECT \(LastRunColumn.allCases.map { "run.\($0.name)" }.joined(separator: ", "))
            FROM known JOIN run ON run.id = (
                SELECT id FROM run AS last WHERE last.owner = known.owner AND last.ended_us IS NOT NULL
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
                AND run.failed = 0
                AND (run.outcome LIKE 'exited(%' OR run.outcome LIKE 'signalled(%')
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
            SELECT \(InstanceColumn.list)
            FROM instance WHERE id BETWEEN \(Accepted.instance.lowerBound) AND \(Accepted.instance.upperBound - 1)
            ORDER BY id DESC LIMIT 1
            """, doing: "read the daemon's last start"
        ) { row in
            let row = Columns<InstanceColumn>(row)
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
