// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A new configuration that replaces the current one, one portion of jobs at a time.
///
/// First each job of the old order is checked: it stays, is renamed or is removed, so that all names
/// are free before new jobs use them. Then each job of the new configuration is applied. One that
/// changes costs as much as several that are only compared.
struct Reloading: Sendable {
    /// What comes next.
    enum Step {
        /// The job at this position of the old order must be checked.
        case check(place: Int)
        /// A job of the new configuration must be applied.
        case apply(Job)
    }

    /// Approximately how many jobs can be compared in the time that one change takes.
    private static let changeCost = 8

    let jobSet: JobSet
    /// Whether jobs with `notify` must be checked although their definitions are the same.
    let changesNotifiers: Bool
    /// How much work one portion does, and how much is left of it: a job that is only compared costs
    /// 1, a job that changes costs `changeCost`.
    private let effort: Int
    private var left = 0
    /// The number of positions in the old order, then how many of them were checked and how many of
    /// the new jobs were applied.
    private let places: Int
    private var checked = 0
    private var applied = 0
    /// The slots in the order of the new configuration, of the jobs that were applied so far.
    private(set) var order: [Int] = []
    /// The slots of removed jobs. They can be used again when the old order is not needed any more.
    private(set) var freed: [Int] = []
    private var added: [Job.Name] = []
    private var changed: [Job.Name] = []
    private var removed: [Job.Name] = []
    /// Whether a portion returned actions. If not, the store needs no flush at the end.
    private(set) var hasActed = false

    /// - Parameters:
    ///   - portion: how many jobs one portion changes.
    ///   - places: how many jobs there are in the old order.
    init(_ jobSet: JobSet, portion: Int, places: Int, changesNotifiers: Bool) {
        self.jobSet = jobSet
        self.changesNotifiers = changesNotifiers
        // The limit prevents an overflow; there are never this many jobs.
        effort = max(1, min(portion, 1 << 32)) * Self.changeCost
        self.places = places
    }

    var isDone: Bool { checked == places && applied == jobSet.jobs.count }

    /// What the log says at the end.
    var notice: Notice {
        .reloaded(
            added: added, changed: changed, removed: removed,
            kept: order.count - added.count - changed.count)
    }

    /// Begins a portion.
    mutating func beginPortion() { left = effort }

    /// The next step of this portion; nil if the portion is over, or the reload is done.
    mutating func next() -> Step? {
        guard left > 0 else { return nil }
        left -= 1
        if checked < places {
            checked += 1
            return .check(place: checked - 1)
        }
        guard applied < jobSet.jobs.count else { return nil }
        applied += 1
        return .apply(jobSet.jobs[applied - 1])
    }

    /// Notes that the step was more than a comparison.
    private mutating func noteChange() { left -= Self.changeCost - 1 }

    /// The job in this slot got another name, which the new configuration contains.
    mutating func noteRenamed(_ job: Job.Name, to name: Job.Name) {
        removed.append(job)
        added.append(name)
        noteChange()
    }

    /// The job in this slot is not in the new configuration.
    mutating func noteRemoved(_ job: Job.Name, _ slot: Int) {
        removed.append(job)
        freed.append(slot)
        noteChange()
    }

    /// The job in this slot has the same definition in the new configuration.
    mutating func noteKept(_ slot: Int) { order.append(slot) }

    /// The job in this slot has another definition in the new configuration.
    mutating func noteChanged(_ job: Job.Name, _ slot: Int) {
        order.append(slot)
        changed.append(job)
        noteChange()
    }

    /// The job in this slot is new.
    mutating func noteAdded(_ job: Job.Name, _ slot: Int) {
        order.append(slot)
        added.append(job)
        noteChange()
    }

    /// Notes that a portion returned actions.
    mutating func noteActions() { hasActed = true }
}
