// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    /// Decides about one job that no transaction of this machine is about: the first of these that
    /// applies.
    mutating func consider(_ name: Job.Name, _ now: Now, _ claims: inout [Claim]) {
        // What another machine wrote, and this one cannot read, may be a pause.
        if view?.isRecovering == true {
            // The active runs come with the job, so that none starts beside them.
            if !bringBack(name), view?.jobs[name]?.value.recovered != nil { _ = report(name) }
            return
        }
        if view?.isUnreadable(name) == true { return }
        if report(name) { return }
        guard let known = view?.jobs[name] else {
            if let job = jobs[name], isReady { create(job, now) }
            return
        }
        noticeMissing(known.value, now)
        if let claim = recover(name, known, now) { return claims.append(claim) }
        if outbox.isBusy(name) || settleForOthers(name, known, now) { return }
        if !jobs.isTemplate(name), command(name, known, now) { return }
        guard let job = jobs[name] else { return }
        if redefine(job, known, now) { return }
        guard known.value.definition == job.definition else { return }
        if reopen(job, known, now) { return }
        if let until = known.value.pause?.until, until <= now.wall, isReady {
            if queue.isNew(endOfPause: until, of: name) {
                actions.append(.tell(.pauseEnded(name)))
            }
            return resume(job, known, now, at: until)
        }
        if isOfEndedPause(known.value), isReady { return resume(job, known, now) }
        if let claim = takeRequest(name, known, now) ?? retry(job, known, now)
            ?? claim(job, known, now)
        {
            claims.append(claim)
        }
    }

    // MARK: - What this machine's runs became

    /// Writes what a run of this machine became.
    private mutating func report(_ name: Job.Name) -> Bool {
        for row in local.of(name) {
            let known = view?.runs[name]?[row.run]
            if let known, known.value == row.value || known.value.nonce != row.value.nonce {
                if row.value.state.isFinal || known.value.nonce != row.value.nonce {
                    local[row.run] = nil
                    memory.forget(row.run)
                    actions.append(.forget(row.run))
                }
                continue
            }
            // A claim that was not started is written only when it is known what becomes of it.
            if row.value.state == .claimed { continue }
            send(report(row, known), about: name)
            return true
        }
        return false
    }

    private func report(
        _ row: LocalRun, _ known: Versioned<RunValue>?
    ) -> FleetTransaction.Branch {
        let name = row.run.firing.job
        var branch = FleetTransaction.Branch(
            compares: [.modified(.run(row.run), known?.modified ?? 0)],
            changes: [.put(.run(row.run), row.value.text, lease: nil)],
            reads: [.run(row.run), .job(name)])
        guard let job = view?.jobs[name] else { return branch }
        var value = job.value
        value.live.removeAll { $0.run == row.run }
        if !row.value.state.isFinal {
            value.live.append(
                JobValue.LiveRun(
                    run: row.run, machine: configuration.machine, incarnation: incarnation,
                    state: row.value.state))
        }
        branch.compares.append(.modified(.job(name), job.modified))
        branch.changes.append(.put(.job(name), value.text, lease: nil))
        return branch
    }

    /// A live run that an earlier start of this daemon claimed: it goes on if it began, is claimed
    /// again if it certainly did not begin, and is lost if that is not known.
    private mutating func recover(
        _ name: Job.Name, _ known: Versioned<JobValue>, _ now: Now
    ) -> Claim? {
        for live in known.value.live where live.machine == configuration.machine {
            // A store that was restored can have a live run of this start that is over.
            let isOver = local[live.run] == nil && isFromBeforeAdoption(live.run)
            guard live.incarnation != incarnation || isOver, live.state != .requested,
                let run = view?.runs[name]?[live.run]
            else { continue }
            let row = local[live.run]
            if let row, row.value.state != .claimed {
                // It began: from now on it is a run of this start of the daemon.
                guard row.value.incarnation != incarnation else { continue }
                let now = incarnation
                update(live.run) { $0.incarnation = now }
                _ = report(name)
                return nil
            }
            let isKnown =
                live.incarnation.boot == incarnation.boot && memory.state(of: live.run) == nil
                && !isFromBeforeAdoption(live.run)
            var value = run.value
            value.incarnation = incarnation
            if isKnown, value.after == nil || reasonToSkip(live.run, known.value, now) == nil {
                guard mayClaim(now) else { return nil }
                local[live.run] = nil
                value.nonce = nonce()
                var job = known.value
                job.replaceLive(live.run, with: incarnation, state: .claimed)
                return Claim(
                    run: live.run, value: value, job: job, known: known.modified,
                    knownRun: run.modified)
            }
            value.ended = now.wall
            switch (isKnown, memory.state(of: live.run)) {
            case (false, .began(let at)):
                value.state = .began
                value.began = at
                value.ended = nil
            case (false, .ended(let outcome, let began, let at)):
                value.state = .ended
                value.outcome = inFormat(outcome)
                value.began = began
                value.ended = at
            case (false, nil): value.state = .lost
            case (true, _), (false, .unstarted): value.state = .unstarted
            }
            local[live.run] = LocalRun(run: live.run, value: value)
            actions.append(.record(LocalRun(run: live.run, value: value)))
            _ = report(name)
            return nil
        }
        return nil
    }

    private func reasonToSkip(_ run: Run.ID, _ job: JobValue, _ now: Now) -> SkipKind? {
        if job.pause != nil { return .paused }
        let age = now.wall - run.firing.scheduled
        let isTooLate = jobs[run.firing.job]?.policy.isTooLate(attempt: run.attempt, age: age)
        return isTooLate == true ? .deadline : nil
    }

    /// Whether a run is older than the adoption of the store: it may have ended long ago, and the
    /// store lost the record of that.
    func isFromBeforeAdoption(_ run: Run.ID) -> Bool {
        view.map { run.firing.scheduled <= $0.identity.value.adopted } ?? true
    }

    // MARK: - Runs of machines that are gone

    /// Writes that a run is lost whose machine is not connected any more.
    private mutating func settleForOthers(
        _ name: Job.Name, _ known: Versioned<JobValue>, _ now: Now
    ) -> Bool {
        for live in known.value.live {
            guard let run = view?.runs[name]?[live.run] else { continue }
            let isOld =
                live.machine == configuration.machine && live.state == .requested
                && isFromBeforeAdoption(live.run)
            let isMissing =
                live.machine != configuration.machine
                && absences.since(live.machine).map { now.boot >= $0 + settleDelay(name) } ?? false
                && !mayStart(live, now)
            guard isOld || isMissing else { continue }
            var value = run.value
            value.state =
                live.state == .requested && !isFromBeforeAdoption(live.run) ? .unstarted : .lost
            value.ended = now.wall
            var job = known.value
            job.live.removeAll { $0.run == live.run }
            send(
                FleetTransaction.Branch(
                    compares: [
                        .modified(.job(name), known.modified),
                        .modified(.run(live.run), run.modified),
                    ] + (isMissing ? [.modified(.member(live.machine), 0)] : []),
                    changes: [
                        .put(.job(name), job.text, lease: nil),
                        .put(.run(live.run), value.text, lease: nil),
                    ], reads: [.job(name), .run(live.run), .member(live.machine)]), about: name)
            return true
        }
        return false
    }

    /// Whether the start deadline of a run may not have passed on a machine that is gone. A lease is known
    /// to end too early sometimes (etcd issue 15247), and then that machine may still start the run.
    private func mayStart(_ live: JobValue.LiveRun, _ now: Now) -> Bool {
        guard live.state == .claimed, let run = view?.runs[live.run.firing.job]?[live.run],
            let since = absences.since(live.machine)
        else { return false }
        return now.boot < since + configuration.lease && now.wall < startEnd(of: run.value)
    }

    /// A run that was claimed starts before this, as each of two clocks can be wrong by `skewMax`.
    func startEnd(of run: RunValue) -> WallInstant {
        run.claimed + configuration.lease + configuration.skewMax * 2
    }

    /// The machine with the first rank does it at once, and those that may not start the job last.
    func settleDelay(_ name: Job.Name) -> Duration {
        guard let job = jobs[name], let rank = rank(of: job) else { return .seconds(3) }
        return .milliseconds(250) * rank
    }

    // MARK: - Definitions

    private mutating func create(_ job: FleetJob, _ now: Now) {
        guard let view, let readings = readings(now) else { return }
        var value = JobValue(
            definition: job.definition, cursor: max(now.wall, view.identity.value.adopted),
            basis: job.basis)
        guard let joined = join(job, &value, now) else { return }
        let isOpen = job.isInterval && value.pause == nil
        if isOpen { value.open(by: readings) }
        jobs.isDefined(job.name)
        let branch = FleetTransaction.Branch.changing(job.name, from: 0, to: value)
        send(branch.adding(joined), about: job.name, opensAccount: isOpen && job.opensByClock)
    }

    /// Whether a user wants the definition of this machine to be that of the fleet.
    func mustDefine(_ name: Job.Name) -> Bool {
        jobs.isRedefined(name) || commands.contains(.define(name))
    }

    /// Writes the definition that a user reloaded. What was due by the old one is skipped, on
    /// record: a machine that does not know the old schedule cannot know what was due by it.
    private mutating func redefine(
        _ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now
    ) -> Bool {
        guard mustDefine(job.name) || known.value.isForgotten else { return false }
        guard known.value.definition != job.definition else {
            jobs.isDefined(job.name)
            return false
        }
        guard isReady, let readings = readings(now), let time = known.value.reading(readings) else {
            return true
        }
        var value = known.value
        value.definition = job.definition
        value.count(to: time)
        // An account that is open stays open: its time was counted up to the reading. From here on the
        // time of another basis is counted by another clock.
        if !job.isInterval || value.basis != job.basis { value.opened = nil }
        value.basis = job.basis
        guard let joined = join(job, &value, now) else { return true }
        if value.pause != nil { value.opened = nil }
        let opensAccount = job.isInterval && value.pause == nil && value.opened == nil
        if opensAccount { value.open(by: readings) }
        let branch = skipping(job.name, known, value, .redefined, 0, now)
        send(
            branch.adding(joined), about: job.name,
            opensAccount: opensAccount && job.opensByClock)
        return true
    }

    /// Writes a value of the job, and the record that the slots up to now are skipped.
    ///
    /// - Parameter end: up to this instant instead.
    mutating func skipping(
        _ name: Job.Name, _ known: Versioned<JobValue>, _ value: JobValue,
        _ reason: SkipKind, _ missed: Int64, _ now: Now, upTo end: WallInstant? = nil
    ) -> FleetTransaction.Branch {
        var value = value
        let slot = max((end ?? now.wall).wholeMilliseconds, known.value.cursor + .milliseconds(1))
        value.cursor = slot
        let run = Run.ID(firing: Firing.ID(job: name, scheduled: slot))
        let record = RunValue(
            machine: configuration.machine, incarnation: incarnation, nonce: nonce(),
            state: .skipped, after: known.value.cursor, missed: missed, reason: reason,
            claimed: now.wall)
        return FleetTransaction.Branch(
            compares: [.modified(.job(name), known.modified), .modified(.run(run), 0)],
            changes: [
                .put(.job(name), value.text, lease: nil), .put(.run(run), record.text, lease: nil),
            ], reads: [.job(name), .run(run)])
    }
}

extension JobValue {
    /// Replaces the entry of a live run.
    mutating func replaceLive(
        _ run: Run.ID, with incarnation: Incarnation, state: RunValue.State
    ) {
        for index in live.indices where live[index].run == run {
            live[index].incarnation = incarnation
            live[index].state = state
        }
    }
}
