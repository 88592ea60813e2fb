// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    /// Why the store must not be used; nil: it may, or was not read yet.
    public var finding: IdentityGuard.Finding? { store.refusal?.finding }

    /// Takes a snapshot: it is the known store, or nothing is started until it is adopted.
    mutating func loaded(_ snapshot: FleetSnapshot, _ now: Now) {
        contact.loaded()
        if let known = FleetView.format(of: snapshot), known > configuration.format.rawValue {
            return refuse(.newer, nil, now)
        }
        if let view, view.cluster == snapshot.cluster, view.revision > snapshot.revision {
            // The answer to an earlier request, or to a second one. The watch of a second one took
            // the place of the first one's, which may not have reported all changes up to it.
            if view.snapshot < snapshot.revision { loseView() }
            return
        }
        let loaded: FleetView?
        do throws(FleetFault) {
            loaded = try FleetView(snapshot)
        } catch {
            // It is read again after a while, and not as fast as the store answers.
            contact.asked(now)
            return actions.append(.tell(.fault(error)))
        }
        var cursors = loaded?.cursors ?? [:]
        for job in loaded?.unreadableJobs ?? [] {
            cursors[job] = memory.known.seen.jobs[job]?.value.cursor
        }
        let found = memory.known.check(
            cluster: snapshot.cluster, identity: loaded?.identity,
            revision: snapshot.revision, log: snapshot.log, cursors: cursors)
        if let found { return refuse(found, (snapshot, loaded), now) }
        guard let loaded else { return }
        store.accept()
        use(loaded, now)
    }

    /// Uses nothing of the store.
    ///
    /// - Parameter found: what it has, for its adoption.
    private mutating func refuse(
        _ new: IdentityGuard.Finding, _ found: (snapshot: FleetSnapshot, view: FleetView?)?,
        _ now: Now
    ) {
        if view != nil { loseView() }
        if finding != new { actions.append(.tell(.guarded(new))) }
        store.refuse(StoreRefusal(finding: new, found: found))
        // Further writes, of anyone, would make its revision as high as the known one, and what is missing
        // in it would not come back.
        if new == .older, memory.distrust() { actions.append(.remember(memory.known)) }
        // It is read again after a while, and not as fast as the store answers.
        contact.asked(now)
    }

    private mutating func use(_ loaded: FleetView, _ now: Now) {
        tellFaults(of: loaded, after: store.former?.faults ?? [:])
        followRecovery(loaded, now)
        if memory.known.identity?.epoch != loaded.identity.value.epoch { fleetClock.forget() }
        store.watch(loaded)
        contacted(now)
        fleetClock.load(hold: loaded.hold, clock: loaded.clock, at: now.awake)
        absences.keepMachines { loaded.members[$0] == nil }
        changeAll()
        remember()
    }

    private mutating func tellFaults(of view: FleetView?, after known: [FleetKey: FleetFault]) {
        guard let view, view.faults != known else { return }
        for (key, fault) in view.faults.sorted(by: { $0.key.name < $1.key.name })
        where known[key] != fault { actions.append(.tell(.unreadable(key, fault))) }
    }

    private mutating func see(
        _ key: FleetKey, _ value: Versioned<String>?, _ revision: Int64, _ now: Now
    ) throws(FleetFault) {
        let faults = view?.faults ?? [:]
        try store.update { view throws(FleetFault) in try view.see(key, value, at: revision) }
        tellFaults(of: view, after: faults)
        switch key {
        case .job(let name):
            queue.change(name)
            if let own = jobs.instance(of: name) { queue.change(own) }
        case .run(let run): queue.change(run.firing.job)
        case .member(let machine) where view?.members[machine] == nil:
            absences.isMissing(machine, since: now.boot)
        case .member(let machine): absences.isBack(machine)
        case .identity, .clock, .hold: break
        }
    }

    /// Until the store has recovered, what it had before stays remembered.
    private mutating func remember() {
        guard let view, !view.isRecovering else { return }
        var seen = view.seen
        seen.clockAt = contact.last?.wall
        memory.see(cluster: view.cluster, identity: view.identity.value, seen)
        actions.append(.remember(memory.known))
    }

    /// Takes changes, of the watch or read by a transaction that was refused.
    ///
    /// - Parameters:
    ///   - isWatched: whether it is the watch. What it brings is new; what a transaction reads may be
    ///     as old as a write of the clock.
    ///   - isOwn: whether this machine wrote it just now.
    mutating func see(
        _ cluster: String, _ revision: Int64, _ reads: FleetAnswer.Reads, _ now: Now,
        isWatched: Bool = false, isOwn: Bool = false
    ) {
        guard let epoch = view?.identity.value.epoch else { return }
        guard cluster == view?.cluster else {
            loseView()
            return
        }
        do throws(FleetFault) {
            for (key, value) in reads { try see(key, value, revision, now) }
        } catch {
            // What is known of this store cannot be trusted any more.
            loseView()
            return actions.append(.tell(.fault(error)))
        }
        guard fleetClock.estimate != nil else { return }
        store.update { $0.reach(revision) }
        guard let view else { return }
        let seen = FollowedClock.Seen(
            isWatched: isWatched, isOwn: isOwn, hold: reads[.hold]??.modified,
            clock: reads[.clock]??.modified)
        let changed = fleetClock.see(
            hold: view.hold, clock: view.clock, seen, at: now.awake)
        if let changed { clockChanged(changed, by: view.clock?.value.by, now) }
        guard view.identity.value.epoch == epoch,
            view.identity.value.format <= configuration.format.rawValue
        else {
            loseView()
            return
        }
        noteRecovery(reads, now)
        // Its format was raised, or it has recovered.
        if view.identity.value != memory.known.identity { remember() }
        rememberMore(reads, now)
    }

    /// A machine has written the clock.
    mutating func clockChanged(_ revision: Int64, by machine: MachineName?, _ now: Now) {
        guard let view else { return }
        let isOfOther =
            machine.map {
                $0 != configuration.machine && view.members[$0]?.value.isFit == true
            } ?? false
        fleetClock.compare(
            revision, isOfOther: isOfOther,
            grace: FleetClock.period + clockDelay(view) + FleetSession.requestTimeout,
            at: now.awake)
    }

    /// Remembers the jobs and the hold that were read, and from time to time the fleet clock.
    private mutating func rememberMore(_ reads: FleetAnswer.Reads, _ now: Now) {
        guard let view, !view.isRecovering else { return }
        var more = SeenValues(revision: view.revision)
        for case .job(let name) in reads.keys { more.jobs[name] = view.jobs[name] }
        if reads[.hold] != nil { more.hold = view.hold }
        let isClockOld = memory.isClockOld(at: now.awake)
        guard !more.jobs.isEmpty || more.hold != nil || isClockOld && reads[.clock] != nil else {
            return
        }
        more.clock = view.clock?.value
        more.clockAt = now.wall
        memory.merge(more, at: now.awake)
        actions.append(.rememberMore(more))
    }
}
