// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension JobRecord {
    /// Reads a row of `jobRecords`; nil if any part of it is not valid.
    init?(_ row: Columns<JobColumn>) {
        func span(_ column: JobColumn) -> Duration? {
            row.integer(column).flatMap { Duration(keptNanoseconds: $0) }
        }
        func count(_ column: JobColumn) -> Int? {
            row.integer(column).flatMap { Int(kept: $0) }
        }
        guard let name = row.text(.name).flatMap({ Job.Name($0) }),
            let phase = row.text(.phase).flatMap({ Phase(word: $0, pause: Pause(row)) }),
            let active = span(.activeNs),
            let accrued = row.integer(.accruedNs).flatMap({ Duration(keptAccrued: $0) }),
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
            let watchedSince = row.instant(.watchedSinceUs), let chain = row.chainEnds,
            let runs = count(.limitedRuns), let successes = count(.limitedSuccesses)
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
            watchedSince: watchedSince.value, chain: chain,
            tally: RunTally(runs: runs, successes: successes))
    }

    /// The valid range of a column of numbers; nil for other columns.
    private static func range(of column: JobColumn) -> ClosedRange<Int64>? {
        switch column {
        case .pauseSinceUs, .pauseUntilUs, .removedUs, .atUs, .processedThroughUs,
            .endedInPauseUs,
            .lastSuccessUs, .watchedSinceUs:
            Accepted.wallMicroseconds
        case .atAwakeNs, .atBootNs: Accepted.bootNanoseconds
        case .activeNs, .maxLossNs: Accepted.spanNanoseconds
        case .accruedNs: Accepted.accruedNanoseconds
        case .firings, .skips, .clockEpoch, .limitedRuns, .limitedSuccesses: Accepted.count
        case .lastScheduledUs: Accepted.scheduledMicroseconds
        case .instance: Accepted.instance
        case .name, .phase, .pauseBy, .pauseNote, .pauseWithRun, .counting, .configuredPaused,
            .bootId, .basis, .dueThisBoot, .awaitsEnd, .chain:
            nil
        }
    }

    /// The columns of a row that contain invalid values, each with its value.
    static func faults(in row: Columns<JobColumn>) -> [String] {
        var faults: [String] = []
        for column in JobColumn.allCases {
            guard let range = range(of: column), let value = row.integer(column),
                !range.contains(value)
            else { continue }
            faults.append("\(column.name) = \(value)")
        }
        let boot = row.text(.bootId) ?? ""
        if BootID(boot) == nil { faults.append("boot_id = '\(boot.prefix(64))'") }
        if row.chainEnds == nil { faults.append("chain") }
        if row.text(.phase) == "paused",
            row.integer(.pauseSinceUs) == nil || row.text(.pauseBy) == nil
        {
            faults.append("the name of who paused it is missing")
        }
        return faults.isEmpty ? ["a word that timerd does not know"] : faults
    }

    /// The valid parts of a damaged row, as a job that is paused with a note that says why.
    init(salvaging row: Columns<JobColumn>, of name: Job.Name, _ faults: [String]) {
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
            lastSuccess: instant(.lastSuccessUs), watchedSince: instant(.watchedSinceUs),
            chain: row.chainEnds ?? [],
            tally: RunTally(runs: count(.limitedRuns), successes: count(.limitedSuccesses)))
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

extension Columns<JobColumn> {
    /// The ends after which the job has not run; nil if one cannot be read.
    fileprivate var chainEnds: [ChainEnd]? {
        guard let text = text(.chain) else { return [] }
        let lines = text.split(separator: "\n")
        let ends = lines.compactMap { ChainEnd(String($0)) }
        return ends.count == lines.count && ends.count <= ChainEnd.keptMax ? ends : nil
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
    func now(_ wall: C, awake: C, boot: C, bootID: BootID) -> Now? {
        guard let wall = integer(wall), let awake = integer(awake), let boot = integer(boot)
        else { return nil }
        return Now(keptWall: wall, awake: awake, boot: boot, bootID: bootID)
    }
}

extension Now {
    /// A reading of which only the wall clock is known, or nothing.
    static func unknown(wall: WallInstant?) -> Now {
        Now(
            wall: wall ?? WallInstant(secondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: .unknown)
    }
}
