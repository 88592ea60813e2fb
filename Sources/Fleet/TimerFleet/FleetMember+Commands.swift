// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension FleetMember {
    /// Sends the end of a pause, from which on the time counts again.
    ///
    /// - Parameter end: when the pause ends by itself; nil: a user ends it now. What was due after it
    ///   was not paused, also if no machine was there to end the pause.
    mutating func resume(
        _ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now, at end: WallInstant? = nil
    ) {
        // What was due before the adoption of the store is not started.
        let adopted = view?.identity.value.adopted ?? now.wall
        let end = min(now.wall, max(end ?? now.wall, adopted))
        let branch = resumption(job, known, now, end).adding(followingTemplate(known.value))
        send(branch, about: job.name, opensAccount: job.opensByClock)
    }

    private mutating func resumption(
        _ job: FleetJob, _ known: Versioned<JobValue>, _ now: Now, _ end: WallInstant
    ) -> FleetTransaction.Branch {
        var value = known.value
        value.pause = nil
        if job.isInterval {
            // Active time counts from now on, and time by the wall clock from the end of the pause on.
            // Nothing is counted again that was counted before the pause, by a clock that is ahead of
            // this one. And there may have been several holds since the end, of which only the last
            // one is known: what was before it is not counted.
            let opened = [end, known.value.pause?.since, view?.hold.value.since].compactMap { $0 }
            if let readings = readings(now, wall: opened.max()) { value.open(by: readings) }
        } else if let due = job.due(known.value, at: end, time: .zero) {
            return skipping(job.name, known, value, .paused, due.missed, now, upTo: end)
        }
        return .changing(job.name, from: known.modified, to: value)
    }

    /// Sends what the first command about this job needs. Commands that need nothing are answered by
    /// `answerCommands`.
    mutating func command(
        _ name: Job.Name, _ known: Versioned<JobValue>, _ now: Now
    ) -> Bool {
        guard isReady, let readings = readings(now) else { return false }
        var value = known.value
        for (index, entry) in commands.list.enumerated() {
            switch entry.command {
            case .pause(name, let terms):
                // Once its pause was there, what follows is another command's.
                let pause = terms.pause(after: value.pause, at: now.wall)
                guard entry.seen == nil, value.pause != pause, terms.isFuture(at: now.wall),
                    let time = value.reading(readings)
                else { continue }
                value.begin(pause, at: time)
                send(.changing(name, from: known.modified, to: value), about: name)
            case .resume(name) where value.pause != nil:
                guard let job = jobs[name], job.definition == value.definition else { continue }
                resume(job, known, now, at: value.pause?.until)
            case .skipNext(name, let count) where value.skips != SkipNext.accepted(count):
                value.skips = SkipNext.accepted(count)
                send(.changing(name, from: known.modified, to: value), about: name)
            case .run(name, let machine) where entry.run == nil:
                guard reasonNotToRun(name) == nil else { continue }
                let run = Run.ID(
                    firing: Firing.ID(job: name, scheduled: freeInstant(name, now.wall)))
                commands.request(run, for: index)
                send(requesting(run, on: machine, known, now), about: name)
            case .forget(name):
                guard reasonToKeep(name, known.value, now) == nil else { continue }
                send(forgetting(name, known), about: name)
            case .run(name, let machine):
                // Refused, or not answered: the same run is requested until it is there.
                guard let run = entry.run, view?.runs[name]?[run] == nil else { continue }
                send(requesting(run, on: machine, known, now), about: name)
            default: continue
            }
            return true
        }
        return false
    }

    /// Why a user cannot run a job now beside the run of it that is not over; nil: a user can.
    func reasonNotToRun(_ name: Job.Name) -> String? {
        guard let policy = definition(of: name)?.policy, let runs = view?.jobs[name]?.value.live,
            case .skip(.stillRunning(let live)) = policy.admission(of: .requested, beside: runs)
        else { return nil }
        return "its run \(live.run) on \(live.machine) is not over, and concurrency is forbid"
    }

    private func freeInstant(_ name: Job.Name, _ now: WallInstant) -> WallInstant {
        var instant = now.ofRequest
        while view?.runs[name]?[Run.ID(firing: Firing.ID(job: name, scheduled: instant))] != nil {
            instant = (instant + .microseconds(1)).ofRequest
        }
        return instant
    }

    private mutating func requesting(
        _ run: Run.ID, on machine: MachineName, _ known: Versioned<JobValue>, _ now: Now
    ) -> FleetTransaction.Branch {
        let name = run.firing.job
        var value = known.value
        value.live.append(
            JobValue.LiveRun(
                run: run, machine: machine, incarnation: incarnation, state: .requested))
        let request = RunValue(
            machine: machine, incarnation: incarnation, nonce: nonce(), state: .requested,
            claimed: now.wall)
        return FleetTransaction.Branch(
            compares: [.modified(.job(name), known.modified), .modified(.run(run), 0)],
            changes: [
                .put(.job(name), value.text, lease: nil), .put(.run(run), request.text, lease: nil),
            ], reads: [.job(name), .run(run)])
    }
    // MARK: - Forgetting

    /// Why a job cannot be forgotten yet; nil: it can, or it is forgotten.
    func reasonToKeep(_ name: Job.Name, _ known: JobValue, _ now: Now) -> String? {
        guard let view, !known.isForgotten else { return nil }
        let owners = view.members.filter { $0.value.value.definitions[name] != nil }.keys.sorted()
        if let owner = owners.first {
            return "\(name) is configured on \(owner); remove it there, reload, and try again"
        }
        if let fault = view.faults.first(where: { if case .member = $0.key { true } else { false } }
        ) {
            return "what \(fault.key.name) is configured with cannot be read here: \(fault.value)"
        }
        if let instance = instances(of: name).first {
            return "\(instance.name) is a job of it; forget that one first"
        }
        if let live = known.live.first {
            return "the run \(live.run) on \(live.machine) is not over; try again when it is"
        }
        return nil
    }

    /// Removes what the store has of the job, except for the cursor: if the name comes back, no slot
    /// is started that was started before.
    private func forgetting(
        _ name: Job.Name, _ known: Versioned<JobValue>
    ) -> FleetTransaction.Branch {
        let value = JobValue(definition: JobValue.forgotten, cursor: known.value.cursor)
        // Two lists of a transaction count together, and the rest is removed with later claims.
        let runs = (view?.runs[name] ?? [:]).keys.sorted { $0.description < $1.description }
            .prefix(FleetTransaction.operationsMax / 2)
        return FleetTransaction.Branch(
            compares: [.modified(.job(name), known.modified)],
            changes: [.put(.job(name), value.text, lease: nil)] + runs.map { .delete(.run($0)) },
            reads: [.job(name)])
    }
}
