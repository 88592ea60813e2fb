// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is asked of the agenda between events. None of it changes anything.
extension Agenda {
    /// A run that has not ended; nil if there is none of this identity.
    public func activeRun(_ run: Run.ID) -> ActiveRun? { runs[run, of: jobKey(of: run)] }

    /// The active runs of a job that was removed while they ran, oldest first. Empty for a job that
    /// is there.
    public func removedRuns(of job: Job.Name) -> [ActiveRun] {
        slot(of: job) == nil ? runs[removed: job] : []
    }

    /// The state of all jobs as of `now`.
    /// - Complexity: O(*n*) in the number of jobs.
    public func snapshot(at now: Now) -> Snapshot {
        Snapshot(
            at: now, jobs: snapshots(from: 0, count: entries.order.count, at: now),
            hold: entries.hold)
    }

    /// The state of at most `count` jobs as of `now`, starting at this position of the
    /// configuration.
    /// - Complexity: O(`count`).
    public func snapshots(from place: Int, count: Int, at now: Now) -> [JobSnapshot] {
        entries.order.dropFirst(place).prefix(count).compactMap { snapshot($0, at: now) }
    }

    /// The state of one job as of `now`; nil if there is no job of this name.
    /// - Complexity: O(1).
    public func snapshot(of job: Job.Name, at now: Now) -> JobSnapshot? {
        slot(of: job).flatMap { snapshot($0, at: now) }
    }

    private func snapshot(_ slot: Int, at now: Now) -> JobSnapshot? {
        guard let entry = entries[slot] else { return nil }
        var snapshot = entry.snapshot(at: now, runs[slot])
        snapshot.followers = chains.followers(of: entry.job.name)
        for run in runs[slot] where run.wait == .slot {
            snapshot.awaitedSlots[run.id] = self.slot(awaitedBy: run)
        }
        return snapshot
    }

    /// The runs that the end of a run of this job caused and that have not ended.
    /// - Complexity: O(*n*) in the jobs that follow the job, and their runs.
    public func runs(causedBy run: Run.ID, of job: Job.Name) -> [ActiveRun] {
        chains.followers(of: job).compactMap { slot(of: $0) }.flatMap { slot in
            runs[slot].filter { $0.firing.cause.chain?.run == run }
        }
    }

    /// The definitions of all jobs, in the order of the configuration.
    /// - Complexity: O(*n*) in the number of jobs.
    public var jobs: [Job] { entries.order.compactMap { entries[$0]?.job } }

    /// The definition of a job; nil if there is none of the name.
    public func definition(of job: Job.Name) -> Job? { slot(of: job).flatMap { entries[$0]?.job } }

    /// The names of all jobs, in the order of the configuration.
    public var names: [Job.Name] { entries.order.compactMap { entries[$0]?.job.name } }

    /// How many jobs there are, without looking at them.
    public var jobCount: Int { entries.count }

    /// The job that fires next, and when, as of `now`; nil while the machine is held.
    /// - Complexity: O(1), or O(*n*) in the number of jobs while the end of a pause is earlier than
    ///   all firings by the wall clock.
    public func next(at now: Now) -> (job: Job.Name, instant: WallInstant)? {
        guard !entries.isHeld else { return nil }
        if let first = alarms.firstWall, entries[first.slot]?.phase.isPaused == true {
            let nexts = entries.order.compactMap { slot in
                entries[slot].flatMap { entry in
                    entry.next(at: now).map { (entry.job.name, $0) }
                }
            }
            return nexts.min { $0.1 < $1.1 }
        }
        let counted = alarms.firstAwake.flatMap { first in
            entries[first.slot].map { ($0.job.name, now.wall + (first.due - now.awake)) }
        }
        let slot = alarms.firstWall.flatMap { first in
            entries[first.slot].map { ($0.job.name, first.due) }
        }
        guard let counted, let slot else { return counted ?? slot }
        return counted.1 <= slot.1 ? counted : slot
    }

    /// When the timer of a job expires, by one clock or the other; nil if it is not set.
    /// - Complexity: O(1).
    public func alarm(of job: Job.Name) -> Alarm? {
        slot(of: job).flatMap { alarms[$0] }
    }

    /// When the retry timer of a job expires; nil if it is not set.
    /// - Complexity: O(1).
    public func retryAlarm(of job: Job.Name) -> AwakeInstant? {
        slot(of: job).flatMap { alarms.retry(of: $0) }
    }

