// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a daemon that starts reads of the instances before it. The tables let any number through: each is held
/// against the range that timerd writes (`Accepted`) before anything is calculated with it. A row that fails is put
/// into `damage`, and the daemon goes on with what can be read of it.
extension Store {
    private static let jobsAsSaved = """
        SELECT name, phase, pause_since_us, pause_by, pause_note, active_ns, accrued_ns, counting,
            firings, last_scheduled_us, configured_paused, removed_us, at_us, at_awake_ns,
            at_boot_ns, boot_id, life, basis, uncertain_ns, skips, pause_until_us, pause_with_run,
            seen_us, corrections, due_this_boot
        FROM (\(jobs))
        """

    /// What is kept of each job. One whose row is damaged is paused, with what can be read of its time: whether it
    /// may run is for somebody to decide who knows what happened to the database.
    func jobRecords() throws(StoreError) -> [JobRecord] {
        var records: [JobRecord] = []
        try connection.run(
            "\(Self.jobsAsSaved) ORDER BY name", doing: "read the jobs' accounts"
        ) { row in
            if let record = JobRecord(row) {
                records.append(record)
            } else if let name = row.text(0).flatMap({ Job.Name($0) }) {
                let faults = JobRecord.faults(in: row)
                records.append(JobRecord(salvaging: row, of: name, faults))
                note(
                    """
                    the saved state of job "\(name)" is damaged (\(faults.joined(separator: ", "))); the job is \
                    paused, with what could be read of its time: see `timerctl show \(name)`, then `timerctl \
                    resume \(name)`
                    """)
            } else {
                note("the saved state of a job has no name that could be one: \(row.text(0) ?? "")")
            }
        }
        return records
    }

    /// The runs that were written and never closed. Whether they were begun is not for the store to know.
    func openRuns() throws(StoreError) -> [Recollection.OpenRun] {
        var runs: [Recollection.OpenRun] = []
        try connection.run(
            """
            SELECT job, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, owner FROM run
            WHERE outcome IS NULL ORDER BY scheduled_us, job
            """, doing: "read the open runs"
        ) { row in
            guard let id = Run.ID(row) else {
                let text = [row.text(0), row.text(1), row.text(2)].map { $0 ?? "NULL" }
                return note(
                    "a run has no identity that can be read (\(text.joined(separator: " "))); it is ignored"
                )
            }
            let missed = row.integer(3).flatMap { Int(kept: $0) }
            let active = row.integer(4).flatMap { Duration(keptNanoseconds: $0) }
            let bootID = row.text(5).flatMap { BootID($0) }
            let recorded = row.integer(6).flatMap { WallInstant(kept: $0) }
            let owner = row.text(7).flatMap { Job.Name($0) }
            if owner == nil || missed == nil || active == nil || bootID == nil || recorded == nil {
                note("what was saved of run \(id) is damaged; it goes on without that")
            }
            runs.append(
                Recollection.OpenRun(
                    id: id, of: owner ?? id.firing.job,
                    firing: Firing(
                        id: id.firing, missed: missed ?? 0, active: active ?? .zero),
                    bootID: bootID ?? .unknown, wasBegun: true, recorded: recorded))
        }
        return runs
    }

