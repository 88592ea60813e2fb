// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A run that becomes due if nothing changes until then.
public struct UpcomingRun: Hashable, Sendable {
    /// What is expected at that time.
    public enum Kind: String, CaseIterable, Sendable {
        case run, retry
        /// The run is skipped because a user requested it.
        case skipped
    }

    /// When it is due, by the wall clock.
    public var at: WallInstant
    public var job: Job.Name
    /// Whether it is the run of a firing, a retry, or a run that is skipped.
    public var kind: Kind

    public init(at: WallInstant, job: Job.Name, kind: Kind) {
        self.at = at
        self.job = job
        self.kind = kind
    }
}

extension JobSnapshot {
    /// The next runs until `end`, earliest first, of which at most the first is a retry. A random
    /// delay is known for the first only. A job that counts from the end of its last run, or from
    /// the boot of the machine, has one.
    ///
    /// - Parameter most: how many at most, above zero.
    /// - Complexity: O(`most`) searches of its schedule.
    public func upcomingRuns(until end: WallInstant, most: Int) -> [UpcomingRun] {
        var found: [UpcomingRun] = []
        if let wait = nextAttempt, at.wall + wait <= end {
            let isRetry = live.contains(where: \.isRetry)
            found.append(
                UpcomingRun(at: at.wall + wait, job: job.name, kind: isRetry ? .retry : .run))
        }
        // Beside a schedule; without one it is what is due next.
        if let due = chain?.due, due <= end, job.schedule != .onDemand, phase == .armed {
            found.append(UpcomingRun(at: due, job: job.name, kind: .run))
        }
        var number = 0
        var due = next
        var left = job.limit?.runs.map { $0 - tally.runs } ?? .max
        while let at = due, at <= end, found.count < most, left > 0 {
            let kind: UpcomingRun.Kind = number < skips ? .skipped : .run
            if kind == .run { left -= 1 }
            found.append(UpcomingRun(at: at, job: job.name, kind: kind))
            number += 1
            due = occurrence(after: at)
        }
        return found.sorted { $0.at < $1.at }
    }

    /// When the next run starts that a user did not request to skip; nil if there is none, and if it is
    /// not known.
    ///
    /// - Complexity: O(`skips`) searches of its schedule.
    public var nextRun: WallInstant? {
        var due = next
        for _ in 0..<skips {
            guard let at = due else { return nil }
            due = occurrence(after: at)
        }
        return due
    }

    /// The time of the run after one that is due at `instant`; nil if it is unknown. If it waits for the
    /// window, that opens then.
    private func occurrence(after instant: WallInstant) -> WallInstant? {
        let found: WallInstant? =
            switch job.schedule {
            case .every(let span): job.from == .end ? nil : point(after: instant, every: span)
            case .after, .onBoot, .onDemand: nil
            case .wall(let schedule): schedule.next(after: instant - offset).map { $0 + offset }
            }
        guard let found, job.validity?.allows(found) ?? true,
            job.window?.isOutside(found) != true
        else { return nil }
        return job.window?.start(of: found) ?? found
    }

    /// The first point of an interval after an instant. A window delays runs, but not the interval.
    private func point(after instant: WallInstant, every span: Duration) -> WallInstant {
        guard job.hasLimitedPoints, let nextPoint else { return instant + span }
        let point = nextPoint.next(notBefore: instant + .microseconds(1), every: span)
        return job.point(from: point, every: span)
    }

    /// How long until the next run that waits for its delay starts, a retry or a missed run that is
    /// caught up; nil if none does, or if the job is paused.
    public var nextAttempt: Duration? {
        if case .paused = phase { return nil }
        return live.compactMap(\.startsAt).min().map { max(.zero, $0 - at.awake) }
    }
}
