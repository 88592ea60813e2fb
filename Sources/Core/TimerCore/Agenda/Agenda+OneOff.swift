// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// One-off jobs, which are added and removed without a reload.
extension Agenda {
    /// How long a one-off job is shown after its last run has ended.
    public static let oneOffKept: Duration = .seconds(86_400)

    /// Adds a one-off job. Does nothing if its name is in use, or while a reload is not finished.
    mutating func include(_ job: Job, at now: Now) -> [Action] {
        guard !isShutDown, !isReloading, slot(of: job.name) == nil else { return [] }
        var change = JobSetChange()
        let timers = add(job, at: now, into: &change)
        if let slot = slot(of: job.name),
            let record = entries[slot]?.record(at: now, ahead: ahead, instance: instance)
        {
            change.records.append(record)
        }
        return [.storeJobSet(change, durable: true)] + timers
    }

    /// Removes one-off jobs and keeps their saved state, as for a job that was removed from the
    /// configuration. Active runs continue. Jobs that are not one-off jobs are not removed.
    mutating func exclude(_ jobs: [Job.Name], at now: Now) -> [Action] {
        guard !isShutDown, !isReloading else { return [] }
        var change = JobSetChange()
        var batch = Batch()
        var freed: Set<Int> = []
        for job in jobs {
            guard let slot = slot(of: job), entries[slot]?.job.isOneOff == true else { continue }
            remove(slot, at: now, into: &change, &batch)
            freed.insert(slot)
        }
        guard !freed.isEmpty else { return [] }
        jobSlots.removeAll { freed.contains($0) }
        freeSlots += freed
        return [.storeJobSet(change, durable: true)] + batch.actions
    }

    /// Discards the saved state of an earlier one-off job with the same name: a name may be used
    /// again, and the new job must not take over that state.
    mutating func forgetFormerOneOff(of job: Job) {
        guard job.isOneOff, let at = job.schedule.at, let record = archived[job.name]?.record,
            record.removed != nil,
            (record.processedThrough ?? record.at.wall) < at || record.phase != .finished
        else { return }
        archived[job.name] = nil
    }

    /// The one-off jobs that finished so long ago that they are not shown any more, and when to
    /// check again; nil if there are no other one-off jobs.
    /// - Complexity: O(*n*) in the number of jobs.
    public func expiredOneOffs(at now: WallInstant) -> (jobs: [Job.Name], next: WallInstant?) {
        var found: [Job.Name] = []
        var next: WallInstant?
        for slot in jobSlots {
            guard let entry = entries[slot], entry.job.isOneOff else { continue }
            let isOver = entry.phase == .finished && runs[slot].isEmpty
            let end = (isOver ? entry.finishedAt : max(now, entry.finishedAt)) + Self.oneOffKept
            if isOver, end <= now {
                found.append(entry.job.name)
            } else {
                next = min(next ?? end, end)
            }
        }
        return (found, next)
    }

    /// Whether a job of this name is a one-off job; nil if there is no such job.
    public func isOneOff(_ job: Job.Name) -> Bool? {
        slot(of: job).flatMap { entries[$0]?.job.isOneOff }
    }

    /// A free name for a one-off job: `restic-1`, or the first later number that was not used
    /// recently.
    ///
    /// - Parameter base: 1 to 40 characters of a name.
    /// - Complexity: O(log *n*) in the numbers that are in use, if they are in use without a gap.
    public func freeName(_ base: String) -> Job.Name? {
        func isFree(_ number: Int) -> Bool {
            guard let name = Job.Name("\(base)-\(number)") else { return false }
            return slot(of: name) == nil && archived[name] == nil
        }
        var high = 1
        while !isFree(high) {
            guard high < 1 << 30 else { return nil }
            high *= 2
        }
        var low = high / 2
        while high - low > 1 {
            let middle = (low + high) / 2
            if isFree(middle) { high = middle } else { low = middle }
        }
        return Job.Name("\(base)-\(high)")
    }
}

extension JobEntry {
    /// When the last run of a finished job ended, or when the job was due if it had no run.
    fileprivate var finishedAt: WallInstant {
        var end = max(job.schedule.at ?? processedThrough, processedThrough)
        if let last = lastRun {
            end = max(end, (last.began ?? last.id.firing.scheduled) + last.usage.elapsed)
        }
        return end
    }
}