    /// The latest closed run of each job.
    /// - Complexity: O(*m* log *n*) for *m* jobs and *n* runs: the names are found one after the other, since to
    ///   group millions of runs would take seconds.
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
            SELECT run.job, run.scheduled_us, run.attempt, run.outcome, run.ended_us, run.elapsed_us,
                run.user_us, run.system_us, run.peak_bytes, run.failed, run.owner
            FROM known JOIN run ON run.id = (
                SELECT id FROM run AS last WHERE last.owner = known.owner AND last.outcome IS NOT NULL
                ORDER BY last.ended_us DESC, last.scheduled_us DESC, last.attempt DESC LIMIT 1)
            """, doing: "read the latest runs"
        ) { row in
            // A run that cannot be read is one nobody is shown: nothing is decided by it.
            guard let id = Run.ID(row), let outcome = row.text(3).flatMap({ RunOutcome($0) }),
                let ended = row.integer(4).flatMap({ WallInstant(kept: $0) }),
                let owner = row.text(10).flatMap({ Job.Name($0) })
            else { return }
            let usage = RunUsage(row, from: 5)
            runs[owner] = RunSummary(
                id: id, began: ended - usage.elapsed, outcome: outcome, usage: usage,
                failed: row.integer(9) == 1)
        }
        return runs
    }

    /// The instance of the daemon before this one. If its row is damaged, all that is known is that there was one.
    func previousLife() throws(StoreError) -> Recollection.PreviousLife? {
        var previous: Recollection.PreviousLife?
        try connection.run(
            """
            SELECT id, boot_id, began_us, began_awake_ns, began_boot_ns, ended_us, ended_awake_ns,
                ended_boot_ns
            FROM life WHERE id BETWEEN \(Accepted.life.lowerBound) AND \(Accepted.life.upperBound - 1)
            ORDER BY id DESC LIMIT 1
            """, doing: "read the daemon's last start"
        ) { row in
            let boot = row.text(1).flatMap { BootID($0) }
            let began = boot.flatMap { row.now(from: 2, bootID: $0) }
            let ended = boot.flatMap { row.now(from: 5, bootID: $0) }
            if began == nil || (ended == nil && row.integer(5) != nil) {
                note(
                    "what was saved of the daemon's last start is damaged; it goes on without that")
            }
            previous = .init(
                life: row.integer(0) ?? 1, began: began ?? .unknown(wall: nil), ended: ended)
        }
        return previous
    }
}

extension JobRecord {
    /// Reads a row of `jobRecords`; nil if any part of it is none that timerd writes.
    fileprivate init?(_ row: Row) {
        guard let name = row.text(0).flatMap({ Job.Name($0) }),
            let phase = row.text(1).flatMap({ Phase(word: $0, pause: Pause(row)) }),
            let active = row.integer(5).flatMap({ Duration(keptNanoseconds: $0) }),
            let accrued = row.integer(6).flatMap({ Duration(keptNanoseconds: $0) }),
            let counting = row.integer(7),
            let firings = row.integer(8).flatMap({ Int(kept: $0) }),
            let lastScheduled = row.instant(9, in: Accepted.scheduledMicroseconds),
            let configuredPaused = row.integer(10),
            let removed = row.instant(11), let bootID = row.text(15).flatMap({ BootID($0) }),
            let at = row.now(from: 12, bootID: bootID),
            let life = row.integer(16), Accepted.life.contains(life),
            let basis = row.text(17).flatMap({ TimeBasis(rawValue: $0) }),
            let uncertain = row.integer(18).flatMap({ Duration(keptNanoseconds: $0) }),
            let skips = row.integer(19).flatMap({ Int(kept: $0) }), let seen = row.instant(22),
            let corrections = row.integer(23).flatMap({ Int(kept: $0) }),
            let isDueThisBoot = row.integer(24)
        else { return nil }
        self.init(
            job: name, phase: phase, active: active, accrued: accrued, isCounting: counting != 0,
            firings: firings, lastScheduled: lastScheduled.value,
            configuredPaused: configuredPaused != 0, removed: removed.value, at: at, life: life,
            basis: basis, uncertain: uncertain, skips: skips, seen: seen.value,
            corrections: corrections, isDueThisBoot: isDueThisBoot != 0)
    }

    /// The columns of a row that hold what timerd never writes, each with what it holds.
    fileprivate static func faults(in row: Row) -> [String] {
        let instants =
            [(2, "pause_since_us"), (11, "removed_us")]
            + [(12, "at_us"), (20, "pause_until_us"), (22, "seen_us")]
        let clocks = [(13, "at_awake_ns"), (14, "at_boot_ns")]
        let spans = [(5, "active_ns"), (6, "accrued_ns"), (18, "uncertain_ns")]
        let counts = [(8, "firings"), (19, "skips"), (23, "corrections")]
        let ranges = [
            (instants, Accepted.wallMicroseconds), (clocks, Accepted.bootNanoseconds),
            (spans, Accepted.spanNanoseconds), (counts, Accepted.count),
            ([(9, "last_scheduled_us")], Accepted.scheduledMicroseconds),
            ([(16, "life")], Accepted.life),
        ]
        var faults: [String] = []
        for (columns, range) in ranges {
            for (column, name) in columns {
                guard let value = row.integer(Int32(column)), !range.contains(value) else {
                    continue
                }
                faults.append("\(name) = \(value)")
            }
        }
        let boot = row.text(15) ?? ""
        if BootID(boot) == nil { faults.append("boot_id = '\(boot.prefix(64))'") }
        if row.text(1) == "paused", row.integer(2) == nil || row.text(3) == nil {
            faults.append("the name of who paused it is missing")
        }
        return faults.isEmpty ? ["a word that timerd does not know"] : faults
    }

    /// What can be read of a damaged row, as a job that is paused and says why.
    fileprivate init(salvaging row: Row, of name: Job.Name, _ faults: [String]) {
        func instant(_ column: Int32) -> WallInstant? {
            row.integer(column).flatMap { WallInstant(kept: $0) }
        }
        func span(_ column: Int32) -> Duration {
            row.integer(column).flatMap { Duration(keptNanoseconds: $0) } ?? .zero
        }
        func count(_ column: Int32) -> Int { row.integer(column).flatMap { Int(kept: $0) } ?? 0 }
        let known = instant(12) ?? instant(22) ?? instant(9)
        let at = row.text(15).flatMap { BootID($0) }.flatMap { row.now(from: 12, bootID: $0) }
        let note = "its saved state is damaged: \(faults.joined(separator: ", "))"
        self.init(
            job: name,
            phase: .paused(
                Pause(
                    since: known ?? WallInstant(secondsSinceEpoch: 0), by: .user("timerd"),
                    note: note)),
            active: span(5), accrued: span(6), isCounting: false, firings: count(8),
            lastScheduled: row.integer(9).flatMap { WallInstant(keptSchedule: $0) },
            configuredPaused: (row.integer(10) ?? 0) != 0,
            removed: instant(11), at: at ?? .unknown(wall: known), life: Accepted.life.lowerBound,
            basis: row.text(17).flatMap { TimeBasis(rawValue: $0) } ?? .active,
            uncertain: span(18), skips: count(19), seen: instant(22), corrections: count(23),
            isDueThisBoot: (row.integer(24) ?? 0) != 0)
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
    /// Reads columns 2 to 4, 20 and 21 of `jobRecords`.
    fileprivate init?(_ row: Row) {
        guard let since = row.instant(2)?.value, let by = row.text(3), let until = row.instant(20)
        else { return nil }
        self.init(
            since: since, by: Author(stored: by), note: row.text(4), until: until.value,
            withRun: row.integer(21) ?? 0 != 0)
    }
}

extension Run.ID {
    /// Reads columns 0 to 2: job, scheduled instant, attempt.
    init?(_ row: Row) {
        guard let job = row.text(0).flatMap({ Job.Name($0) }),
            let scheduled = row.integer(1).flatMap({ WallInstant(keptSchedule: $0) }),
            let attempt = row.integer(2).flatMap({ Int(kept: $0) }), attempt >= 1
        else { return nil }
        self.init(firing: Firing.ID(job: job, scheduled: scheduled), attempt: attempt)
    }
}

extension RunUsage {
    /// Reads four columns: elapsed, user and system time in microseconds, and the peak of memory in bytes. Nothing
    /// is decided by them: what cannot be read is zero.
    init(_ row: Row, from column: Int32) {
        func span(_ column: Int32) -> Duration {
            row.integer(column).flatMap { Duration(keptMicroseconds: $0) } ?? .zero
        }
        self.init(
            elapsed: span(column), user: span(column + 1), system: span(column + 2),
            peakResidentBytes: max(0, row.integer(column + 3) ?? 0))
    }
}

extension Row {
    /// An instant that may be missing, so that one that cannot be read is told apart from none.
    fileprivate struct Instant {
        var value: WallInstant?
    }

    fileprivate func instant(
        _ column: Int32, in range: ClosedRange<Int64> = Accepted.wallMicroseconds
    ) -> Instant? {
        guard let microseconds = integer(column) else { return Instant() }
        guard range.contains(microseconds) else { return nil }
        return Instant(value: WallInstant(microsecondsSinceEpoch: microseconds))
    }

    /// Three columns of clocks: wall in microseconds, awake and boot in nanoseconds.
    fileprivate func now(from column: Int32, bootID: BootID) -> Now? {
        guard let wall = integer(column), let awake = integer(column + 1),
            let boot = integer(column + 2)
        else { return nil }
        return Now(keptWall: wall, awake: awake, boot: boot, bootID: bootID)
    }
}

extension Now {
    /// A reading of which nothing, or nothing but the wall clock, is known.
    fileprivate static func unknown(wall: WallInstant?) -> Now {
        Now(
            wall: wall ?? WallInstant(secondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: .unknown)
    }
}
