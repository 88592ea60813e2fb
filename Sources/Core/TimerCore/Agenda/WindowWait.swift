// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The times at which a job may start runs (`window`).
///
/// A firing that waits for the window is no run yet: its timer is only set later. So it needs no row,
/// a restart finds it as any other that has not come, and all that wait start together.
extension JobEntry {
    /// The window, if firings outside it wait.
    private var awaited: JobWindow? {
        guard let window = job.window, window.outside == .wait else { return nil }
        return window
    }

    /// Whether no run of the job may start now, except those that a user requests.
    func isOutsideWindow(at instant: WallInstant) -> Bool {
        guard let window = job.window else { return false }
        return !window.isOpen(at: instant)
    }

    /// Whether a firing that is due now has to wait.
    func awaitsWindow(at instant: WallInstant) -> Bool {
        guard let window = awaited else { return false }
        return !window.isOpen(at: instant)
    }

    /// When a firing may start that is due at this instant: the age of a firing counts from there.
    func start(of instant: WallInstant, delay: Duration = .zero) -> WallInstant {
        awaited?.start(of: instant, delay: delay) ?? instant + delay
    }

    /// The last instant whose occurrences have come by this one. Later ones wait for the window.
    func startedThrough(_ instant: WallInstant) -> WallInstant {
        awaited?.startedThrough(instant) ?? instant
    }

    /// When the next firing starts if it does so inside the window and not before now.
    func start(ofDue due: WallInstant, at now: Now) -> WallInstant {
        guard let window = awaited, due <= now.wall else { return due }
        return window.opening(notBefore: now.wall)
    }

    /// How much later than the next point of the grid the next one is at which the job may be due: not
    /// outside a window that skips points, and not before `not-before`.
    ///
    /// - Parameter first: when the next point is due, by the wall clock.
    func spanOutsideWindow(from first: WallInstant) -> Duration {
        guard !countsFromEnd, case .every(let span) = job.schedule else { return .zero }
        return job.point(from: first, every: span) - first
    }

    /// Without the points outside a window that skips them, and outside the time of `not-before` and
    /// `not-after`; nil if none remain. They are no firings, as occurrences are none that the schedule
    /// excludes.
    func allowed(_ points: DueOccurrences) -> DueOccurrences? {
        guard job.hasLimitedPoints, case .every = job.schedule else { return points }
        let window = job.window.flatMap { $0.outside == .skip ? $0 : nil }
        return points.filter { point in
            job.validity?.allows(point.scheduled) ?? true
                && window?.isOpen(at: point.scheduled) ?? true
        }
    }

    /// Finishes a job whose interval has no point any more until `not-after`. Counted time does not run
    /// faster than the wall clock.
    mutating func finishIfOver(at now: Now) {
        guard let end = job.validity?.notAfter, phase == .armed, case .every = job.schedule,
            let point = nextPoint(at: now), point > end
        else { return }
        phase = .finished
        ledger.close(at: counted(at: now))
    }

    /// When the next point of its interval is at which it may be due, by the wall clock; nil while
    /// nothing counts.
    func nextPoint(at now: Now) -> WallInstant? {
        guard ledger.isOpen, let target else { return nil }
        let point = now.wall + (target - accrued(at: now))
        return point + spanOutsideWindow(from: point)
    }
}

extension Agenda {
    /// Whether the runs of a job that wait must go on waiting, except those that a user requested: it is
    /// paused, or its window is closed.
    func isHeldBack(_ entry: JobEntry, at now: Now) -> Bool {
        isSuspended(entry) || entry.isOutsideWindow(at: now.wall)
    }

    /// Whether no run of the job starts until its pause or the hold of the machine ends. A job that is
    /// finished or stopped has no pause, and may have runs that wait.
    func isSuspended(_ entry: JobEntry) -> Bool {
        entry.phase.isPaused || entries.isHeld && !entry.isShared
    }

    /// The first run that waits for the previous run; while the window is closed, only one that a user
    /// requested.
    func firstInLine(_ slot: Int, isClosed: Bool) -> ActiveRun? {
        runs[slot].first { $0.wait == .previousRun && (!isClosed || $0.isRequested) }
    }

    /// When the window must be looked at again for runs that were made.
    ///
    /// - Parameter next: when one of them would start without a window.
    func windowTimer(_ slot: Int, _ entry: JobEntry, next: AwakeInstant?) -> AwakeInstant? {
        guard let window = entry.job.window else { return next }
        let now = clocks.last
        var next = next
        let isOpen = window.isOpen(at: now.wall)
        if !isOpen, !isSuspended(entry) {
            let waits = runs[slot].contains { $0.wait != nil && !$0.isRequested }
            if next != nil || waits {
                let opening = now.awake(at: window.opening(notBefore: now.wall))
                next = max(next ?? opening, opening)
            }
        }
        if window.stopsAtEnd, runs[slot].contains(where: \.endsWithWindow) {
            let end = isOpen ? window.closing(after: now.wall) : now.wall
            if let end = end.map({ now.awake(at: $0) }) { next = min(next ?? end, end) }
        }
        return next
    }

    /// Stops the runs of a job whose window has closed, if it says so.
    mutating func stopOutsideWindow(
        _ slot: Int, _ entry: JobEntry, at now: Now, into batch: inout Batch
    ) {
        guard let window = entry.job.window, window.stopsAtEnd, !window.isOpen(at: now.wall)
        else { return }
        for run in runs[slot] where run.endsWithWindow {
            end(
                run, as: .windowEnded, of: .slot(slot), grace: entry.job.execution.killTimeout,
                into: &batch)
            batch.notices.append(.log(.windowEnded(run.id)))
        }
    }

    /// Sets the timers again of jobs with a window: they depend on the wall clock, which was set, or
    /// went on while the machine slept.
    mutating func retimeWindows(at now: Now) -> [Action] {
        var timers: [Action] = []
        for slot in entries.order where entries[slot]?.job.window != nil {
            guard var entry = entries[slot] else { continue }
            timers += updateTimer(slot, &entry, at: now)
            timers += updateRetryTimer(slot, entry)
        }
        return timers
    }
}

extension ActiveRun {
    /// Whether it is stopped when a window closes that stops runs. A run that a user requested ignores
    /// the window.
    fileprivate var endsWithWindow: Bool { isActive && !state.isStopping && !isRequested }
}

extension Now {
    /// When the wall clock reads this, if the machine does not sleep until then and no clock is set.
    func awake(at instant: WallInstant) -> AwakeInstant { awake + (instant - wall) }
}
