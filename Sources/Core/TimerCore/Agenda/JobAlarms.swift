// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// When the timers of jobs expire. A job has at most one timer for what is due, by one of two
/// clocks, and at most one for its retries.
///
/// A due job may have time until its timer expires (`accuracy`). Then it is served by any wake-up in
/// between, so that several jobs need only one.
struct JobAlarms: Sendable {
    private var awake = AlarmQueue<AwakeInstant>()
    private var wall = AlarmQueue<WallInstant>()
    private var retries = DueQueue<AwakeInstant>()

    /// Reserves memory for this many jobs, of which `counting` count time and the others have a timer by
    /// the wall clock.
    mutating func reserve(_ count: Int, counting: Int) {
        if counting > 0 { awake.reserve(counting) }
        if counting < count { wall.reserve(count - counting) }
    }

    // MARK: - What is due

    /// When the timer of a job expires; nil if it is not set.
    subscript(slot: Int) -> Alarm? {
        awake[slot].map { .awake($0) } ?? wall[slot].map { .wall($0) }
    }

    /// Sets the timer of a job.
    ///
    /// - Parameters:
    ///   - latest: when it expires; nil for none.
    ///   - due: when the job is due by the same clock, if that is earlier; nil: then.
    /// - Complexity: O(log *n*) in the number of timers.
    mutating func set(_ slot: Int, to latest: Alarm?, due: Alarm?) {
        switch latest {
        case .awake(let instant):
            awake.set(slot, latest: instant, due: due?.awake)
            wall.remove(slot)
        case .wall(let instant):
            awake.remove(slot)
            wall.set(slot, latest: instant, due: due?.wall)
        case nil: remove(slot)
        }
    }

    /// Forgets when the job is due.
    mutating func remove(_ slot: Int) {
        awake.remove(slot)
        wall.remove(slot)
    }

    /// A job that is due, the most urgent one first; nil if there is none.
    func nextDue(at now: Now) -> Int? {
        awake.overdue(at: now.awake) ?? wall.overdue(at: now.wall)
            ?? awake.ready(at: now.awake) ?? wall.ready(at: now.wall)
    }

    /// The job whose timer by CLOCK_MONOTONIC expires first; nil if there is none.
    var firstAwake: (due: AwakeInstant, slot: Int)? { awake.first }

    /// The job whose timer by the wall clock expires first; nil if there is none.
    var firstWall: (due: WallInstant, slot: Int)? { wall.first }

    /// How long ago the earliest timer should have expired; nil if no timer is late.
    func lateness(at now: Now) -> Duration? {
        let counted = awake.first.map { now.awake - $0.due } ?? .zero
        let slot = wall.first.map { now.wall - $0.due } ?? .zero
        let late = max(counted, slot)
        return late > .zero ? late : nil
    }

    /// The job whose timer expires first, also if it is for a retry, and how much time is left until
    /// then, which is negative if it is past; nil if no timer is set.
    func nextRing(at now: Now) -> (slot: Int, left: Duration)? {
        let rings = [
            awake.first.map { ($0.slot, $0.due - now.awake) },
            wall.first.map { ($0.slot, $0.due - now.wall) },
            retries.first.map { ($0.slot, $0.due - now.awake) },
        ]
        return rings.compactMap { $0 }.min { $0.1 < $1.1 }
    }

    // MARK: - Retries

    /// When the next retry of a job is due; nil if none is.
    func retry(of slot: Int) -> AwakeInstant? { retries[slot] }

    /// Sets when the next retry of a job is due; nil for none.
    /// - Complexity: O(log *n*) in the number of timers.
    mutating func setRetry(_ slot: Int, to instant: AwakeInstant?) {
        if let instant { retries.set(slot, due: instant) } else { retries.remove(slot) }
    }

    /// A job with a retry that is due; nil if there is none.
    func nextRetry(at now: Now) -> Int? {
        guard let first = retries.first, first.due <= now.awake else { return nil }
        return first.slot
    }
}

/// When the timer of a job expires. A job has a timer by one of the two clocks.
public enum Alarm: Hashable, Sendable {
    /// By CLOCK_MONOTONIC, for time that is counted. It does not change when the wall clock is set.
    case awake(AwakeInstant)
    /// When the wall clock reads this.
    case wall(WallInstant)

    /// How much time is left at this reading if no clock is set; negative if it is past.
    public func left(at now: Now) -> Duration {
        switch self {
        case .awake(let instant): instant - now.awake
        case .wall(let instant): instant - now.wall
        }
    }

    fileprivate var awake: AwakeInstant? {
        if case .awake(let instant) = self { instant } else { nil }
    }

    fileprivate var wall: WallInstant? {
        if case .wall(let instant) = self { instant } else { nil }
    }

    /// The action that sets the timer of a job to this instant.
    func action(for job: Job.Name) -> Action {
        switch self {
        case .awake(let instant): .arm(job, instant)
        case .wall(let instant): .armAt(job, instant)
        }
    }
}
