// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension Store {
    static func saving(into table: String) -> String {
        """
        INSERT OR REPLACE INTO \(table) (name, phase, pause_since_us, pause_by, pause_note, active_ns,
            accrued_ns, counting, firings, last_scheduled_us, configured_paused, removed_us, at_us,
            at_awake_ns, at_boot_ns, boot_id, life, basis, uncertain_ns, skips, pause_until_us,
            pause_with_run, seen_us, corrections)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    }

    static let saving = saving(into: "job")
    static let staging = saving(into: "staged_job")

    func save(_ record: JobRecord) throws(StoreError) {
        try write(record, Self.saving)
        try forgetStaged(record.job)
    }

    func write(_ record: JobRecord, _ statement: String) throws(StoreError) {
        var pause: Pause?
        if case .paused(let found) = record.phase { pause = found }
        try connection.run(
            statement,
            [
                .text(record.job.description), .text(record.phase.word),
                Value(pause?.since.microsecondsSinceEpoch), Value(pause?.by.stored),
                Value(pause?.note), .integer(record.active.wholeNanoseconds),
                .integer(record.accrued.wholeNanoseconds), Value(record.isCounting),
                .integer(Int64(record.firings)),
                Value(record.lastScheduled?.microsecondsSinceEpoch),
                Value(record.configuredPaused), Value(record.removed?.microsecondsSinceEpoch),
                .integer(record.at.wall.microsecondsSinceEpoch),
                .integer(record.at.awake.nanoseconds), .integer(record.at.boot.nanoseconds),
                .text(record.at.bootID.description), .integer(record.life),
                .text(record.basis.rawValue), .integer(record.uncertain.wholeNanoseconds),
                .integer(Int64(record.skips)), Value(pause?.until?.microsecondsSinceEpoch),
                Value(pause?.withRun ?? false), Value(record.seen?.microsecondsSinceEpoch),
                .integer(Int64(record.corrections)),
            ], doing: "write a job's account")
    }

    func jobRecords() throws(StoreError) -> [JobRecord] {
        var records: [JobRecord] = []
        var unreadable: String?
        try connection.run(
            """
            SELECT name, phase, pause_since_us, pause_by, pause_note, active_ns, accrued_ns, counting,
                firings, last_scheduled_us, configured_paused, removed_us, at_us, at_awake_ns,
                at_boot_ns, boot_id, life, basis, uncertain_ns, skips, pause_until_us, pause_with_run,
                seen_us, corrections
            FROM (\(Self.jobs)) ORDER BY name
            """, doing: "read the jobs' accounts"
        ) { row in
            if let record = JobRecord(row) {
                records.append(record)
            } else {
                unreadable = unreadable ?? row.text(0) ?? "?"
            }
        }
        try refuse(unreadable.map { "the account of job \"\($0)\"" })
        return records
    }

    /// The runs that were written and never closed. Whether they were begun is not for the store to know.
    func openRuns() throws(StoreError) -> [Recollection.OpenRun] {
        var runs: [Recollection.OpenRun] = []
        var unreadable: String?
        try connection.run(
            """
            SELECT job, scheduled_us, attempt, missed, active_ns, boot_id, recorded_us, owner FROM run
            WHERE outcome IS NULL ORDER BY scheduled_us, job
            """, doing: "read the open runs"
        ) { row in
            guard let id = Run.ID(row), let missed = row.integer(3), let active = row.integer(4),
                let bootID = row.text(5).flatMap({ BootID($0) }), let recorded = row.integer(6),
                let owner = row.text(7).flatMap({ Job.Name($0) })
            else {
                unreadable = unreadable ?? row.text(0) ?? "?"
                return
            }
            let firing = Firing(id: id.firing, missed: Int(missed), active: .nanoseconds(active))
            runs.append(
                Recollection.OpenRun(
                    id: id, of: owner, firing: firing, bootID: bootID, wasBegun: true,
                    recorded: WallInstant(microsecondsSinceEpoch: recorded)))
        }
        try refuse(unreadable.map { "an open run of job \"\($0)\"" })
        return runs
    }

    /// A run that ended, with all that is kept of it.
    public struct PastRun: Hashable, Sendable {
        /// The job it belongs to, by its name now.
        public var job: Job.Name
        /// The run.
        public var summary: RunSummary
        /// When it ended, on the calendar clock.
        public var ended: WallInstant
        /// How many firings were folded into it.
        public var missed: Int
        /// The last of what it wrote.
        public var tail: [UInt8]
    }

    /// The runs that ended, the latest first.
    ///
    /// - Parameters:
    ///   - job: whose; nil: of any.
    ///   - since: only those that ended since then.
    ///   - failed: only those that failed, as was judged when they ended.
    ///   - limit: how many at most.
    /// - Complexity: O(*m* log *n*) for *m* runs of one job.
    public func history(
        of job: Job.Name?, since: WallInstant?, failed: Bool, limit: Int
    ) throws(StoreError) -> [PastRun] {
        var runs: [PastRun] = []
        try connection.run(
            """
            SELECT job, scheduled_us, attempt, outcome, ended_us, elapsed_us, user_us, system_us,
                peak_bytes, missed, tail, failed, owner
            FROM run WHERE outcome IS NOT NULL \(job == nil ? "AND ?1 IS NULL" : "AND owner = ?1")
                AND ended_us >= ?2 \(failed ? "AND failed = 1" : "")
            ORDER BY ended_us DESC, scheduled_us DESC LIMIT ?3
            """,
            [
                Value(job?.description), .integer(since?.microsecondsSinceEpoch ?? .min),
                .integer(Int64(limit)),
            ], doing: "read the history"
        ) { row in
            guard let run = PastRun(row) else { return }
            runs.append(run)
        }
        return runs
    }

    /// One run that ended; nil if there is none of this identity.
    public func pastRun(_ run: Run.ID) throws(StoreError) -> PastRun? {
        var found: PastRun?
        try connection.run(
            """
            SELECT job, scheduled_us, attempt, outcome, ended_us, elapsed_us, user_us, system_us,
                peak_bytes, missed, tail, failed, owner
            FROM run WHERE outcome IS NOT NULL AND job = ? AND scheduled_us = ? AND attempt = ?
            """, identity(run), doing: "read a run"
        ) { found = PastRun($0) }
        return found
    }

    /// The latest closed run of each job.
    func lastRuns() throws(StoreError) -> [Job.Name: RunSummary] {
        var runs: [Job.Name: RunSummary] = [:]
        try connection.run(
            """
            SELECT job, max(scheduled_us), attempt, outcome, ended_us, elapsed_us, user_us, system_us,
                peak_bytes, failed, owner
            FROM run WHERE outcome IS NOT NULL GROUP BY owner
            """, doing: "read the latest runs"
        ) { row in
            // A run that cannot be read is one nobody is shown: nothing is decided by it.
            guard let id = Run.ID(row), let outcome = row.text(3).flatMap({ RunOutcome($0) }),
                let ended = row.integer(4), let owner = row.text(10).flatMap({ Job.Name($0) })
            else { return }
            let usage = RunUsage(
                elapsed: .microseconds(row.integer(5) ?? 0),
                user: .microseconds(row.integer(6) ?? 0),
                system: .microseconds(row.integer(7) ?? 0), peakResidentBytes: row.integer(8) ?? 0)
            let began = WallInstant(microsecondsSinceEpoch: ended) - usage.elapsed
            runs[owner] = RunSummary(
                id: id, began: began, outcome: outcome, usage: usage, failed: row.integer(9) == 1)
        }
        return runs
    }

    func previousLife() throws(StoreError) -> Recollection.PreviousLife? {
        var previous: Recollection.PreviousLife?
        var unreadable: String?
        try connection.run(
            """
            SELECT id, boot_id, began_us, began_awake_ns, began_boot_ns, ended_us, ended_awake_ns,
                ended_boot_ns
            FROM life ORDER BY id DESC LIMIT 1
            """, doing: "read the daemon's last start"
        ) { row in
            guard let id = row.integer(0), let boot = row.text(1).flatMap({ BootID($0) }),
                let began = row.now(from: 2, bootID: boot)
            else {
                unreadable = "the daemon's last start"
                return
            }
            previous = .init(life: id, began: began, ended: row.now(from: 5, bootID: boot))
        }
        try refuse(unreadable)
        return previous
    }

    /// A row the schema lets through and no version of this program wrote: nothing may be decided on it.
    private func refuse(_ unreadable: String?) throws(StoreError) {
        guard let unreadable else { return }
        throw StoreError(
            code: .corrupt, path: connection.path, what: "\(unreadable) cannot be made sense of",
            hint: "restore it from a backup, or move it away to start with empty accounts")
    }
}

extension Store.PastRun {
    /// Reads a row of `history`; nil for one that no version of this program wrote, by which nothing is
    /// decided.
    fileprivate init?(_ row: Row) {
        guard let id = Run.ID(row), let outcome = row.text(3).flatMap({ RunOutcome($0) }),
            let end = row.integer(4), let owner = row.text(12).flatMap({ Job.Name($0) })
        else { return nil }
        job = owner
        let usage = RunUsage(
            elapsed: .microseconds(row.integer(5) ?? 0), user: .microseconds(row.integer(6) ?? 0),
            system: .microseconds(row.integer(7) ?? 0), peakResidentBytes: row.integer(8) ?? 0)
        ended = WallInstant(microsecondsSinceEpoch: end)
        let began = usage.elapsed > .zero ? ended - usage.elapsed : nil
        summary = RunSummary(
            id: id, began: began, outcome: outcome, usage: usage, failed: row.integer(11) == 1)
        missed = Int(row.integer(9) ?? 0)
        tail = row.bytes(10) ?? []
    }
}

extension JobRecord {
    /// Reads a row of `jobRecords`.
    fileprivate init?(_ row: Row) {
        guard let name = row.text(0).flatMap({ Job.Name($0) }),
            let phase = row.text(1).flatMap({ Phase(word: $0, pause: Pause(row)) }),
            let active = row.integer(5), let accrued = row.integer(6),
            let counting = row.integer(7),
            let firings = row.integer(8), let configuredPaused = row.integer(10),
            let bootID = row.text(15).flatMap({ BootID($0) }),
            let at = row.now(from: 12, bootID: bootID), let life = row.integer(16),
            let basis = row.text(17).flatMap({ TimeBasis(rawValue: $0) }),
            let uncertain = row.integer(18), let skips = row.integer(19),
            let corrections = row.integer(23)
        else { return nil }
        self.init(
            job: name, phase: phase, active: .nanoseconds(active), accrued: .nanoseconds(accrued),
            isCounting: counting != 0, firings: Int(firings),
            lastScheduled: row.integer(9).map { WallInstant(microsecondsSinceEpoch: $0) },
            configuredPaused: configuredPaused != 0,
            removed: row.integer(11).map { WallInstant(microsecondsSinceEpoch: $0) }, at: at,
            life: life, basis: basis, uncertain: .nanoseconds(uncertain), skips: Int(skips),
            seen: row.integer(22).map { WallInstant(microsecondsSinceEpoch: $0) },
            corrections: Int(corrections))
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
        guard let since = row.integer(2), let by = row.text(3) else { return nil }
        self.init(
            since: WallInstant(microsecondsSinceEpoch: since), by: Author(stored: by),
            note: row.text(4),
            until: row.integer(20).map { WallInstant(microsecondsSinceEpoch: $0) },
            withRun: row.integer(21) ?? 0 != 0)
    }
}

extension Author {
    /// A user's name cannot hold a colon (passwd(5)), so the one word with a colon is the
    /// configuration's.
    private static let configurationWord = ":configuration"

    fileprivate var stored: String {
        switch self {
        case .configuration: Self.configurationWord
        // Nobody's pause begins so.
        case .pauseEnd: ":pause-end"
        case .clockCorrection: ":clock-correction"
        case .user(let name): name
        }
    }

    fileprivate init(stored: String) {
        self = stored == Self.configurationWord ? .configuration : .user(stored)
    }
}

extension Run.ID {
    /// Reads columns 0 to 2: job, scheduled instant, attempt.
    fileprivate init?(_ row: Row) {
        guard let job = row.text(0).flatMap({ Job.Name($0) }), let scheduled = row.integer(1),
            let attempt = row.integer(2)
        else { return nil }
        let firing = Firing.ID(job: job, scheduled: WallInstant(microsecondsSinceEpoch: scheduled))
        self.init(firing: firing, attempt: Int(attempt))
    }
}

extension Row {
    /// Three columns of clocks: wall in microseconds, awake and boot in nanoseconds.
    fileprivate func now(from column: Int32, bootID: BootID) -> Now? {
        guard let wall = integer(column), let awake = integer(column + 1),
            let boot = integer(column + 2)
        else { return nil }
        return Now(
            wall: WallInstant(microsecondsSinceEpoch: wall),
            awake: AwakeInstant(nanoseconds: awake),
            boot: BootInstant(nanoseconds: boot), bootID: bootID)
    }
}
