// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// When a member must be called at the latest, if nothing happens before: at the first of the two.
public struct FleetWake: Hashable, Sendable {
    /// By the wall clock; nil: at no time. If the clock is set, the member must be called too.
    public var wall: WallInstant?
    /// By CLOCK_BOOTTIME. After the machine was suspended, the member must be called too.
    public var boot: BootInstant

    /// Whether it is time.
    public func isDue(at now: Now) -> Bool {
        boot <= now.boot || wall.map { $0 <= now.wall } ?? false
    }
}

/// What decides about all jobs alike. When it changes, all of them are decided about again.
struct Circumstances: Equatable {
    var isReady = false
    var mayClaim = false
    var hold: Int64 = 0
    var identity: Int64 = 0
    var members = 0
}

extension FleetMember {
    /// When it must be called again at the latest; after each call this is another instant. A call
    /// before that without an event does nothing.
    ///
    /// - Parameter now: the time of the last call.
    /// - Complexity: O(*m* log *m*) in the machines and O(*n*) in the commands that are not done.
    public func nextWake(at now: Now) -> FleetWake {
        let jobs = queue.first
        var boot = nextOfSession(now)
        func add(_ instant: BootInstant?) { if let instant { boot = min(boot, instant) } }
        if self.jobs.endIsolated, let isolatedAt, isolatedAt > now.boot { add(isolatedAt) }
        func add(awake instant: AwakeInstant?) {
            if let instant { add(now.boot + max(.zero, instant - now.awake)) }
        }
        guard let view else { return FleetWake(wall: nil, boot: boot) }
        add(jobs.boot)
        add(awake: jobs.fleet.flatMap { fleetClock.estimate?.instant(reaching: $0) })
        add(awake: contact.watched.map { $0 + Self.watchTimeout })
        if !outbox.writesClock, let due = clockDue(view) { add(awake: due) }
        guard !view.isRecovering else {
            add(recoveryEnd)
            return FleetWake(wall: jobs.wall, boot: boot)
        }
        for command in commands.list { add(command.seen.map { $0 + session.deadline.lease }) }
        return FleetWake(wall: jobs.wall, boot: boot)
    }

    /// When the lease must be prolonged, or a request is made again that was not answered.
    private func nextOfSession(_ now: Now) -> BootInstant {
        let lease = session.nextRequest(at: now.boot)
        guard view == nil else { return lease }
        return min(lease, contact.nextLoad(at: now.boot))
    }

    // MARK: - Which jobs are decided about

    /// Takes the jobs that must be decided about now.
    mutating func takeDue(_ now: Now) -> [Job.Name] {
        let new = Circumstances(
            isReady: isReady, mayClaim: mayClaim(now), hold: view?.hold.modified ?? 0,
            identity: view?.identity.modified ?? 0, members: view?.membersChanged ?? 0)
        if queue.note(new) { changeAll() }
        let reading =
            view?.hold.value.isHeld == false ? fleetClock.estimate?.reading(at: now.awake) : nil
        return queue.take(at: now, reading: reading)
    }

    /// All jobs that are configured here, or that the store or this machine has runs of.
    mutating func changeAll() {
        for name in jobs.names { queue.change(name) }
        for name in (view?.jobs ?? [:]).keys { queue.change(name) }
        for name in (memory.recovery?.jobs ?? [:]).keys { queue.change(name) }
        for name in local.jobs { queue.change(name) }
    }

    /// A job was decided about: from now on it waits for a change, or for a time.
    mutating func wait(_ name: Job.Name, _ now: Now) {
        guard !outbox.isBusy(name), view?.isUnreadable(name) != true else {
            return queue.set(name, JobWake())
        }
        guard let known = view?.jobs[name] else {
            guard jobs[name] == nil, local.of(name).isEmpty else { return }
            queue.remove(name)
            return absences.forget(name)
        }
        var wake = JobWake()
        addRuns(name, known.value, now, &wake)
        if jobs.isTemplate(name), let until = known.value.pause?.until {
            wake.add(wall: until, after: now)
        }
        if let job = jobs[name], known.value.definition == job.definition {
            if let until = known.value.pause?.until { wake.add(wall: until, after: now) }
            if known.value.pause == nil {
                addRetry(job, known.value, now, &wake)
                addFiring(job, known.value, now, &wake)
            }
        }
        queue.set(name, wake)
    }

