// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    // MARK: - Firings

    /// The claim of what is due, or the record that it is skipped; nil if nothing is to be done by
    /// this machine now.
    mutating func claim(_ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now) -> Claim? {
        guard mayClaim(now), known.value.pause == nil,
            let time = readings(now).flatMap({ known.value.reading($0) }),
            let all = job.due(known.value, at: now.wall, time: time),
            let rank = rank(of: job), now.wall - all.since >= job.takeoverDelay * rank,
            let (due, reason) = decision(about: all, job, known.value, now, time),
            reason != .away || now.wall - all.since >= awayDelay(of: job)
        else { return nil }
        let run = Run.ID(firing: Firing.ID(job: job.name, scheduled: due.slot))
        var value = known.value
        value.cursor = due.slot
        if value.opened != nil {
            value.count(to: time)
            value.accrued = due.accrued
        }
        if reason == .byOrder { value.skips = SkipNext.left(of: value.skips) ?? 0 }
        if reason == nil {
            value.firings += 1
            value.live.append(
                JobValue.LiveRun(
                    run: run, machine: configuration.machine, incarnation: incarnation,
                    state: .claimed))
        }
        let record = RunValue(
            machine: configuration.machine, incarnation: incarnation, nonce: nonce(),
            state: reason == nil ? .claimed : .skipped, after: known.value.cursor,
            missed: due.missed, reason: reason, claimed: now.wall)
        return Claim(
            run: run, value: record, job: value, known: known.modified,
            removed: removable(job.name))
    }

    /// A firing of a job, or several as one, and why it is skipped; nil: it is not.
    private typealias Decision = (due: FleetJob.Due, reason: SkipKind?)

    /// What is to be done with firings that are due; nil: they wait for a run of the job.
    private func decision(
        about all: FleetJob.Due, _ job: FleetJob, _ known: JobValue, _ now: Now, _ time: Duration
    ) -> Decision? {
        let catchUp = job.policy.catchUp(
            of: Int(all.missed) + 1, missed: Int(all.missed), isDelayed: isDelayed(all, known))
        switch catchUp {
        case .each(let surplus): return first(of: all, surplus, job, known, now, time)
        // As one firing, they are missed if the last one is.
        case .together, .skipMissed: return decision(about: all, as: .due, job, known, now)
        }
    }

    /// Whether a firing was due before the run was claimed that prevents it: it waited for that run.
    private func isDelayed(_ due: FleetJob.Due, _ known: JobValue) -> Bool {
        known.live.contains { live in
            guard let run = view?.runs[live.run.firing.job]?[live.run] else { return false }
            return run.value.claimed >= due.since
        }
    }

    /// Of the firings that are due those from before the adoption of the store, as one; nil if there
    /// are none. The firings of an interval job are found one by one.
    private func oldDue(
        _ job: FleetJob, _ known: JobValue, _ now: Now, _ time: Duration
    ) -> FleetJob.Due? {
        guard let adopted = view?.identity.value.adopted,
            let first = job.firstDue(known, at: now.wall, time: time), first.slot <= adopted
        else { return nil }
        guard case .wall = job.schedule else { return first }
        return job.due(known, at: min(adopted, now.wall), time: time)
    }

    /// What is to be done with the first of several firings, of which each has its own run; nil: it
    /// waits for the run of the one before it.
    private func first(
        of all: FleetJob.Due, _ surplus: Int, _ job: FleetJob, _ known: JobValue, _ now: Now,
        _ time: Duration
    ) -> Decision? {
        if let old = oldDue(job, known, now, time) { return (old, .adopted) }
        if let many = job.surplusDue(surplus, of: all, known, at: now.wall, time: time) {
            // The values of the store have one word for this and for what `on-missed` skips.
            return (many, .missed)
        }
        return job.firstDue(known, at: now.wall, time: time).flatMap {
            decision(about: $0, as: .caughtUpByFleet, job, known, now)
        }
    }

    /// What is to be done with one firing: the first of the rules that applies.
    private func decision(
        about due: FleetJob.Due, as candidate: Candidate, _ job: FleetJob, _ known: JobValue,
        _ now: Now
    ) -> Decision? {
        if let reason = reasonOfFleet(due, job) { return (due, reason) }
        if skipsAsAway(job, due.slot) { return (due, .away) }
        let late = job.policy.reasonToSkip(age: now.wall - due.slot, missedAge: Self.missedAge)
        if let late { return (due, late) }
        if SkipNext.left(of: known.skips) != nil { return (due, .byOrder) }
        switch job.policy.admission(of: candidate, beside: known.live) {
        case .start: return (due, nil)
        case .skip(let obstacle): return (due, obstacle.skipReason.kind)
        case .wait, .replaceDelayed, .replaceAll: return nil
        }
    }

    /// Why no machine of the fleet starts a firing, whatever its job says; nil: one may.
    private func reasonOfFleet(_ due: FleetJob.Due, _ job: FleetJob) -> SkipKind? {
        guard let view else { return .missed }
        if due.slot <= view.identity.value.adopted { return .adopted }
        if case .wall = job.schedule, let since = view.hold.value.since,
            let released = view.hold.value.released,
            (since...max(since, released)).contains(due.slot)
        {
            return .held
        }
        return nil
    }

    /// The age above which a firing counts as missed.
    static let missedAge = Lateness.missedAge(sinceDowntime: nil)

    /// The claim of a run that a user requested on this machine.
    mutating func takeRequest(
        _ name: Job.Name, _ known: Versioned<JobValue>, _ now: Now
    ) -> Claim? {
        guard mayClaim(now),
            let live = known.value.live.first(where: {
                $0.state == .requested && $0.machine == configuration.machine
                    && !isFromBeforeAdoption($0.run)
            }), let run = view?.runs[name]?[live.run]
        else { return nil }
        var value = run.value
        value.state = .claimed
        value.incarnation = incarnation
        value.nonce = nonce()
        value.claimed = now.wall
        var job = known.value
        job.replaceLive(live.run, with: incarnation, state: .claimed)
        return Claim(
            run: live.run, value: value, job: job, known: known.modified, knownRun: run.modified)
    }

    // MARK: - The hold

    /// Sends the first command about the hold, unless the hold is so already.
    mutating func changeHold(_ now: Now) {
        guard isReady, let view, let clock = fleetClock.estimate, !outbox.has(where: \.isHold)
        else { return }
        var value = view.hold.value
        switch commands.list.first(where: { $0.command.isAboutHold })?.command {
        case .hold(let by) where !value.isHeld:
            value.begin(at: clock.reading(at: now.awake), now.wall, by: by)
            send(value, after: view.hold, clock: clock)
        case .release(let by) where value.isHeld:
            value.end(now.wall, by: by)
            send(value, after: view.hold)
        default: break
        }
    }

    /// Sends a change of the hold.
    ///
    /// - Parameter clock: the fleet clock, if the value has a reading of it.
    mutating func send(
        _ value: HoldValue, after known: Versioned<HoldValue>, clock: FleetClock? = nil
    ) {
        let compares = [FleetCompare.modified(.hold, known.modified)]
        let ofClock = clock.map { [FleetCompare.modified(.clock, $0.modified)] } ?? []
        send(
            FleetTransaction(
                compares: compares + ofClock, changes: [.put(.hold, value.text, lease: nil)],
                reads: [.hold, .clock]), for: .hold)
    }

    // MARK: - The adoption

    /// A user accepts the store as it is: all that was due up to now is skipped.
    mutating func adopt(_ now: Now) {
        guard let unusable = store.refusal?.found, commands.contains(.adopt),
            !outbox.has(where: \.isAdoption)
        else { return }
        let values = unusable.snapshot.values
        let identity = (values[.identity] ?? nil).flatMap { found in
            try? IdentityValue(text: found.value)
        }
        let cursors = unusable.view.map { Array($0.cursors.values) } ?? []
        let margin = configuration.skewMax + configuration.skewMax
        let known =
            cursors + memory.known.seen.jobs.values.map(\.value.cursor) + [now.wall + margin]
        let former = [identity, memory.known.identity].compactMap(\.self)
        let format = former.map(\.format).max() ?? FleetFormat.first.rawValue
        let recovers = format >= FleetFormat.third.rawValue
        let value = IdentityValue(
            fleet: former.first?.fleet ?? nonce(), cluster: unusable.snapshot.cluster,
            epoch: (former.map(\.epoch).max() ?? 0) + 1, adopted: known.max() ?? now.wall,
            format: format, logLead: recovers ? unusable.snapshot.log?.leadToExpect : nil,
            recovery: recovers ? identity?.recovery ?? identity?.epoch ?? 0 : nil)
        let modified = (values[.identity] ?? nil)?.modified ?? 0
        let hold = values[.hold] ?? nil
        var changes = [FleetChange.put(.identity, value.text, lease: nil)]
        if hold == nil {
            let time = fleetClock.estimate?.reading(at: now.awake) ?? .zero
            let start = HoldValue(isHeld: false, time: time, by: configuration.machine.description)
            changes.append(.put(.hold, start.text, lease: nil))
        }
        contact.asked(now)
        send(
            FleetTransaction(
                compares: [
                    .modified(.identity, modified), .modified(.hold, hold?.modified ?? 0),
                ], changes: changes, reads: [.identity]), for: .adoption(value))
    }
}

extension HoldValue {
    /// Begins a hold, at this reading of the fleet clock.
    mutating func begin(at time: Duration, _ now: WallInstant, by user: String, note: String? = nil)
    {
        self = HoldValue(
            isHeld: true, time: time, since: now, earlier: held, by: user, note: note)
    }

    /// Ends it.
    mutating func end(_ now: WallInstant, by user: String) {
        isHeld = false
        released = now
        by = user
    }
}

extension FleetCommand {
    fileprivate var isAboutHold: Bool {
        switch self {
        case .hold, .release: true
        case .pause, .resume, .skipNext, .run, .define, .forget, .drain, .undrain, .adopt: false
        }
    }
}
