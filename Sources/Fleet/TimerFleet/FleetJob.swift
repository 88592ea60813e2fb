// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a machine knows of the definition of a fleet job.
public struct FleetJob: Hashable, Sendable {
    /// When it fires.
    public enum Schedule: Hashable, Sendable {
        /// After each interval of the time of `basis`. Longer than zero.
        case every(Duration)
        /// At times of the wall clock, in whole milliseconds.
        case wall(WallSchedule)
    }

    /// Its name.
    public var name: Job.Name
    /// The hash of its definition.
    public var definition: String
    /// When it fires.
    public var schedule: Schedule
    /// The template of a job that each machine runs for itself. Only one machine has a job of this
    /// name then, and what users request of the template is for the jobs of all machines.
    public var template: Job.Name?
    /// Which time counts for its intervals.
    public var basis = FleetBasis.active
    /// The labels that a machine must have.
    public var labels: Set<String> = []
    /// The machines that start it first.
    public var prefer: [MachineName] = []
    /// How long the machine with the next rank waits for the one before it.
    public var takeoverDelay = Duration.seconds(2)
    /// What happens with its firings, by the same rules as on one machine: `onMissed`,
    /// `startingDeadline`, `concurrency` (`forbid` or `allow`) and `retry`, whose delay is the least time
    /// from the end of a run to the claim of the next attempt. All else has its default.
    public var policy = Policy()
    /// How many further attempts are made if a run is lost.
    public var retriesOfLost = 0
    /// Whether a run ends when its machine loses the store.
    public var endsIsolated = false
    /// Whether firings are skipped that were due while this machine, and so perhaps all of them, had no
    /// connection to the store.
    public var skipsAway = false
    /// Which ends of its runs count as success.
    public var success = SuccessExitStatus()
    /// The exit codes by which a run says that it had nothing to do.
    public var skipExitCodes: Set<Int32> = []

    /// Creates a definition with the defaults of the configuration.
    public init(_ name: Job.Name, definition: String, schedule: Schedule) {
        self.name = name
        self.definition = definition
        self.schedule = schedule
    }
}

extension FleetJob {
    /// Whether it fires after intervals of time, for which it has an account.
    var isInterval: Bool { if case .every = schedule { true } else { false } }

    /// Whether the fleet clock must be written when its account is opened.
    var opensByClock: Bool { isInterval && basis == .active }

    /// Whether another attempt may follow any of its runs.
    var isRetried: Bool { retriesOfLost > 0 || policy.retry.retries > 0 }

    /// Firings that are due, as one.
    struct Due: Hashable {
        /// The scheduled instant of the last one.
        var slot: WallInstant
        /// How many are due before it.
        var missed: Int64
        /// When the first of them was due, by the wall clock.
        var since: WallInstant
        /// The account of an interval job after it.
        var accrued: Duration
    }

    /// What is due; nil if nothing is.
    ///
    /// - Parameters:
    ///   - time: the reading by which the time of the job is counted.
    /// - Complexity: O(*n*) in the firings that are due, at most `WallSchedule.missedMax`.
    func due(_ job: JobValue, at now: WallInstant, time: Duration) -> Due? {
        switch schedule {
        case .every(let span):
            guard let opened = job.opened, time > opened || job.accrued >= span else { return nil }
            let counted = job.accrued + max(.zero, time - opened)
            let passed = counted.wholeNanoseconds / span.wholeNanoseconds
            guard passed > 0 else { return nil }
            let rest = counted - span * Int(passed)
            return Due(
                slot: max(job.cursor + .milliseconds(1), now - rest).wholeMilliseconds,
                missed: passed - 1, since: now - (counted - span), accrued: rest)
        case .wall(let schedule):
            guard let first = schedule.next(after: job.cursor), first <= now else { return nil }
            var due = Due(slot: first, missed: 0, since: first, accrued: job.accrued)
            while let next = schedule.next(after: due.slot), next <= now {
                due.slot = next
                due.missed += 1
                guard due.missed < WallSchedule.missedMax else {
                    due.slot = schedule.previous(before: now + .microseconds(1)) ?? next
                    break
                }
            }
            return due
        }
    }
}

extension FleetJob {
    /// The first of the firings that are due, by itself; nil if nothing is due.
    ///
    /// - Complexity: O(1).
    func firstDue(_ job: JobValue, at now: WallInstant, time: Duration) -> Due? {
        switch schedule {
        case .every(let span):
            guard let due = due(job, at: now, time: time) else { return nil }
            // The account keeps the intervals of the others.
            let rest = due.accrued + span * Int(due.missed)
            let slot = max(job.cursor + .milliseconds(1), now - rest).wholeMilliseconds
            return Due(slot: slot, missed: 0, since: due.since, accrued: rest)
        case .wall(let schedule):
            guard let first = schedule.next(after: job.cursor), first <= now else { return nil }
            return Due(slot: first, missed: 0, since: first, accrued: job.accrued)
        }
    }

    /// The first of the firings that are due, which are too many to be caught up one by one, as one; nil
    /// if they are not.
    ///
    /// - Parameter surplus: how many of them are too many.
    func surplusDue(
        _ surplus: Int, of due: Due, _ job: JobValue, at now: WallInstant, time: Duration
    ) -> Due? {
        guard surplus > 0, var first = firstDue(job, at: now, time: time) else { return nil }
        switch schedule {
        case .every(let span):
            first.accrued -= span * (surplus - 1)
            first.slot = max(first.slot, (now - first.accrued).wholeMilliseconds)
        case .wall(let schedule):
            // As many as are kept are counted from the end: there can be more than were counted.
            var slot = due.slot
            for _ in 0..<Lateness.catchUpMax {
                slot = schedule.previous(before: slot) ?? slot
            }
            guard slot >= first.slot else { return nil }
            first.slot = slot
        }
        first.missed = Int64(surplus) - 1
        return first
    }
}

extension WallInstant {
    /// The instants of scheduled runs are whole milliseconds, and those of runs by hand are not, so
    /// that the two never have the same key.
    var wholeMilliseconds: Self {
        Self(microsecondsSinceEpoch: microsecondsSinceEpoch - microsecondsSinceEpoch % 1000)
    }

    /// The instant of a run by hand that is requested now.
    var ofRequest: Self {
        let rest = microsecondsSinceEpoch % 1000
        return rest == 0 ? self + .microseconds(1) : self
    }
}