    /// Live runs: those of machines that are gone are lost after a while, and those of an earlier
    /// start of this daemon are started until their deadline.
    private func addRuns(_ name: Job.Name, _ known: JobValue, _ now: Now, _ wake: inout JobWake) {
        for live in known.live {
            if live.machine != configuration.machine {
                guard let since = absences.since(live.machine) else { continue }
                wake.add(boot: since + settleDelay(name), after: now)
                guard live.state == .claimed, let run = view?.runs[name]?[live.run] else {
                    continue
                }
                wake.add(boot: since + configuration.lease, after: now)
                wake.add(wall: startEnd(of: run.value), after: now)
            } else if live.incarnation != incarnation, let limit = jobs[name]?.policy.ageMax {
                wake.add(wall: live.run.firing.scheduled + limit + .microseconds(1), after: now)
            }
        }
    }

    private func addRetry(
        _ job: FleetJob, _ known: JobValue, _ now: Now, _ wake: inout JobWake
    ) {
        guard job.isRetried, let last = lastAttempt(of: known, in: job.name) else { return }
        switch retryTime(of: last.key, last.value.value, job) {
        case .afterLoss(let span):
            absences.lostSince(last.key).map { wake.add(boot: $0 + span, after: now) }
        case .at(let instant): wake.add(wall: instant, after: now)
        case nil: break
        }
    }

    /// The next firing of this machine's rank. If it is due already and waits for a run, what is done
    /// with it can change when it is too late, or when one more is missed.
    private func addFiring(
        _ job: FleetJob, _ known: JobValue, _ now: Now, _ wake: inout JobWake
    ) {
        guard let rank = rank(of: job) else { return }
        let delay = job.takeoverDelay * rank
        let awayDelay = job.skipsAway ? awayDelay(of: job) : nil
        let limits = [.zero] + job.policy.agesThatDecide(missedAge: Self.missedAge)
        switch job.schedule {
        case .every(let span):
            guard let opened = known.opened, let reading = readings(now)?[known.basis] else {
                return
            }
            let due = opened + (span - known.accrued)
            func add(_ target: Duration) { addReading(target, known.basis, reading, now, &wake) }
            if let awayDelay { add(due + awayDelay) }
            for limit in limits {
                // The scheduled instant is rounded to a millisecond.
                add(due + limit + (limit == .zero ? delay : .milliseconds(2)))
            }
            if due <= reading {
                let passed = (reading - due).wholeNanoseconds / max(1, span.wholeNanoseconds)
                add(due + span * Int(passed + 1))
            }
        case .wall(let schedule):
            guard let due = schedule.next(after: known.cursor) else { return }
            if let awayDelay { wake.add(wall: due + awayDelay, after: now) }
            for limit in limits {
                wake.add(
                    wall: due + limit + (limit == .zero ? delay : .microseconds(1)), after: now)
            }
            if due <= now.wall, let next = schedule.next(after: now.wall) {
                wake.add(wall: next, after: now)
            }
        }
    }

    /// Adds a reading of the clock of a basis.
    private func addReading(
        _ target: Duration, _ basis: FleetBasis, _ reading: Duration, _ now: Now,
        _ wake: inout JobWake
    ) {
        switch basis {
        case .active: wake.add(fleet: target, after: reading)
        case .wall:
            guard target > reading, let instant = view?.hold.value.instant(reaching: target) else {
                return
            }
            wake.add(wall: instant, after: now)
        }
    }
}
