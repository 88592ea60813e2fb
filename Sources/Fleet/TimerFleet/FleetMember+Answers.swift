// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    // MARK: - Answers

    /// Takes a transaction that is answered or never will be: what it was about is decided again.
    private mutating func take(_ id: TransactionID) -> FleetOutbox.Taken? {
        guard let taken = outbox.take(id) else { return nil }
        // What a question was asked for is decided again from what was read.
        let asked = taken.purpose.isQuestion ? commands.jobs : []
        for name in taken.jobs + asked {
            queue.change(name)
            if let template = view?.jobs[name]?.value.template { queue.change(template) }
        }
        return taken
    }

    mutating func answered(_ id: TransactionID, _ answer: FleetAnswer, _ now: Now) {
        guard let taken = take(id) else { return }
        let sent = taken.transaction.branches
        guard let view, answer.cluster == view.cluster, answer.revision >= leastRevision(view)
        else {
            // Another store answered. What it did is unknown to the known one.
            if case .adoption(let value) = taken.purpose { adopted(value, answer) }
            if taken.purpose.isMember { session.forgetAnnouncement() }
            outbox.keepUnresolved(taken.purpose)
            applyClock(sent, answer, now)
            loseView()
            return
        }
        prove(id, taken.transaction, answer)
        seeOwn(sent, answer, now)
        switch taken.purpose {
        case .claims(let claims, let sent): claimed(claims, sent, answer, now)
        case .resolution(let claims, let sent): resolved(claims, sent, answer, now)
        case .clock where answer.branches == [.applied]:
            clockChanged(answer.revision, by: configuration.machine, now)
        case .member where answer.branches != [.applied]: session.forgetAnnouncement()
        case .jobs, .hold, .clock, .opening, .member, .adoption, .identity, .question: break
        }
        see(answer.cluster, answer.revision, answer.reads, now)
        for case .refused(let reads) in answer.branches {
            see(answer.cluster, answer.revision, reads, now)
        }
    }

    /// Takes what this machine wrote, without waiting until the watch brings it: the next decision
    /// would be made from the value before it, and refused.
    private mutating func seeOwn(
        _ sent: [FleetTransaction.Branch], _ answer: FleetAnswer, _ now: Now
    ) {
        var written: FleetAnswer.Reads = [:]
        for (branch, result) in zip(sent, answer.branches) where result == .applied {
            for change in branch.changes {
                switch change {
                case .put(let key, let text, _):
                    let created = view?.revisions(of: key)?.created ?? answer.revision
                    written[key] = .some(
                        Versioned(text, created: created, modified: answer.revision))
                case .delete(let key): written[key] = .some(nil)
                }
            }
        }
        see(answer.cluster, answer.revision, written, now, isOwn: true)
    }

    /// Takes what this machine wrote to the clock while it reads the store again.
    private mutating func applyClock(
        _ sent: [FleetTransaction.Branch], _ answer: FleetAnswer, _ now: Now
    ) {
        guard answer.cluster == memory.known.cluster else { return }
        for (branch, result) in zip(sent, answer.branches) where result == .applied {
            for case .put(.clock, let text, _) in branch.changes {
                guard let value = try? ClockValue(text: text) else { continue }
                fleetClock.applyOwn(value, revision: answer.revision, at: now.awake)
            }
        }
    }

    /// A user accepted this store: what was known of another one does not count any more.
    private mutating func adopted(_ value: IdentityValue, _ answer: FleetAnswer) {
        contact.loaded()
        guard answer.branches == [.applied] else { return }
        // What is remembered of the same fleet is brought back, and of another one it is of no use.
        guard value.recovery == nil || memory.known.identity?.fleet != value.fleet else { return }
        fleetClock.forget()
        memory.forget()
        memory.see(
            cluster: answer.cluster, identity: value, SeenValues(revision: answer.revision))
        actions.append(.remember(memory.known))
    }

    /// An answer from before this revision is of another store.
    private func leastRevision(_ view: FleetView) -> Int64 {
        // While the store recovers, what is remembered is of the one before it.
        view.isRecovering ? view.snapshot : memory.known.seen.revision
    }

    /// Nothing is assumed: the next decision compares what is known, and is refused if the
    /// transaction was applied. Only a claim must not be made twice with two nonces.
    mutating func unanswered(_ id: TransactionID) {
        guard let taken = take(id) else { return }
        if taken.purpose.isMember { session.forgetAnnouncement() }
        outbox.keepUnresolved(taken.purpose)
    }

    private mutating func claimed(
        _ claims: [Claim], _ sent: BootInstant, _ answer: FleetAnswer, _ now: Now
    ) {
        if answer.branches.isEmpty {
            // The key of this machine has another lease or is gone: it is written again.
            session.forgetAnnouncement()
            if let lease = session.lease, isForeign(answer.reads, lease) { session.lost(lease) }
        }
        for (index, claim) in claims.enumerated() {
            do throws(FleetFault) {
                guard case .won(let fence) = try answer.result(of: claim, at: index) else {
                    continue
                }
                won(claim, fence, sent, now)
            } catch {
                actions.append(.tell(.fault(error)))
                outbox.keepUnresolved(.claims([claim], sent: sent))
            }
        }
    }

    /// Whether the key of this machine does not have this lease any more.
    private func isForeign(_ reads: FleetAnswer.Reads, _ lease: LeaseID) -> Bool {
        let key = FleetKey.member(configuration.machine)
        return (reads[key] ?? nil) == nil && view?.members[configuration.machine] != nil
    }

    private mutating func resolved(
        _ claims: [Claim], _ sent: BootInstant, _ answer: FleetAnswer, _ now: Now
    ) {
        for (index, claim) in claims.enumerated() {
            // Without branches the store was adopted, and no claim from before that is applied any
            // more: what was read is certain.
            let branch = answer.branches.isEmpty ? .refused(answer.reads) : answer.branches[index]
            guard case .refused(let reads) = branch else {
                // It was not applied and never will be: the known value has a new revision.
                continue
            }
            guard let run = reads[.run(claim.run)] ?? nil,
                let value = try? RunValue(text: run.value), value.nonce == claim.value.nonce
            else { continue }
            won(claim, run.modified, sent, now, state: value)
        }
    }

    /// A claim was applied with this revision: its run is this machine's.
    private mutating func won(
        _ claim: Claim, _ fence: Int64, _ sent: BootInstant, _ now: Now,
        state: RunValue? = nil
    ) {
        guard claim.value.state == .claimed else { return }
        var value = claim.value
        value.fence = self.fence(of: fence)
        // Another machine declared it lost while the answer was missing.
        if let state, state.state != .claimed { value.state = .unstarted; value.ended = now.wall }
        local[claim.run] = LocalRun(run: claim.run, value: value)
        local.claimed(claim.run, startBefore: session.deadline.instant(claimSent: sent))
        actions.append(.record(LocalRun(run: claim.run, value: value)))
    }

    /// The number by which receivers refuse what an earlier run sends too late. A store that was restored
    /// or made again begins with smaller revisions, so the number of the adoption goes first.
    private func fence(of revision: Int64) -> Int64 {
        guard format >= .second, let epoch = view?.identity.value.epoch else { return revision }
        return FleetPoint(epoch: epoch, revision: revision)?.number ?? revision
    }

    // MARK: - Runs of this machine

    /// The run is recorded: it is started if that is still right.
    mutating func recorded(_ run: Run.ID, _ now: Now) {
        guard let row = local[run], row.value.state == .claimed, let fence = row.value.fence else {
            return
        }
        let before = local.takeStart(run)
        if row.value.after != nil, let reason = reasonNotToStart(run) {
            return update(run) {
                $0.state = .skipped
                $0.reason = reason
                $0.ended = now.wall
            }
        }
        guard view != nil, let before, now.boot < before else {
            return update(run) {
                $0.state = .unstarted
                $0.ended = now.wall
            }
        }
        actions.append(.start(run, fence: fence, before: before))
    }

    private func reasonNotToStart(_ run: Run.ID) -> SkipKind? {
        if view?.hold.value.isHeld == true { return .held }
        return view?.jobs[run.firing.job]?.value.pause == nil ? nil : .paused
    }

    /// The runner reports something of a run.
    mutating func note(_ run: Run.ID, _ state: FleetMemory.RunnerState) {
        if local[run] != nil { memory.note(run, state) }
    }

    mutating func update(_ run: Run.ID, _ change: (inout RunValue) -> Void) {
        guard var row = local[run] else { return }
        change(&row.value)
        local[run] = row
        actions.append(.record(row))
    }

    /// What a run that was recorded became while no daemon ran.
    func recovered(_ row: LocalRun) -> LocalRun {
        var row = row
        guard !row.value.state.isFinal else { return row }
        switch memory.state(of: row.run) {
        case .began(let at):
            row.value.state = .began
            row.value.began = at
        case .unstarted: row.value.state = .unstarted
        case .ended(let outcome, let began, let at):
            row.value.state = .ended
            row.value.outcome = inFormat(outcome)
            row.value.began = began
            row.value.ended = at
        case nil:
            // In another boot it may have been started; in this one it certainly was not.
            if row.value.incarnation.boot != incarnation.boot || row.value.state == .began {
                row.value.state = .lost
            }
        }
        return row
    }
}
