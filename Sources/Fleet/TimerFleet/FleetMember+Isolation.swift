// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// When this machine had a connection to the store.
struct StoreContact {
    /// When the store last showed that it is there; before that, when the daemon started.
    private(set) var last: Now?
    /// When the snapshot was read, or the watch last reported a change of the clock.
    private(set) var watched: AwakeInstant?
    /// When the store was last asked for a snapshot, or read; nil: not since it was read as it should be.
    private var loadAsked: BootInstant?
    /// The last time without a connection that was so long that others count this machine as gone, by
    /// the wall clock.
    private(set) var away: ClosedRange<WallInstant>?

    /// The daemon started.
    mutating func begin(_ now: Now) { last = now }

    /// The snapshot was read, or the watch brought something.
    mutating func isWatched(at now: AwakeInstant) { watched = now }

    /// The store is asked for a snapshot now, or its snapshot cannot be used, and is not read again at once.
    mutating func asked(_ now: Now) { loadAsked = now.boot }

    /// Nothing is being read any more: a snapshot can be asked for at once.
    mutating func loaded() { loadAsked = nil }

    /// Whether a snapshot must be asked for.
    func mustLoad(at now: BootInstant) -> Bool {
        loadAsked.map { $0 + FleetSession.requestTimeout <= now } ?? true
    }

    /// When that is so, if nothing is read before.
    func nextLoad(at now: BootInstant) -> BootInstant {
        (loadAsked ?? now) + FleetSession.requestTimeout
    }

    /// The store showed that it is there.
    ///
    /// - Parameter limit: how long it may show nothing.
    mutating func seen(_ now: Now, limit: Duration) {
        if let last, now.boot - last.boot >= limit, last.wall <= now.wall {
            away = last.wall...now.wall
        }
        last = now
    }
}

/// What a machine does without a connection to the store, and after it.
extension FleetMember {
    mutating func begin(_ now: Now) {
        contact.begin(now)
        if memory.isDrained { actions.append(.tell(.drained)) }
    }

    /// The snapshot was read, or the watch brought a change of the clock.
    mutating func contacted(_ now: Now) {
        contact.isWatched(at: now.awake)
        guard view != nil else { return }
        contact.seen(now, limit: max(session.deadline.lease, Self.watchTimeout))
    }

    /// When this machine may count as gone: up to then it started runs.
    var isolatedAt: BootInstant? {
        let deadline = session.deadline
        if let kept = deadline.kept { return kept + (deadline.lease - StartDeadline.margin) }
        // An earlier start of the daemon had a lease, which is not known any more.
        return contact.last.map { $0.boot + deadline.lease }
    }

    /// Ends the runs that must not go on while others may count this machine as gone.
    ///
    /// - Complexity: O(*n*) in the runs of this machine, while it has no connection.
    mutating func endIsolatedRuns(_ now: Now) {
        guard jobs.endIsolated, let isolatedAt, now.boot >= isolatedAt else { return }
        for name in local.jobs.sorted() where jobs[name]?.endsIsolated == true {
            for row in local.of(name)
            where row.value.state == .began && local.endIsolated(row.run) {
                actions.append(.end(row.run))
            }
        }
    }

    /// Whether a firing was due while no machine had a connection, as far as this machine knows, and is
    /// to be skipped then.
    func skipsAsAway(_ job: FleetJob, _ slot: WallInstant) -> Bool {
        job.skipsAway && contact.away?.contains(slot) == true
    }

    /// How long after it was due such a firing is skipped: a machine that had a connection would have
    /// started it by then.
    func awayDelay(of job: FleetJob) -> Duration { job.takeoverDelay * machines(for: job).count }
}
