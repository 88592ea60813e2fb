// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// What a machine can bring back into a store that was adopted: what it remembers of the one before it.
struct FleetRecovery {
    /// What it was, and at which point of the history.
    struct Value<Content> {
        var content: Content
        var point: FleetPoint
    }

    /// The number of the adoption.
    let epoch: Int64
    /// The jobs, with the time counted that passed until the adoption, and none from then on.
    var jobs: [Job.Name: Value<JobValue>] = [:]
    var hold: Value<HoldValue>?
    /// When something was last brought back, by this machine or another one.
    var quietSince: BootInstant
    /// Whether the fleet was held because no machine remembers anything.
    var isUnremembered = false
}

/// The recovery of a store after its adoption. Its etcd was emptied, or was restored from a snapshot: what
/// it had last is only in what its machines remember.
///
/// While the identity of the store says that it recovers, no machine starts, creates or changes anything.
/// Each machine that is connected compares what it remembers of each job and of the hold with what the
/// store has, and writes what is from a later point of the history: the latest one of all of them wins.
/// When nothing was brought back for the time of a lease, one machine changes the identity, and the fleet
/// goes on. Each transaction compares the identity, so nothing old is brought back after that.
///
/// If no machine remembers anything, it is not known what was paused: then the fleet is held until a user
/// releases it. So each machine that remembers something brings back the hold, also one that has ended.
///
/// What is not brought back: the runs, which their machines write again themselves, and what was due up to
/// the adoption, which is skipped.
extension FleetMember {
    /// Takes what this machine can bring back, when it reads a store that recovers.
    mutating func followRecovery(_ loaded: FleetView, _ now: Now) {
        guard loaded.isRecovering else { return recovery = nil }
        let epoch = loaded.identity.value.epoch
        guard recovery?.epoch != epoch else { return }
        var new = FleetRecovery(epoch: epoch, quietSince: now.boot)
        let known = memory.known
        if let former = known.identity, former.epoch < epoch,
            former.fleet == loaded.identity.value.fleet
        {
            func value<Content>(_ content: Content, _ modified: Int64)
                -> FleetRecovery.Value<Content>?
            {
                FleetPoint(epoch: former.epoch, revision: modified)
                    .map { FleetRecovery.Value(content: content, point: $0) }
            }
            for (name, job) in known.seen.jobs {
                new.jobs[name] = value(closed(job, now), job.modified)
            }
            new.hold = known.seen.hold.flatMap { value($0.value, $0.modified) }
        }
        recovery = new
    }

    /// A job whose time was counted up to now, as far as that is known.
    private func closed(_ known: Versioned<JobValue>, _ now: Now) -> JobValue {
        var job = known.value
        let seen = memory.known.seen
        switch job.basis {
        case .wall: if let hold = seen.hold { job.count(to: hold.value.reading(at: now.wall)) }
        case .active:
            if let clock = fleetClock.estimate, clock.openings >= job.opening {
                job.count(to: clock.reading(at: now.awake))
            }
            // A daemon that was started since then has no estimate of the clock, but its last values.
            if let clock = seen.clock, clock.openings >= job.opening { job.count(to: clock.time) }
            if let hold = seen.hold, hold.modified > known.modified {
                job.count(to: hold.value.time)
            }
        }
        job.opened = nil
        job.live = []
        return job
    }

    /// Something was written to a store that recovers.
    mutating func noteRecovery(_ reads: FleetAnswer.Reads, _ now: Now) {
        guard let view, recovery != nil else { return }
        if view.isRecovering {
            if reads.keys.contains(where: \.isRecovered) { recovery?.quietSince = now.boot }
            recovery?.isUnremembered = view.hold.value.recovered == .first
        } else {
            actions.append(.tell(.recovered(isHeld: recovery?.isUnremembered == true)))
            recovery = nil
        }
    }

    /// Whether a value that this machine remembers goes into the store.
    ///
    /// - Parameter stored: what the store has; nil: it does not have the key.
    private func isLater(
        _ point: FleetPoint, than stored: (modified: Int64, recovered: FleetPoint?)?
    ) -> Bool {
        guard let view, let stored else { return true }
        let other = view.point(modified: stored.modified, recovered: stored.recovered)
        // A copy has its open accounts by a fleet clock that went back, so also what is the same in it is
        // written once, with its time.
        return stored.modified > view.identity.modified ? point > other : point >= other
    }

    /// How much more time is worth a write: machines read their clocks at different instants.
    private static let timeMin = Duration.milliseconds(100)

