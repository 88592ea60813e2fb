// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The columns of a statement, each with its index. The cases are the column names in camel case,
/// so that the same type generates the text of a statement and reads its rows.
protocol Column: CaseIterable, RawRepresentable, Sendable where RawValue == Int32 {}

extension Column {
    /// The name in the database: `pause_since_us` of `pauseSinceUs`.
    var name: String {
        String(
            "\(self)".flatMap { $0.isUppercase ? ["_", Character($0.lowercased())] : [$0] })
    }

    /// The names of all columns, for a statement.
    static var list: String { allCases.map(\.name).joined(separator: ", ") }
}

/// The current row of a statement that selects exactly these columns, in their order.
struct Columns<C: Column> {
    private let row: Row

    init(_ row: Row) { self.row = row }

    func integer(_ column: C) -> Int64? { row.integer(column.rawValue) }

    func text(_ column: C) -> String? { row.text(column.rawValue) }

    func bytes(_ column: C) -> [UInt8]? { row.bytes(column.rawValue) }
}

/// The columns of the tables `job` and `staged_job`.
enum JobColumn: Int32, Column {
    case name, phase, pauseSinceUs, pauseBy, pauseNote, pauseUntilUs, pauseWithRun
    case activeNs, accruedNs, counting, firings, lastScheduledUs, configuredPaused, removedUs
    case atUs, atAwakeNs, atBootNs, bootId, instance, basis, maxLossNs, skips, processedThroughUs,
        clockEpoch
    case dueThisBoot, awaitsEnd, endedInPauseUs, lastSuccessUs, watchedSinceUs, chain
    case limitedRuns, limitedSuccesses
}

/// The columns of an ended run for the history.
enum PastRunColumn: Int32, Column {
    case job, scheduledUs, attempt, owner, outcome, failed, beganUs, endedUs
    case elapsedUs, userUs, systemUs, peakBytes, missed, cause, id, tail

    /// The same columns with NULL in place of the output, which may be large.
    static var listWithoutOutput: String { list.replacing(", tail", with: ", NULL") }
}

enum SkipColumn: Int32, Column {
    case id, job, reason, blockedBy, count, firstUs, lastUs, atUs
}

enum PauseColumn: Int32, Column {
    case job, sinceUs, endedUs, pausedBy, endedBy, note, untilUs, withRun
}

enum IncidentColumn: Int32, Column {
    case job, notifier, kind, sinceUs, count, notifiedUs
}

enum NotificationColumn: Int32, Column {
    case id, notifier, kind, job, run, atUs, outcome, failedInARow, sinceUs, isRepeat, willRetry
    case elapsedUs, userUs, systemUs, peakBytes, skipReason, recoveredFrom, owner
}

enum MessageColumn: Int32, Column {
    case id, notifier, createdUs, state, attempts, nextUs, error, sentUs
}

/// The columns of an ended run without its output.
enum LastRunColumn: Int32, Column {
    case job, scheduledUs, attempt, owner, outcome, failed, beganUs, endedUs
    case elapsedUs, userUs, systemUs, peakBytes
}

/// The columns of an open run that the next instance needs to continue it.
enum OpenRunColumn: Int32, Column {
    case job, scheduledUs, attempt, owner, missed, activeNs, bootId, recordedUs, cause
    case released
}

enum InstanceColumn: Int32, Column {
    case id, bootId, beganUs, beganAwakeNs, beganBootNs, endedUs, endedAwakeNs, endedBootNs
}

extension Run.ID {
    /// The run with these columns; nil if they are not valid values.
    init?(job: String?, scheduledUs: Int64?, attempt: Int64?) {
        guard let job = job.flatMap({ Job.Name($0) }),
            let scheduled = scheduledUs.flatMap({ WallInstant(keptSchedule: $0) }),
            let attempt = attempt.flatMap({ Int(kept: $0) }), attempt >= 1
        else { return nil }
        self.init(firing: Firing.ID(job: job, scheduled: scheduled), attempt: attempt)
    }
}

extension RunUsage {
    /// The stored resource usage. It is only displayed, so values that cannot be read are zero.
    init(elapsedUs: Int64?, userUs: Int64?, systemUs: Int64?, peakBytes: Int64?) {
        func span(_ microseconds: Int64?) -> Duration {
            microseconds.flatMap { Duration(keptMicroseconds: $0) } ?? .zero
        }
        self.init(
            elapsed: span(elapsedUs), user: span(userUs), system: span(systemUs),
            peakResidentBytes: max(0, peakBytes ?? 0))
    }
}