    /// When the timer and the retry timer of each of these jobs expire, in the order of the names.
    /// - Complexity: O(*n*) in the number of names.
    public func alarms(
        of jobs: some Collection<Job.Name>
    ) -> [(next: Alarm?, retry: AwakeInstant?)] {
        jobs.map { job in
            guard let slot = slot(of: job) else { return (nil, nil) }
            return (alarms[slot], alarms.retry(of: slot))
        }
    }

    /// The hold of this machine; nil while it is not held.
    public var machineHold: MachineHold? { entries.hold }

    /// When the timer for the end of the hold expires; nil if it is not set.
    /// - Complexity: O(1).
    public var holdAlarm: WallInstant? { isShutDown ? nil : entries.hold?.until }

    /// When the timer for incidents expires; nil if it is not set.
    /// - Complexity: O(1).
    public var incidentsAlarm: WallInstant? { isShutDown ? nil : watching.armed }

    /// The job whose timer expires first, and how much time is left if no clock is set and the
    /// machine does not sleep; zero if the timer should have expired already. Nil if no timer is
    /// set.
    /// - Complexity: O(1).
    public func nextRing(at now: Now) -> (job: Job.Name, after: Duration)? {
        guard let first = alarms.nextRing(at: now), let job = entries[first.slot]?.job.name else {
            return nil
        }
        return (job, max(.zero, first.left))
    }

    /// How long ago the earliest timer should have expired; nil if no timer is late.
    /// - Complexity: O(1).
    public func lateness(at now: Now) -> Duration? { alarms.lateness(at: now) }

    /// The number of paused jobs.
    /// - Complexity: O(*n*) in the number of jobs.
    public var pausedCount: Int {
        entries.order.count { slot in
            if case .paused = entries[slot]?.phase { true } else { false }
        }
    }

    // MARK: - Measures and time records

    /// What metrics say of at most `count` jobs, starting at this position of the configuration.
    /// - Complexity: O(`count`).
    public func measures(from place: Int, count: Int, at now: Now) -> [JobMeasures] {
        entries.order.dropFirst(place).prefix(count).compactMap { slot in
            entries[slot]?.measures(at: now, live: runs[slot].count(where: \.isActive))
        }
    }

    /// Adds the states of at most `count` jobs, starting at this position of the configuration.
    ///
    /// - Returns: how many jobs there were.
    /// - Complexity: O(`count`).
    public func countStates(from place: Int, count: Int, into counts: inout StateCounts) -> Int {
        let some = entries.order.dropFirst(place).prefix(count)
        for slot in some {
            switch entries[slot]?.phase {
            case .armed: counts.armed += 1
            case .paused: counts.paused += 1
            case .stopped: counts.stopped += 1
            case .finished: counts.finished += 1
            case nil: break
            }
            for run in runs[slot] {
                switch run.wait {
                case .previousRun: counts.waitingForPreviousRun += 1
                case .retryDelay: counts.waitingForRetry += 1
                case .catchUpDelay: counts.waitingForCatchUp += 1
                case .capacity, .slot, .check, .condition, nil: break
                }
            }
        }
        return some.count
    }

    /// The number of runs that wait for `max-concurrent`.
    public var waitingForCapacity: Int { runs.capacityCount }

    /// The time record of one job as of `now`, which must not be earlier than the last event. Nil
    /// if there is no job of this name.
    /// - Complexity: O(1).
    public func account(of job: Job.Name, at now: Now) -> JobAccount? {
        slot(of: job).flatMap { entries[$0]?.account(at: now) }
    }

    /// The time records of all jobs as of `now`, in the order of the configuration.
    /// - Complexity: O(*n*) in the number of jobs.
    public func accounts(at now: Now) -> [JobAccount] {
        entries.order.compactMap { entries[$0]?.account(at: now) }
    }

    // MARK: - One-off jobs

    /// How long a one-off job is shown after its last run has ended.
    public static let oneOffKept: Duration = .seconds(86_400)

    /// The one-off jobs that finished so long ago that they are not shown any more, and when to
    /// check again; nil if there are no other one-off jobs.
    /// - Complexity: O(*n*) in the number of jobs.
    public func expiredOneOffs(at now: WallInstant) -> (jobs: [Job.Name], next: WallInstant?) {
        var found: [Job.Name] = []
        var next: WallInstant?
        for slot in entries.order {
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
            return slot(of: name) == nil && !archive.contains(name)
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
