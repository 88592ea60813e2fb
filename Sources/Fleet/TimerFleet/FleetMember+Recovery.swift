// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The recovery of a store after its adoption. Its etcd was emptied, or was restored from a snapshot: what
/// it had last is only in what its machines remember.
///
/// While the identity of the store says that it recovers, no machine starts, creates or changes anything.
/// Each machine that is connected compares what it remembers of each job and of the hold with what the
/// store has, and writes what is from a later point of the history: the latest one of all of them wins.
/// When nothing was brought back for a while (`quietTime`), one machine changes the identity, and the fleet
/// goes on. Each transaction compares the identity, so nothing old is brought back after that.
///
/// If no machine remembers anything, it is not known what was paused: then the fleet is held until a user
/// releases it. So each machine that remembers something brings back the hold, also one that has ended.
///
/// Its active runs each machine writes again itself, once the job is there. What is not brought back: the
/// runs that are over; what was due up to the adoption, which is skipped; and the time from the loss of the
/// store to the end of the recovery.
extension FleetMember {
    /// Takes what this machine can bring back, when it reads a store that recovers.
    mutating func followRecovery(_ loaded: FleetView, _ now: Now) {
        guard loaded.isRecovering else { return memory.recover(nil) }
        let epoch = loaded.identity.value.epoch
        guard recovery?.epoch != epoch else {
            // What others brought back meanwhile is not known.
            return memory.delayRecovery(from: now.boot)
        }
        var jobs: [Job.Name: FleetRecovery.Value<JobValue>] = [:]
        var hold: FleetRecovery.Value<HoldValue>?
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
            for (name, job) in known.seen.jobs { jobs[name] = value(closed(job), job.modified) }
            hold = known.seen.hold.flatMap { value($0.value, $0.modified) }
        }
        memory.recover(FleetRecovery(epoch: epoch, jobs: jobs, hold: hold, at: now.boot))
    }

    private var recovery: FleetRecovery? { memory.recovery }

    /// A job whose time was counted as far as it is known.
    private func closed(_ known: Versioned<JobValue>) -> JobValue {
        var job = known.value
        let seen = memory.known.seen
        let last = fleetClock.estimate == nil ? nil : contact.last
        switch job.basis {
        case .wall:
            if let hold = seen.hold, let end = last?.wall ?? seen.clockAt {
                job.count(to: hold.value.reading(at: end))
            }
        case .active:
            if let clock = fleetClock.estimate, let last, clock.openings >= job.opening {
                job.count(to: clock.reading(at: last.awake))
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
            let written = reads.compactMap { $0.key.isRecovered ? $0.value?.modified : nil }.max()
            if let written { memory.noteRecovery(written, at: now.boot) }
            memory.noteHold(isUnremembered: view.hold.value.recovered == .first)
        } else {
            actions.append(.tell(.recovered(isHeld: recovery?.isUnremembered == true)))
            memory.recover(nil)
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

    /// Whether this machine remembers more of a job than the store has.
    private func mustBringBack(_ name: Job.Name) -> Bool {
        // What a value says that cannot be read may be from a later point.
        guard let view, let own = recovery?.jobs[name], view.faults[.job(name)] == nil else {
            return false
        }
        let stored = view.jobs[name]
        return isLater(own.point, than: stored.map { ($0.modified, $0.value.recovered) })
            || hasMoreTime(own, than: stored)
    }

    /// Brings back a job.
    ///
    /// - Returns: whether something was to be done.
    mutating func bringBack(_ name: Job.Name) -> Bool {
        guard let view, let own = recovery?.jobs[name], mustBringBack(name) else { return false }
        guard !outbox.isBusy(name) else { return true }
        let stored = view.jobs[name]
        var value = own.content
        value.live = stored?.value.live ?? []
        value.cursor = max(value.cursor, stored?.value.cursor ?? value.cursor)
        value.recovered = own.point
        send(.changing(name, from: stored?.modified ?? 0, to: value), about: name)
        return true
    }

    /// Whether something was sent that must be answered first.
    private var isAwaitingAnswers: Bool {
        outbox.has { $0.isHold || $0.isIdentity || !$0.jobs.isEmpty }
    }

    /// The shortest time in which all machines have read the store twice: what they read when it was adopted
    /// may be from before that.
    private static let quietMin = Duration.seconds(10)

    /// How long nothing must have been brought back.
    private var quietTime: Duration {
        max(session.deadline.lease, Self.quietMin) + FleetSession.requestTimeout
    }

    /// When this machine ends the recovery, unless another one does that before: one after the other.
    var recoveryEnd: BootInstant? {
        guard let view, view.isRecovering, let recovery, !isAwaitingAnswers else { return nil }
        return recovery.quietSince + (quietTime + clockDelay(view))
    }

    /// Brings back the hold, or ends the recovery.
    mutating func advanceRecovery(_ now: Now) {
        guard let view, let recovery, let end = recoveryEnd else { return }
        let stored = (view.hold.modified, view.hold.value.recovered)
        if let own = recovery.hold, isLater(own.point, than: stored) {
            return writeHold(own.content, own.point, now)
        }
        guard now.boot >= end else { return }
        // Answers may have been lost.
        guard !recovery.jobs.keys.contains(where: { mustBringBack($0) }) else {
            return memory.delayRecovery(from: now.boot)
        }
        guard view.hold.modified > view.identity.modified, view.hold.value.recovered != nil else {
            let hold = HoldValue(
                isHeld: true, time: .zero, by: "timerd",
                note: "no machine remembers what was paused")
            return writeHold(hold, .first, now)
        }
        var identity = view.identity.value
        identity.recovery = nil
        send(identity, after: view.identity)
    }

    /// Holds the fleet or ends its hold, if it is not so already, and writes from which point that is.
    private mutating func writeHold(_ former: HoldValue, _ point: FleetPoint, _ now: Now) {
        guard let view, let clock = fleetClock.estimate else { return }
        var value = view.hold.value
        // All machines take the reading of each change of the hold.
        value.time = clock.reading(at: now.awake)
        if former.isHeld, !value.isHeld {
            value.begin(at: value.time, now.wall, by: former.by, note: former.note)
        } else if !former.isHeld, value.isHeld {
            value.end(now.wall, by: former.by)
        }
        value.recovered = point
        send(value, after: view.hold, clock: clock)
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
            : .changing(job.name, from: known.modified, to: value)
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
