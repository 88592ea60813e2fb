// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension JobRecord {
    /// Adds time that certainly passed after the record was taken.
    fileprivate mutating func credit(_ credit: Credit) {
        active += credit.counted
        accrued += credit.counted
        maxLoss += credit.maxLoss
    }
}

extension JobSet {
    /// The jobs that count from the boot and whose record is of an earlier boot, by the names they
    /// were saved under.
    fileprivate func newInBoot(_ records: [JobRecord], at now: Now) -> Set<Job.Name> {
        let jobs = jobs.filter(\.schedule.isSinceBoot)
        guard !jobs.isEmpty else { return [] }
        let names = Set(jobs.map(\.name) + jobs.compactMap(\.renamedFrom))
        return Set(
            records.filter { names.contains($0.job) && $0.at.bootID != now.bootID }.map(\.job))
    }
}

extension RecoveredState {
    /// What is known of the runs of a job that ended or were skipped; nil if that is nothing. A run
    /// may have succeeded after the job's record was taken.
    func outcomes(
        of job: Job.Name, _ record: JobRecord? = nil
    ) -> Boxed<JobOutcomes>? {
        // Most jobs have no success after their record, and a new installation has no run.
        let last = lastRuns.isEmpty ? nil : lastRuns[job]
        var success = record?.lastSuccess
        if !lastSuccesses.isEmpty, let later = lastSuccesses[job] {
            success = max(success ?? later, later)
        }
        if let last, last.result == .success, let ended = last.ended {
            success = max(success ?? ended, ended)
        }
        let skip = lastSkip(of: job, last)
        guard last != nil || success != nil || skip != nil else { return nil }
        return Boxed(
            wrappedValue: JobOutcomes(last: last, lastSuccess: success, lastSkip: skip))
    }

    /// What was skipped latest. A firing that was too late for its deadline is stored as a run.
    private func lastSkip(of job: Job.Name, _ last: RunSummary?) -> LastSkip? {
        let stored = lastSkips.isEmpty ? nil : lastSkips[job]
        guard let last, last.outcome == .lost(.deadline), let ended = last.ended,
            stored.map({ $0.at <= ended }) ?? true
        else { return stored }
        return LastSkip(
            scheduled: last.id.firing.scheduled, count: 1, reason: .deadline, at: ended)
    }

    /// How long no daemon ran. Nil at the first start, and if the wall clock, the only clock that
    /// continues over a reboot, was set back meanwhile.
    func away(until now: Now) -> Duration? {
        guard let previous else { return nil }
        let last = lastHeartbeat(of: previous)
        if last.bootID == now.bootID { return now.boot - last.boot }
        return now.wall > last.wall ? now.wall - last.wall : nil
    }
}

/// The jobs of the previous instance, with the time that counted since their records were taken.
struct CreditedRecords {
    /// The jobs, as if all of them had been removed from the configuration.
    var archive = JobArchive()
    /// Reports what each job got and what it may have lost.
    private(set) var notices: [Action] = []
    /// How many jobs were counting when the previous instance ended uncleanly.
    private(set) var wereCounting = 0
    /// The most time that one of the jobs may have lost.
    private(set) var lostAtMost = Duration.zero

    init(_ past: RecoveredState, _ jobSet: JobSet, at now: Now) {
        archive.reserve(past.records.count)
        let isClean = past.previousExit(at: now) == .clean
        // Jobs that count from the boot restart in a new boot: their saved time is from the
        // previous boot.
        let newInBoot = jobSet.newInBoot(past.records, at: now)
        for var record in past.records {
            if let hold = past.hold {
                record = record.under(hold, at: now)
            } else if past.mayCount(record) {
                let credit = past.credit(for: record, at: now)
                record.credit(credit)
                if !isClean { wereCounting += 1 }
                if !isClean || credit.counted > .zero || credit.maxLoss > .zero,
                    !newInBoot.contains(record.job)
                {
                    report(credit, to: record)
                }
            }
            archive.put(record, past.outcomes(of: record.job, record))
        }
    }

    private mutating func report(_ credit: Credit, to record: JobRecord) {
        lostAtMost = max(lostAtMost, credit.maxLoss)
        notices.append(
            .log(
                .recovered(
                    record.job, accrued: max(.zero, record.accrued), credited: credit.counted,
                    maxLoss: credit.maxLoss, record.basis)))
    }
}
