// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

extension Store {
    private static func saving(into table: String) -> String {
        let places = JobColumn.allCases.map { _ in "?" }.joined(separator: ", ")
        return "INSERT OR REPLACE INTO \(table) (\(JobColumn.list)) VALUES (\(places))"
    }

    static let saving = saving(into: "job")
    static let staging = saving(into: "staged_job")

    func save(_ record: JobRecord) throws(StoreError) {
        try write(record, Self.saving)
        try forgetStaged(record.job)
    }

    /// Does to the rows what `RecordRenewal.renewed` does to records. The database refuses all of it
    /// for a single row with an invalid value, so then each record is written.
    func renew(_ renewal: RecordRenewal) throws(StoreError) {
        do throws(StoreError) {
            try renewTogether(renewal)
        } catch {
            guard error.code == .refused else { throw error }
            for record in try jobRecords() where renewal.concerns(record) {
                try save(renewal.renewed(record))
            }
        }
    }

    private func renewTogether(_ renewal: RecordRenewal) throws(StoreError) {
        let at = renewal.at
        try connection.run(
            """
            UPDATE job SET counting = 1, processed_through_us = ?1, at_us = ?1, at_awake_ns = ?2,
                at_boot_ns = ?3, boot_id = ?4, instance = ?5
            WHERE phase = 'armed' AND removed_us IS NULL
            """,
            [
                Value(at.wall), .integer(at.awake.nanoseconds), .integer(at.boot.nanoseconds),
                .text(at.bootID.description), .integer(renewal.instance),
            ], doing: "write the records of the jobs")
    }

    func write(_ record: JobRecord, _ statement: String) throws(StoreError) {
        try connection.run(
            statement, JobColumn.allCases.map { record.value(of: $0) },
            doing: "write the record of a job")
    }

    /// An ended run, with everything that is stored about it.
    public struct PastRun: Hashable, Sendable {
        public var job: Job.Name
        /// The run, with the name that its job had when it started.
        public var summary: RunSummary
        /// When it ended, by the wall clock.
        public var ended: WallInstant
        /// How many missed firings the run stands for, in addition to its own.
        public var missed: Int
        /// Why the firing was made.
        public var cause: Firing.Cause
        /// The last part of its output; empty if it was not read.
        public var tail: [UInt8]
        /// Whether its output was read, as the query asked.
        public var hasOutput = true
        /// Its row, which tells it from other runs that ended at the same instant.
        public var row: Int64
    }

    /// The most runs that one run is said to have caused.
    public static let causedMax = 100

    /// The ended runs that the end of this one caused, without their output, the earliest first; at most
    /// `causedMax`.
    /// - Complexity: O(log *n*) in the number of runs.
    public func runs(causedBy run: Run.ID) throws(StoreError) -> [PastRun] {
        var found: [PastRun] = []
        try connection.run(
            """
            SELECT \(PastRunColumn.listWithoutOutput) FROM run
            WHERE cause_run = ? AND outcome IS NOT NULL ORDER BY id LIMIT \(Self.causedMax)
            """, [.text(run.description)], doing: "read the runs that a run caused"
        ) { if let run = PastRun(Columns($0)) { found.append(run) } }
        return found
    }

    /// The ended run with this identity; nil if there is none.
    public func pastRun(_ run: Run.ID) throws(StoreError) -> PastRun? {
        var found: PastRun?
        try connection.run(
            """
            SELECT \(PastRunColumn.list) FROM run WHERE outcome IS NOT NULL AND job = ? AND scheduled_us = ? AND attempt = ?
            """, identity(run), doing: "read a run"
        ) { found = PastRun(Columns($0)) }
        return found
    }
}

