// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The rules about firings that are late: which of them were missed, what becomes of these, and which
/// are too old to start.
///
/// The agenda has each firing that is due with its age, and divides them. A fleet takes all that is due
/// as one firing, because each record of one is a transaction of its own, and judges it by the last one.
public enum Lateness {
    /// A firing that is late by more than this counts as missed, whatever delayed it.
    public static let lateMax: Duration = .seconds(60)
    /// A firing that was due more than this before the daemon started, or before the machine woke
    /// up, counts as missed.
    public static let downtimeMargin: Duration = .seconds(1)
    /// The maximum number of missed firings of one job that are caught up one by one.
    public static let catchUpMax = 100

    /// The age above which a firing counts as missed.
    ///
    /// - Parameters:
    ///   - sinceDowntime: how long ago the daemon started, or the machine woke up; nil if it never was
    ///     down. It is nil in a fleet, too: there the absence of one machine is no reason to skip a
    ///     firing, because another one takes it over, which takes longer than `downtimeMargin`.
    ///   - wasHeld: whether the firing waited because an earlier run of the job was not recorded yet.
    public static func missedAge(sinceDowntime: Duration?, wasHeld: Bool = false) -> Duration {
        let bound = wasHeld ? downtimeMargin : lateMax
        guard let sinceDowntime else { return bound }
        return min(bound, max(.zero, sinceDowntime) + downtimeMargin)
    }
}

/// What becomes of the firings of a job that are due.
public enum CatchUp: Hashable, Sendable {
    /// There is one run for all of them.
    case together
    /// Each has a run of its own, one after the other. If there are too many, this many of the oldest
    /// are skipped.
    case each(surplus: Int)
    /// Those that were missed are skipped, and there is one run for the others.
    case skipMissed
}

extension Policy {
    /// What `on-missed` says about the firings that are due.
    ///
    /// - Parameters:
    ///   - count: how many are due, at least 1.
    ///   - missed: how many of them were missed. For a fleet these are all but the last: its firings are
    ///     late whenever another machine takes over, so their age does not tell which were missed.
    ///   - isDelayed: whether they waited for an earlier run of the job, and were due before it started.
    public func catchUp(of count: Int, missed: Int, isDelayed: Bool) -> CatchUp {
        switch onMissed {
        case .runAll where missed > 0 || isDelayed:
            .each(surplus: max(0, count - Lateness.catchUpMax))
        case .skip where missed > 0: .skipMissed
        case .runOnce, .skip, .runAll: .together
        }
    }

    /// How old a firing may be when its run starts, as `starting-deadline` says; nil: any age. Its timer
    /// may be late by `accuracy`.
    public var ageMax: Duration? { startingDeadline.map { $0 + accuracy } }

    /// Whether it is too late to start a run that was recorded and has waited. A retry is never too
    /// late, because the first attempt at its firing started in time.
    ///
    /// - Parameters:
    ///   - age: the time since the scheduled instant, which its random delay is not part of.
    ///   - isCaughtUp: whether it was missed, so that its start may have been delayed.
    public func isTooLate(attempt: Int, age: Duration, isCaughtUp: Bool = false) -> Bool {
        guard attempt == 1, let ageMax else { return false }
        return age > ageMax + randomDelay + (isCaughtUp ? catchUpDelay : .zero)
    }

    /// Why a firing of this age is skipped; nil: it is not. A firing that is both too old and missed is
    /// recorded as too old, because a deadline that is exceeded is a failure.
    ///
    /// - Parameter missedAge: the age above which it counts as missed.
    public func reasonToSkip(age: Duration, missedAge: Duration) -> SkipKind? {
        if let ageMax, age > ageMax { return .deadline }
        return onMissed == .skip && age > missedAge + accuracy ? .missed : nil
    }

    /// The ages at which that decision changes.
    public func agesThatDecide(missedAge: Duration) -> [Duration] {
        [ageMax, onMissed == .skip ? missedAge + accuracy : nil].compactMap(\.self)
    }
}
