// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The incidents of one job, and what else its notifications depend on. Only jobs with `notify` have
/// it.
///
/// It decides nothing about the schedule. After each event that changed the job, `update` finds out
/// what is wrong with it. All results are notifications and changes of incidents, which are written
/// together.
struct JobWatch: Hashable, Sendable {
    /// The incidents of the job, in the order in which they began. Each change is also a change in
    /// the result.
    private(set) var incidents: [IncidentRecord]
    /// The time without a success counts from this instant, unless a run succeeded later.
    var watchedSince: WallInstant
    /// Since when the time without a success does not count, because the job is not armed; nil
    /// while it is.
    var inactiveSince: WallInstant?
    /// What is known about changes of the wall clock. It is not stored.
    var clock = Clock()
    /// When active runs were due and when they started, by a clock that cannot be set.
    var runTimes: [Run.ID: RunTimes] = [:]

    /// When a run was due and when it started, by CLOCK_BOOTTIME.
    struct RunTimes: Hashable {
        var due: BootInstant
        var began: BootInstant?
    }

    /// The changes of the wall clock since the last success.
    struct Clock: Hashable {
        /// By how much it was set back, less what it was set forward again: the time without a
        /// success is longer by that than the clock says.
        var setBack: Duration = .zero
        /// The clocks when it was found to be set last, or at the first event; nil before that.
        var seen: Now?
        /// The last success, as of the last event.
        var success: WallInstant?
    }

    /// - Parameters:
    ///   - incidents: the stored incidents.
    ///   - watchedSince: from when on the time without a success counts.
    ///   - inactiveSince: since when it does not; nil if it does.
    init(incidents: [IncidentRecord], watchedSince: WallInstant, inactiveSince: WallInstant?) {
        self.incidents = incidents
        self.watchedSince = watchedSince
        self.inactiveSince = inactiveSince
    }

    /// The incidents about which a notification was sent.
    var notifiedIncidents: [IncidentRecord] { incidents.filter { $0.notified != nil } }

    /// Moves the incidents to the new name of the job.
    mutating func rename(_ name: Job.Name) {
        incidents = incidents.map { $0.renamed(name) }
    }

    /// Whether there is an incident of this kind for a notifier.
    func isOpen(_ kind: NotificationKind, _ notifier: Notifier) -> Bool {
        index(of: kind, notifier) != nil
    }

    private func index(of kind: NotificationKind, _ notifier: Notifier) -> Int? {
        incidents.firstIndex { $0.id.kind == kind && $0.id.notifier == notifier.name }
    }

    /// Removes the incidents that the configuration does not ask for any more.
    mutating func dropUnconfigured(_ facts: Facts, into result: inout Result) {
        guard !incidents.isEmpty else { return }
        incidents.removeAll { incident in
            let isKept = facts.notifiers.contains {
                $0.name == incident.id.notifier && $0.on.contains(incident.id.kind)
            }
            if !isKept { result.changes.append(.remove(incident.id)) }
            return !isKept
        }
    }

    /// Begins an incident, with a notification at once.
    ///
    /// - Parameters:
    ///   - since: since when something is wrong.
    ///   - run: the run with which it is wrong, if it is one.
    mutating func begin(
        _ kind: NotificationKind, _ notifier: Notifier, since: WallInstant, run: Run.ID?,
        _ facts: Facts, into result: inout Result
    ) {
        let incident = IncidentRecord(
            id: .init(job: facts.job.name, notifier: notifier.name, kind: kind), since: since,
            count: 0, notified: facts.now.wall)
        incidents.append(incident)
        result.changes.append(.set(incident))
        var notification = facts.notification(kind, notifier)
        notification.run = run
        notification.since = origin(of: kind, facts) ?? since
        result.notifications.append(notification)
    }

    /// Counts one more failed firing, lost run or skipped firing in an incident, with a notification
    /// at the count for which the notifier is configured.
    ///
    /// - Parameter fill: adds the details to the notification.
    mutating func count(
        _ kind: NotificationKind, _ notifier: Notifier, _ facts: Facts, into result: inout Result,
        _ fill: (inout JobNotification) -> Void
    ) {
        let place: Int
        if let index = index(of: kind, notifier) {
            place = index
        } else {
            place = incidents.count
            incidents.append(
                IncidentRecord(
                    id: .init(job: facts.job.name, notifier: notifier.name, kind: kind),
                    since: facts.now.wall, count: 0))
        }
        incidents[place].count += 1
        let needed = kind == .failure ? notifier.after : 1
        if incidents[place].notified == nil, incidents[place].count >= needed {
            incidents[place].notified = facts.now.wall
            var notification = facts.notification(kind, notifier)
            notification.failedInARow = incidents[place].count
            notification.since = incidents[place].since
            fill(&notification)
            result.notifications.append(notification)
        }
        result.changes.append(.set(incidents[place]))
    }

    /// Ends the incident of this kind, if there is one.
    ///
    /// - Parameter isWell: whether the problem is solved; if not, there is no recovery.
    mutating func end(
        _ kind: NotificationKind, _ notifier: Notifier, isWell: Bool, into result: inout Result
    ) {
        guard let index = index(of: kind, notifier) else { return }
        let incident = incidents.remove(at: index)
        result.changes.append(.remove(incident.id))
        guard isWell, incident.notified != nil else { return }
        result.recovered[notifier.name, default: []].append(incident)
    }

    /// Adds a notification for each incident that has been open for the repeat interval of its
    /// notifier since the last one.
    mutating func repeatOpen(_ facts: Facts, into result: inout Result) {
        for notifier in facts.notifiers {
            guard let span = notifier.repeatInterval else { continue }
            for index in incidents.indices
            where incidents[index].id.notifier == notifier.name
                && isRepeated(incidents[index], facts)
            {
                guard let notified = incidents[index].notified else { continue }
                // If the clock was set back, the time counts from now on.
                let isAhead = notified > facts.now.wall
                guard isAhead || facts.now.wall - notified >= span else { continue }
                incidents[index].notified = facts.now.wall
                result.changes.append(.set(incidents[index]))
                guard !isAhead else { continue }
                var notification = facts.notification(incidents[index].id.kind, notifier)
                notification.failedInARow = incidents[index].count
                notification.since =
                    origin(of: incidents[index].id.kind, facts) ?? incidents[index].since
                notification.isRepeat = true
                result.notifications.append(notification)
            }
        }
    }

    /// Whether a notification about an open incident is repeated: of a job that is paused or
    /// stopped, it is not known whether it would still be late or stale.
    func isRepeated(_ incident: IncidentRecord, _ facts: Facts) -> Bool {
        switch incident.id.kind {
        case .late: !facts.phase.isPaused
        case .stale: facts.phase == .armed
        default: true
        }
    }
}
