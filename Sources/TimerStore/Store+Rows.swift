// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension Store {
    static func saving(into table: String) -> String {
        """
        INSERT OR REPLACE INTO \(table) (name, phase, pause_since_us, pause_by, pause_note, active_ns,
            accrued_ns, counting, firings, last_scheduled_us, configured_paused, removed_us, at_us,
            at_awake_ns, at_boot_ns, boot_id, life, basis, uncertain_ns, skips, pause_until_us,
            pause_with_run, seen_us, corrections, due_this_boot)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
                Value(pause?.since), Value(pause?.by.stored),
                Value(pause?.note), .integer(record.active.wholeNanoseconds),
                .integer(record.accrued.wholeNanoseconds), Value(record.isCounting),
                .integer(record.firings.keepable), Value(record.lastScheduled),
                Value(record.configuredPaused), Value(record.removed),
                Value(record.at.wall), .integer(record.at.awake.nanoseconds),
                .integer(record.at.boot.nanoseconds),
                .text(record.at.bootID.description), .integer(record.life),
                .text(record.basis.rawValue), .integer(record.uncertain.wholeNanoseconds),
                .integer(record.skips.keepable), Value(pause?.until),
                Value(pause?.withRun ?? false), Value(record.seen),
                .integer(record.corrections.keepable), Value(record.isDueThisBoot),
            ], doing: "write a job's account")
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
}

extension Store.PastRun {
    /// Reads a row of `history`; nil for one that no version of this program wrote, by which nothing is
    /// decided.
    fileprivate init?(_ row: Row) {
        guard let id = Run.ID(row), let outcome = row.text(3).flatMap({ RunOutcome($0) }),
            let end = row.integer(4).flatMap({ WallInstant(kept: $0) }),
            let owner = row.text(12).flatMap({ Job.Name($0) })
        else { return nil }
        job = owner
        let usage = RunUsage(row, from: 5)
        ended = end
        let began = usage.elapsed > .zero ? ended - usage.elapsed : nil
        summary = RunSummary(
            id: id, began: began, outcome: outcome, usage: usage, failed: row.integer(11) == 1)
        missed = row.integer(9).flatMap { Int(kept: $0) } ?? 0
        tail = row.bytes(10) ?? []
    }
}

extension Author {
    /// A user's name cannot hold a colon (passwd(5)), so the one word with a colon is the
    /// configuration's.
    private static let configurationWord = ":configuration"

    var stored: String {
        switch self {
        case .configuration: Self.configurationWord
        // Nobody's pause begins so.
        case .pauseEnd: ":pause-end"
        case .clockCorrection: ":clock-correction"
        case .user(let name): name
        }
    }

    init(stored: String) {
        self = stored == Self.configurationWord ? .configuration : .user(stored)
    }
}