    /// Whether another machine brought back the same, with less of the time that passed since then. No
    /// machine counts more time than there was.
    private func hasMoreTime(
        _ own: FleetRecovery.Value<JobValue>, than stored: Versioned<JobValue>?
    ) -> Bool {
        guard let stored, let view, stored.modified > view.identity.modified else { return false }
        return stored.value.recovered == own.point
            && own.content.active > stored.value.active + Self.timeMin
    }

    /// Brings back a job.
    mutating func bringBack(_ name: Job.Name) {
        guard let view, let own = recovery?.jobs[name], !outbox.isBusy(name) else { return }
        let stored = view.jobs[name]
        guard
            isLater(own.point, than: stored.map { ($0.modified, $0.value.recovered) })
                || hasMoreTime(own, than: stored)
        else { return }
        var value = own.content
        value.live = stored?.value.live ?? []
        value.cursor = max(value.cursor, stored?.value.cursor ?? value.cursor)
        value.recovered = own.point
        let key = FleetKey.job(name)
        send(
            FleetTransaction.Branch(
                compares: [.modified(key, stored?.modified ?? 0)],
                changes: [.put(key, value.text, lease: nil)], reads: [key]), about: name)
    }

    /// Whether something was sent that must be answered first.
    private var isEndingRecovery: Bool {
        outbox.has { $0.isHold || $0.isIdentity }
    }

    /// When this machine ends the recovery, unless another one does that before: one after the other.
    var recoveryEnd: BootInstant? {
        guard let view, view.isRecovering, let recovery, !isEndingRecovery else { return nil }
        return recovery.quietSince + (session.deadline.lease + clockDelay(view))
    }

    /// Brings back the hold, or ends the recovery.
    mutating func recover(_ now: Now) {
        guard let view, let recovery, let end = recoveryEnd else { return }
        let stored = (view.hold.modified, view.hold.value.recovered)
        if let own = recovery.hold, isLater(own.point, than: stored) {
            return writeHold(own.content, own.point, now)
        }
        guard now.boot >= end else { return }
        guard view.hold.modified > view.identity.modified, view.hold.value.recovered != nil else {
            let hold = HoldValue(
                isHeld: true, time: .zero, by: "timerd",
                note: "no machine remembers what was paused")
            return writeHold(hold, .first, now)
        }
        var identity = view.identity.value
        identity.recovery = nil
        send(
            FleetTransaction(
                compares: [.modified(.identity, view.identity.modified)],
                changes: [.put(.identity, identity.text, lease: nil)], reads: [.identity]),
            for: .identity)
    }

    /// Holds the fleet or ends its hold, if it is not so already, and writes from which point that is.
    private mutating func writeHold(_ former: HoldValue, _ point: FleetPoint, _ now: Now) {
        guard let view, let clock = fleetClock.estimate else { return }
        var value = view.hold.value
        if former.isHeld, !value.isHeld {
            value = HoldValue(
                isHeld: true, time: clock.reading(at: now.awake), since: now.wall,
                earlier: value.held, by: former.by, note: former.note)
        } else if !former.isHeld, value.isHeld {
            value.isHeld = false
            value.released = now.wall
            value.by = former.by
        }
        value.recovered = point
        send(
            FleetTransaction(
                compares: [
                    .modified(.hold, view.hold.modified), .modified(.clock, clock.modified),
                ],
                changes: [.put(.hold, value.text, lease: nil)], reads: [.hold, .clock]), for: .hold)
    }

    /// Lets the time of a job count again that was brought back. What was due before is skipped.
    mutating func reopen(_ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now) -> Bool {
        guard case .every(let span) = job.schedule, known.value.pause == nil,
            known.value.opened == nil, isReady, let readings = readings(now)
        else { return false }
        var value = known.value
        value.open(by: readings)
        let due = value.accrued.wholeNanoseconds / max(1, span.wholeNanoseconds)
        value.accrued -= span * Int(due)
        let branch =
            due > 0
            ? skipping(job.name, known, value, .adopted, due - 1, now)
            : FleetTransaction.Branch(
                compares: [.modified(.job(job.name), known.modified)],
                changes: [.put(.job(job.name), value.text, lease: nil)], reads: [.job(job.name)])
        send(branch, about: job.name, opensAccount: job.opensByClock)
        return true
    }
}

extension FleetKey {
    /// Whether machines bring back what it has.
    fileprivate var isRecovered: Bool {
        switch self {
        case .job, .hold: true
        case .identity, .clock, .member, .run: false
        }
    }
}
