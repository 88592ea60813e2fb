// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension Machine {
    /// Passes an event to the daemon and executes the actions.
    func tell(_ event: Event, _ told: Told) {
        tell(told) { agenda.handle(event, at: now) }
    }

    /// The same, if the observation depends on the result.
    func tell(_ event: Event, told: () -> Told) {
        carryOut({ agenda.handle(event, at: now) }, told: told)
    }

    func tell(_ told: Told, _ actions: () -> [Action]) { carryOut(actions) { told } }

    private func carryOut(_ actions: () -> [Action], told: () -> Told) {
        counts.told += 1
        atOnce += 1
        isSet = false
        lastTold = awake
        let start = timeline.seen.count
        for action in actions() { perform(action) }
        guard !isSpoilt else { return }
        closeEpisode()
        let what = told()
        closeWatch(what)
        append(.told(what, seen: start..<timeline.seen.count))
    }

    func append(_ line: Line) {
        if case .passed(let how, _) = line {
            if how != .awake { isUndisturbed = false }
            if how == .step { wasSet = true }
        }
        timeline.lines.append(line)
    }

    func note(_ seen: Seen) {
        timeline.seen.append(seen)
        if seen.kind == .nonsense {
            let count = timeline.seen.count
            append(.told(.checkpoint, seen: count - 1..<count))
        }
    }

    func index(_ name: Job.Name) -> Int { Int(name.description.utf8.first ?? 97) - 97 }

    private func seen(_ kind: Seen.Kind, _ run: Run.ID, _ value: Int64 = 0) -> Seen {
        Seen(
            kind: kind, job: index(run.firing.job), label: nanoseconds(run.firing.scheduled),
            attempt: run.attempt, value: value)
    }

    private func nanoseconds(_ instant: WallInstant) -> Int64 {
        instant.microsecondsSinceEpoch * Unit.microsecond
    }

    private func perform(_ action: Action) {
        switch action {
        case .arm(let job, let instant):
            timers[index(job)] = instant.nanoseconds
            wallTimers[index(job)] = nil
        case .armAt(let job, let instant):
            wallTimers[index(job)] = nanoseconds(instant)
            timers[index(job)] = nil
        case .disarm(let job):
            timers[index(job)] = nil
            wallTimers[index(job)] = nil
        case .armRetry(let job, let instant): retryTimers[index(job)] = instant.nanoseconds
        case .disarmRetry(let job): retryTimers[index(job)] = nil
        case .begin(let runs, let start, let records):
            for run in runs { record(run) }
            for record in records { keep(record) }
            for run in start { begin(run) }
        case .start(let runs): for run in runs { begin(run) }
        case .check(let wanted): for check in wanted { ask(check) }
        // The store of the model is never late, so that no start is decided twice.
        case .withdraw(let runs): for run in runs { timeline.seen.append(seen(.nonsense, run)) }
        case .startReleased(let runs):
            for run in runs { timeline.seen.append(seen(.nonsense, run.id)) }
        case .end(let run, _):
            timeline.seen.append(seen(.end, run))
            askToEnd(run)
        case .signal: break
        case .suspend(let run):
            timeline.seen.append(seen(.suspend, run))
            if let index = alive.firstIndex(where: { $0.id == run }) { suspend(index) }
        case .resume(let run):
            timeline.seen.append(seen(.resume, run))
            if let index = alive.firstIndex(where: { $0.id == run }) { resume(index) }
        case .close(let ended):
            observeEnd(ended)
            timeline.seen.append(seen(.close, ended.id, plain(ended.outcome).rawValue))
            if let row = rows.first(where: { $0.run.id == ended.id }) {
                lastRuns[row.owner] = ended
                if ended.result == .success { lastSuccesses[row.owner] = ended.ended }
            }
            rows.removeAll { $0.run.id == ended.id }
        case .save(let records, _): for record in records { keep(record) }
        case .storeJobSet(let change, _):
            for renaming in change.renamed { rename(renaming) }
            let others = Set(change.records.map(\.job))
            if let renewal = change.renewal {
                for case let record? in records
                where renewal.concerns(record) && !others.contains(record.job) {
                    keep(renewal.renewed(record))
                }
            }
            for record in change.records { keep(record) }
            for job in change.erased { erase(job) }
        case .log(let notice): hear(notice)
        case .notify(let told, let changes): observe(told, changes)
        case .armIncidents(let instant): incidentTimer = instant.map(nanoseconds)
        // The model does not hold the machine: `HoldEqualsPauseTests` compares that with pauses.
        case .armHold, .decline: break
        case .answer(let answer):
            let value =
                switch answer {
                case .done, .pauseChanged, .killed, .requested: Seen.Answer.done
                case .unchanged: Seen.Answer.unchanged
                case .refused: Seen.Answer.refused
                case .noSuchJob: Seen.Answer.noSuchJob
                }
            timeline.seen.append(Seen(kind: .answer, value: value))
        }
    }

    private func hear(_ notice: Notice) {
        switch notice {
        case .fired(let run, _, _), .runOrdered(let run, _, _):
            timeline.seen.append(seen(.fired, run.id, Int64(run.firing.missed)))
        case .skipped(let firing, let reason):
            switch reason {
            case .byOrder, .deadline: break
            default: watch.happened.append(.skipped(index(firing.id.job)))
            }
            let code =
                switch reason {
                case .stillRunning: Seen.Reason.stillRunning
                case .concurrencyMax: Seen.Reason.concurrencyMax
                case .queueFull: Seen.Reason.queueFull
                case .missed: Seen.Reason.missed
                case .catchUpMax: Seen.Reason.catchUpMax
                case .deadline: Seen.Reason.deadline
                case .byOrder: Seen.Reason.byOrder
                case .clockSet: Seen.Reason.clockSet
                case .slotBusy: Seen.Reason.slotBusy
                case .outsideWindow: Seen.Reason.outsideWindow
                }
            timeline.seen.append(
                Seen(
                    kind: .skipped, job: index(firing.id.job),
                    label: nanoseconds(firing.id.scheduled), value: Int64(firing.missed) + 1,
                    reason: code))
        case .resumed(let job, _, let initiator, _, _):
            watch.happened.append(.resumed(index(job), byItself: initiator == .pauseEnd))
            timeline.seen.append(Seen(kind: .resumed, job: index(job)))
        default: break
        }
    }

    // MARK: - The store

    private func erase(_ job: Job.Name) {
        records[index(job)] = nil
        renamed.insert(index(job))
        timeline.seen.append(Seen(kind: .erased, job: index(job)))
    }

    private func rename(_ renaming: Renaming) {
        erase(renaming.from)
        lastRuns[renaming.to] = lastRuns.removeValue(forKey: renaming.from)
        lastSuccesses[renaming.to] = lastSuccesses.removeValue(forKey: renaming.from)
        observeRename(renaming)
        for place in rows.indices where rows[place].owner == renaming.from {
            rows[place].owner = renaming.to
            guard renaming.waiting.contains(rows[place].run.id) else { continue }
            rows[place].run.id = rows[place].run.id.renamed(renaming.to)
            rows[place].run.firing.id = rows[place].run.id.firing
        }
    }

    private func record(_ run: Run) {
        timeline.seen.append(seen(.row, run.id, Int64(run.firing.missed)))
        if !recorded.insert(run.id).inserted {
            // Such a scheduled time may have been increased, and may be that of an occurrence after
            // the clock was corrected backwards.
            let isRaised = run.id.firing.scheduled.microsecondsSinceEpoch % 1_000_000 != 0
            // Another job may also have had the name before.
            let isReused = renamed.contains(index(run.id.firing.job))
            let isCorrected = counts.corrections > 0 || setBack >= 3 * Unit.hour
            if isReused || (isRaised && isCorrected) { return isSpoilt = true }
            timeline.seen.append(Seen(kind: .nonsense, job: index(run.id.firing.job)))
        }
        newRows.append(run.id)
        rows.append(
            Row(
                run: run, owner: run.id.firing.job, isBegun: false, boot: boot, recorded: now.wall))
    }

    private func keep(_ record: JobRecord) {
        let job = index(record.job)
        records[job] = record
        if record.removed != nil { episode.happened.append(.removed(job)) }
        let phase =
            switch record.phase {
            case .armed: 0
            case .paused: 1
            case .stopped: 2
            case .finished: 3
            }
        let (accrued, active) = totals(of: record)
        timeline.seen.append(
            Seen(
                kind: .account, job: job, label: record.lastScheduled.map(nanoseconds) ?? 0,
                attempt: phase, value: accrued.wholeNanoseconds,
                more: active.wholeNanoseconds, reason: record.skips))
    }

    /// The time in a record, as of the reading of its event. If that is ahead of the clocks, the record
    /// is of the clocks, and must have less by exactly that.
    private func totals(of record: JobRecord) -> (accrued: Duration, active: Duration) {
        let ahead = agenda?.ahead ?? .zero
        guard ahead > .zero else { return (record.accrued, record.active) }
        if record.at != now.advanced(by: .zero - ahead) {
            note(Seen(kind: .nonsense, job: index(record.job)))
        }
        let less = record.phase == .armed && record.isCounting ? ahead : .zero
        // The total is never negative: it is of a job whose time began to count with this event.
        return (record.accrued + less, record.active == .zero ? .zero : record.active + less)
    }

    // MARK: - The processes

    private func begin(_ run: Run) {
        observeStart(run)
        timeline.seen.append(seen(.start, run.id))
        guard let row = rows.firstIndex(where: { $0.run.id == run.id }), !rows[row].isBegun else {
            timeline.seen.append(Seen(kind: .nonsense, job: index(run.id.firing.job)))
            return
        }
        rows[row].isBegun = true
        rows[row].boot = boot
        let job = index(run.id.firing.job)
        let span = run.job.schedule.plainSpan
        // Most runs end soon; some are longer than the time between several firings.
        var length: Int64
        switch draw(below: 8) {
        case 0: length = 0
        case 1...4: length = Int64(draw(below: 2_000_000)) * Unit.microsecond
        case 5, 6: length = span / 16 * Int64(draw(below: 16))
        default: length = span / 8 * Int64(draw(below: 32))
        }
        length = length / Unit.microsecond * Unit.microsecond
        let outcomes: [PlainOutcome] = [
            .fine, .fine, .fine, .fine, .fine, .failed, .failed, .two, .signalled, .timedOut,
            .spawnFailed, .stopped,
        ]
        let outcome = outcomes[Int(draw(below: UInt64(outcomes.count)))]
        if IncidentChecker.isWatched(job), draw(below: 4) > 0 {
            // Most are reported at once; some never, because they end before.
            let wait = draw(below: 2) == 0 ? 0 : Int64(draw(below: 100)) * Unit.second
            beginnings.append((run.id, awake + wait))
        }
        alive.append(Alive(id: run.id, job: job, ends: awake + length, outcome: outcome))
    }

    /// The runner looks: its answers change from time to time, and may be late.
    private func ask(_ check: ConditionCheck) {
        counts.checks += 1
        checkCount += 1
        timeline.seen.append(seen(.check, check.run.id, checkCount))
        if rows.first(where: { $0.run.id == check.run.id })?.isBegun != false {
            timeline.seen.append(Seen(kind: .nonsense, job: index(check.run.id.firing.job)))
        }
        let answers: [PlainAnswer] = [.yes, .yes, .yes, .no, .no, .no, .no, .failed]
        let wait = draw(below: 2) == 0 ? 0 : Int64(draw(below: 12_000_000)) * Unit.microsecond
        checks.append(
            (
                check, checkCount, answers[Int(draw(below: UInt64(answers.count)))],
                awake + wait
            ))
    }

    func answer(_ index: Int) {
        let (check, number, answer, _) = checks.remove(at: index)
        let real: TimerCore.Condition.Answer =
            switch answer {
            case .yes: .yes
            case .no: .no("mounted /mnt")
            case .failed: .failed(errno: "EIO", why: "mounted /mnt")
            }
        tell(
            .checked(check.run.id, number: check.number, real), .checked(number, answer))
    }

    private func askToEnd(_ run: Run.ID) {
        guard let index = alive.firstIndex(where: { $0.id == run }) else { return }
        resume(index)
        let grace = Int64(draw(below: 10_000_000)) * Unit.microsecond
        alive[index].ends = min(alive[index].ends, awake + grace)
        alive[index].outcome = .signalled
    }

    private func suspend(_ index: Int) {
        guard alive[index].left == nil, alive[index].ends > awake else { return }
        alive[index].left = alive[index].ends - awake
    }

    func resume(_ index: Int) {
        guard let left = alive[index].left else { return }
        alive[index].ends = awake + left
        alive[index].left = nil
    }

    func finish(_ index: Int) {
        let one = alive.remove(at: index)
        beginnings.removeAll { $0.run == one.id }
        counts.ends += 1
        if one.outcome != .fine { counts.failures += 1 }
        tell(
            .ended(one.id, real(one.outcome), RunUsage()),
            .ended(
                one.job, label: nanoseconds(one.id.firing.scheduled), attempt: one.id.attempt,
                one.outcome))
    }

    private func real(_ outcome: PlainOutcome) -> RunOutcome {
        switch outcome {
        case .fine: .exited(0)
        case .failed: .exited(1)
        case .two: .exited(2)
        case .signalled: .signalled("SIGTERM")
        case .timedOut: .timedOut
        case .spawnFailed: .spawnFailed(errno: "ENOENT", what: "exec")
        case .replaced: .replaced
        case .stopped: .stopped
        case .windowEnded: .windowEnded
        case .lostReboot: .lost(.reboot)
        case .lostDaemon: .lost(.daemon)
        case .lostRunner: .lost(.runner)
        case .lostDeadline: .lost(.deadline)
        case .skipped: .skipped(.exit(2))
        }
    }

    private func plain(_ outcome: RunOutcome) -> PlainOutcome {
        switch outcome {
        case .exited(let code): code == 0 ? .fine : code == 2 ? .two : .failed
        case .signalled: .signalled
        case .timedOut: .timedOut
        case .spawnFailed: .spawnFailed
        case .replaced: .replaced
        case .stopped: .stopped
        case .windowEnded: .windowEnded
        case .lost(.reboot): .lostReboot
        // The model has no fleet.
        case .lost(.daemon), .lost(.unstarted), .lost(.machine): .lostDaemon
        case .lost(.runner): .lostRunner
        case .lost(.deadline): .lostDeadline
        case .skipped: .skipped
        }
    }
}