extension Store.PastRun {
    /// Reads a row of `history`; nil if it is not valid. The history is only displayed.
    init?(_ row: Columns<PastRunColumn>) {
        guard
            let id = Run.ID(
                job: row.text(.job), scheduledUs: row.integer(.scheduledUs),
                attempt: row.integer(.attempt)),
            let outcome = row.text(.outcome).flatMap({ RunOutcome($0) }),
            let end = row.integer(.endedUs).flatMap({ WallInstant(kept: $0) }),
            let owner = row.text(.owner).flatMap({ Job.Name($0) })
        else { return nil }
        job = owner
        let usage = RunUsage(
            elapsedUs: row.integer(.elapsedUs), userUs: row.integer(.userUs),
            systemUs: row.integer(.systemUs), peakBytes: row.integer(.peakBytes))
        ended = end
        summary = RunSummary(
            id: id, began: row.integer(.beganUs).flatMap { WallInstant(kept: $0) }, ended: end,
            outcome: outcome, usage: usage, failed: row.integer(.failed) == 1)
        missed = row.integer(.missed).flatMap { Int(kept: $0) } ?? 0
        cause = row.text(.cause).flatMap { Firing.Cause($0) } ?? .schedule
        tail = row.bytes(.tail) ?? []
        self.row = row.integer(.id) ?? 0
    }
}

extension JobRecord {
    private var pause: Pause? {
        if case .paused(let pause) = phase { pause } else { nil }
    }

    /// What the column of a record has; null where the record has nil.
    fileprivate func value(of column: JobColumn) -> Value {
        switch column {
        case .name: .text(job.description)
        case .phase: .text(phase.word)
        case .pauseSinceUs: Value(pause?.since)
        case .pauseBy: Value(pause?.by.stored)
        case .pauseNote: Value(pause?.note)
        case .pauseUntilUs: Value(pause?.until)
        case .pauseWithRun: Value(pause?.withRun ?? false)
        case .activeNs: .integer(active.wholeNanoseconds)
        case .accruedNs: .integer(accrued.wholeNanoseconds)
        case .counting: Value(isCounting)
        case .firings: .integer(firings.keepable)
        case .lastScheduledUs: Value(lastScheduled)
        case .configuredPaused: Value(configuredPaused)
        case .removedUs: Value(removed)
        case .atUs: Value(at.wall)
        case .atAwakeNs: .integer(at.awake.nanoseconds)
        case .atBootNs: .integer(at.boot.nanoseconds)
        case .bootId: .text(at.bootID.description)
        case .instance: .integer(instance)
        case .basis: .text(basis.rawValue)
        case .maxLossNs: .integer(maxLoss.wholeNanoseconds)
        case .skips: .integer(skips.keepable)
        case .processedThroughUs: Value(processedThrough)
        case .clockEpoch: .integer(clockEpoch.keepable)
        case .dueThisBoot: Value(isDueThisBoot)
        case .awaitsEnd: Value(awaitsEnd)
        case .endedInPauseUs: Value(endedInPause)
        case .lastSuccessUs: Value(lastSuccess)
        case .watchedSinceUs: Value(watchedSince)
        case .chain:
            chain.isEmpty
                ? .null : .text(chain.map(\.description).joined(separator: "\n"))
        case .limitedRuns: .integer(tally.runs.keepable)
        case .limitedSuccesses: .integer(tally.successes.keepable)
        }
    }
}

extension Initiator {
    /// A user name cannot contain a colon (passwd(5)), so a word with a colon means another
    /// initiator.
    private static let words: [String: Initiator] = [
        ":configuration": .configuration, ":pause-end": .pauseEnd,
        ":clock-correction": .clockCorrection, ":isolation": .isolation, ":hold": .hold,
    ]

    var stored: String {
        switch self {
        case .configuration: ":configuration"
        case .pauseEnd: ":pause-end"
        case .clockCorrection: ":clock-correction"
        case .isolation: ":isolation"
        case .hold: ":hold"
        case .user(let name): name
        }
    }

    init(stored: String) { self = Self.words[stored] ?? .user(stored) }
}
