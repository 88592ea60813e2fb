// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    /// Decides what is to be done now.
    mutating func advance(_ now: Now) {
        keepSession(now)
        endIsolatedRuns(now)
        guard view != nil else { return adopt(now) }
        announce(now)
        advanceRecovery(now)
        raiseFormat()
        resolve(now)
        var claims: [Claim] = []
        let names = takeDue(now)
        for name in names where jobs.isTemplate(name) { considerTemplate(name, now) }
        for name in names where !outbox.isBusy(name) {
            consider(name, now, &claims)
        }
        send(claims, now)
        sendChanges()
        sendOpenings(now)
        writeClock(now)
        for name in names { wait(name, now) }
        answerCommands(now)
    }

    // MARK: - The session

    private mutating func keepSession(_ now: Now) {
        switch session.request(at: now.boot) {
        case .open: actions.append(.openLease)
        case .keepAlive(let lease): actions.append(.keepAlive(lease))
        case nil: break
        }
        // The clock's key is written all the time: a watch without a change of it is broken, even if
        // transactions read that the clock goes on.
        if view != nil, let watched = contact.watched, now.awake >= watched + Self.watchTimeout {
            loseView()
        }
        if view == nil, contact.mustLoad(at: now.boot) {
            contact.asked(now)
            actions.append(.load)
        }
    }

    var isRegistered: Bool {
        session.isAnnounced
            && view?.members[configuration.machine]?.value.incarnation == incarnation
    }

    /// Whether another machine is connected with the name of this one, or this one was before a reboot.
    var isNameTaken: Bool {
        view?.members[configuration.machine].map {
            let other = $0.value.incarnation
            return other.boot != incarnation.boot || other.number > incarnation.number
        } ?? false
    }

    /// Writes the key of this machine when it has another lease or something in it changes.
    private mutating func announce(_ now: Now) {
        guard let lease = session.lease, let view else { return }
        let unfitness = unfitness
        let value = MemberValue(
            incarnation: incarnation, labels: configuration.labels, definitions: jobs.definitions,
            isFit: unfitness == nil, skew: wallClock.skew.milliseconds,
            version: configuration.version,
            format: configuration.format, unfitness: format >= .second ? unfitness : nil)
        guard session.mustAnnounce(value, with: lease), !outbox.has(where: \.isMember) else {
            return
        }
        // Wait for the lease of the other one to end.
        if isNameTaken { return }
        let known = view.members[configuration.machine]
        let key = FleetKey.member(configuration.machine)
        session.announced(value, with: lease)
        send(
            FleetTransaction(
                compares: [.modified(key, known?.modified ?? 0)],
                changes: [.put(key, value.text, lease: lease)], reads: [key]), for: .member)
    }

    /// Writes the fleet clock when it is time, unless accounts are opened, which writes it as well and is
    /// sent before: of two writes on their way only one is applied.
    private mutating func writeClock(_ now: Now) {
        guard let clock = fleetClock.estimate, let view, let due = clockDue(view),
            !outbox.writesClock, clock.isAhead && fleetClock.isCompared || now.awake >= due
        else { return }
        send(clock.write(by: configuration.machine, at: now.awake), for: .clock)
    }

    /// When this machine writes the fleet clock, unless another machine has written it before. Nil:
    /// this machine may not write it. A machine whose clock is not compared writes it too: if all
    /// machines are started again and again, no other machine does. Its value may lag, but is no opening,
    /// so no estimate becomes smaller.
    func clockDue(_ view: FleetView) -> AwakeInstant? {
        guard isRegistered, let clock = fleetClock.estimate else { return nil }
        return clock.seen + (FleetClock.period + clockDelay(view))
    }

    /// Each machine writes the clock at another time, in the order of their names, so that they do not
    /// all write at once.
    func clockDelay(_ view: FleetView) -> Duration {
        let place = view.members.keys.sorted().firstIndex(of: configuration.machine) ?? 0
        return .milliseconds(250) * min(place, 8)
    }

    /// Notices which machines with live runs of a job are not connected.
    mutating func noticeMissing(_ job: JobValue, _ now: Now) {
        guard let view else { return }
        for run in job.live where view.members[run.machine] == nil {
            absences.isMissing(run.machine, since: now.boot)
        }
    }

    /// Sends changes of jobs. They compare the hold: during a hold that this machine does not know
    /// yet, its reading of the fleet clock is too large. What does not fit waits for an answer, and is
    /// decided about again.
    ///
    /// - Complexity: O(*n*) in the changes.
    private mutating func sendChanges() {
        var rest = outbox.takeChanges()[...]
        let hold = view.map { FleetCompare.modified(.hold, $0.hold.modified) }
        while !rest.isEmpty, !outbox.isFull {
            var transaction = FleetTransaction(
                compares: hold.map { [$0] } ?? [], branches: [], reads: [.hold])
            var names: [Job.Name] = []
            while let (name, branch) = rest.first {
                transaction.branches.append(branch)
                // One more comparison is that of the identity.
                if transaction.operations >= FleetTransaction.operationsMax, !names.isEmpty {
                    transaction.branches.removeLast()
                    break
                }
                names.append(name)
                rest = rest.dropFirst()
            }
            send(transaction, for: .jobs(names))
        }
        outbox.waitForChanges(rest.map(\.job))
    }

    /// Opens accounts, all of them by one write of the clock. What does not fit waits for the answer,
    /// and what waits is decided about again.
    private mutating func sendOpenings(_ now: Now) {
        let openings = outbox.takeOpenings()
        let branches = openings.prefix(FleetTransaction.branchesMax - 1)
        guard !branches.isEmpty else { return }
        guard let clock = fleetClock.estimate, !outbox.writesClock else {
            return outbox.waitForClock(openings.map(\.job))
        }
        outbox.waitForClock(openings.dropFirst(branches.count).map(\.job))
        send(
            clock.opening(branches.map(\.branch), by: configuration.machine, at: now.awake),
            for: .opening(branches.map(\.job)))
    }

    // MARK: - Claims

    /// Asks what became of claims without an answer. It needs no lease.
    private mutating func resolve(_ now: Now) {
        guard view?.isRecovering == false else { return }
        for (claims, sent) in outbox.takeUnresolved() {
            var branches: [FleetTransaction.Branch] = []
            var asked: [Claim] = []
            for claim in claims {
                let job = claim.run.firing.job
                // Without the job in the store there is nothing to find, and nothing can be applied.
                guard let known = view?.jobs[job] else { continue }
                asked.append(claim)
                branches.append(claim.resolving(known))
            }
            guard !asked.isEmpty else { continue }
            send(
                FleetTransaction(branches: branches, reads: asked.map { .run($0.run) }),
                for: .resolution(asked, sent: sent))
        }
    }

    private mutating func send(_ claims: [Claim], _ now: Now) {
        guard let lease = session.lease, let view else { return }
        var rest = claims[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(FleetTransaction.branchesMax))
            rest = rest.dropFirst(batch.count)
            send(
                .claiming(
                    batch, by: configuration.machine, lease: lease, hold: view.hold.modified),
                for: .claims(batch, sent: now.boot))
        }
    }

    /// Why this machine starts no firings, even if it is connected and the fleet is not held.
    var unfitness: MemberValue.Unfitness? {
        if memory.startsNothing { return .drained }
        if wallClock.skew.isBeyond(configuration.skewMax) { return .clock }
        return followsClocks ? nil : .joining
    }

    /// Whether this machine follows the fleet clock, and its wall clock is right.
    private var followsClocks: Bool {
        fleetClock.isCompared && wallClock.skew.isWithin(configuration.skewMax)
    }

    /// Whether this machine may change what depends on the time: it is known to the others, follows
    /// the fleet clock, and its wall clock is right.
    var isReady: Bool { isRegistered && followsClocks && view?.isRecovering == false }

    /// Whether this machine may claim now.
    func mayClaim(_ now: Now) -> Bool {
        guard isReady, !memory.startsNothing, view?.hold.value.isHeld == false,
            let until = session.deadline.instant(claimSent: now.boot)
        else { return false }
        return now.boot < until
    }

    /// How many machines start this job before this one; nil if this one may not.
    func rank(of job: FleetJob) -> Int? { machines(for: job).firstIndex(of: configuration.machine) }

    /// The machines that may start this job, the first one first.
    func machines(for job: FleetJob) -> [MachineName] {
        guard let view else { return [] }
        return FleetRank.order(
            of: job.name, definition: job.definition, labels: job.labels, prefer: job.prefer,
            among: view.members.mapValues(\.value))
    }

    /// The oldest final runs above the number that the store keeps.
    func removable(_ job: Job.Name) -> [Run.ID] {
        guard let runs = view?.runs[job], runs.count > Self.runsKept else { return [] }
        let final = runs.filter { $0.value.value.state.isFinal && local[$0.key] == nil }.keys
            .sorted {
                ($0.firing.scheduled, $0.attempt) < ($1.firing.scheduled, $1.attempt)
            }
        return Array(
            final.prefix(
                min(FleetTransaction.removalsMax, max(0, final.count - Self.runsKept))))
    }
}
