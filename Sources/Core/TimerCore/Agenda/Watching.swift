// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Which jobs must be checked for notifications, and when. A job with `notify` is checked at the end
/// of each event that changed it, and at the next instant at which something may be wrong with it
/// although nothing happens. While no job has `notify`, there is nothing to do.
struct Watching: Sendable {
    /// The notifiers of the configuration, by the names that jobs give in `notify`.
    private var notifiers: [Notifier.Name: Notifier] = [:]
    /// The number of jobs with a watch.
    private var count = 0
    /// The slots of jobs with a watch that an event changed and that were not checked since.
    private var changed: [Int] = []
    /// When something may be wrong with a job although nothing happens to it.
    private var due = DueQueue<WallInstant>()
    /// When the shell's timer for incidents expires; nil if it is not set.
    private(set) var armed: WallInstant?
    /// The stored incidents of jobs that are not loaded yet.
    private var recovered: [Job.Name: [IncidentRecord]] = [:]
    /// What the log says about incidents at the end of the event.
    private var notices: [Notice] = []

    /// Whether a job has a watch.
    var hasJobs: Bool { count > 0 }

    /// Whether there is nothing to check and no timer to cancel.
    var isIdle: Bool { count == 0 && armed == nil }

    /// Uses the notifiers of a configuration.
    /// - Returns: whether they are others than before.
    @discardableResult
    mutating func use(_ notifiers: [Notifier]) -> Bool {
        let before = self.notifiers
        self.notifiers = Dictionary(uniqueKeysWithValues: notifiers.map { ($0.name, $0) })
        return self.notifiers != before
    }

    /// The notifiers that a job names, as far as they exist.
    func notifiers(of job: Job) -> [Notifier] {
        job.policy.notify.compactMap { notifiers[$0] }
    }

    // MARK: - The jobs with a watch

    /// A job got a watch.
    mutating func begin() { count += 1 }

    /// A job lost its watch.
    mutating func end(_ slot: Int) {
        count -= 1
        due.remove(slot)
    }

    /// Notes that an event changed a job, which has a watch.
    mutating func noteChange(_ slot: Int) { changed.append(slot) }

    /// The slots that were noted since the last call, each once, in ascending order.
    mutating func takeChanged() -> [Int] {
        guard !changed.isEmpty else { return [] }
        defer { changed = [] }
        return Set(changed).sorted()
    }

    /// Sets when a job must be checked although nothing happens; nil for never.
    mutating func setDue(_ slot: Int, _ instant: WallInstant?) {
        if let instant { due.set(slot, due: instant) } else { due.remove(slot) }
    }

    /// A job that must be checked by now; nil if there is none.
    func nextDue(at now: WallInstant) -> Int? {
        guard let first = due.first, first.due <= now else { return nil }
        return first.slot
    }

    /// Notes that a job was checked. Each check handles what is due, so the next one is later;
    /// otherwise this would go on for ever.
    mutating func noteChecked(_ slot: Int, at now: WallInstant) {
        if let next = due[slot], next <= now { due.set(slot, due: now + .microseconds(1)) }
    }

    /// Sets the shell's timer for the next job that must be checked.
    ///
    /// - Parameter isUnset: whether the timer fired, or does not know that the clock was set.
    /// - Returns: the action that does it; nil if the timer is set so already.
    mutating func setTimer(isUnset: Bool) -> Action? {
        let next = due.first?.due
        guard next != armed || (isUnset && next != nil) else { return nil }
        armed = next
        return .armIncidents(next)
    }

    // MARK: - Incidents

    /// Keeps the stored incidents until their jobs are loaded.
    mutating func recover(_ incidents: [IncidentRecord]) {
        recovered = Dictionary(grouping: incidents) { $0.id.job }
    }

    /// The stored incidents of a job that had one of these names, under its current name.
    mutating func takeRecovered(of names: Set<Job.Name>, for job: Job.Name) -> [IncidentRecord] {
        guard !recovered.isEmpty else { return [] }
        return names.flatMap { recovered.removeValue(forKey: $0) ?? [] }.map { $0.renamed(job) }
    }

    /// The stored incidents that belong to no job.
    mutating func takeOtherRecovered() -> [IncidentRecord] {
        defer { recovered = [:] }
        return Array(recovered.values.joined())
    }

    /// Keeps what the log says about notifications until the end of the event.
    mutating func note(_ notifications: [JobNotification]) {
        notices += notifications.compactMap { .init(about: $0) }
    }

    /// What the log says about the notifications of the event.
    mutating func takeNotices() -> [Notice] {
        defer { notices = [] }
        return notices
    }
}
