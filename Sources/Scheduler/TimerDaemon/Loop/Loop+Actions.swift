// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import TimerCore
package import TimerLog
import TimerRecording
import TimerStore

/// What single actions of the agenda need.
extension Loop {
    /// If the row of a run is written later than this after the decision, the agenda decides on the
    /// start again.
    static let startDelayMax: Duration = .seconds(1)
    /// A job is held while its firing waits until earlier runs are recorded. After each write the
    /// agenda checks all held jobs; if there are more than this, only once in `heldDelay`.
    static let heldAtOnceMax = 256
    static let heldDelay: Duration = .milliseconds(100)

    // MARK: - Timers

    /// Sets or cancels a timer of this job as the agenda has it now, or plans that.
    ///
    /// - Parameter room: how many further timers of the same decision are set in this turn.
    func setTimer(of job: Job.Name, room: inout Int) {
        switch timers.request(job, room: &room) {
        case .setNow: setTimers(of: CollectionOfOne(job))
        case .setWithWakeUp, .setLater(isFirst: false): break
        case .setLater(isFirst: true): begin(UnsetTimers(), as: .timers)
        }
    }

    /// Sets or cancels all timers of these jobs as the agenda has them now.
    func setTimers(of jobs: some Collection<Job.Name>) {
        guard !jobs.isEmpty else { return }
        let isBusy = isBusy
        let now = clocks.now()
        // One question about all jobs: each one copies the agenda's references.
        timers.set(jobs, for: agenda.alarms(of: jobs), at: now) { alarm in
            EarlyFiring.lead(left: alarm.left(at: now), isBusy: isBusy)
        }
    }

    /// Sets the timer for incidents as the agenda has it now.
    func setIncidentTimer() {
        timers.setIncidentTimer(for: agenda.incidentsAlarm) {
            JobTimer(source: makeTimer { $0.receive(.incidentsDue) })
        }
    }

    /// Sets the timer for the end of the hold as the agenda has it now, and tells the fleet whether the
    /// machine is held.
    func noteHold() {
        timers.setHoldTimer(for: agenda.holdAlarm) {
            JobTimer(source: makeTimer { $0.receive(.holdDue) })
        }
        fleet?.driver.noteHold(agenda.machineHold != nil)
    }

    // MARK: - Log

    /// The wall clock at a reading that may be ahead of it.
    func real(_ now: Now) -> WallInstant { now.wall - lead(of: now) }

    func log(_ notice: Notice, of decision: inout Decision) {
        let account = decision.takeAccount() ?? account(for: notice, at: decision.now)
        eventLogger.log(
            notice, at: decision.now.wall, account, tail: decision.tail,
            isPart: decision.answer?.isPart == true, lead: lead(of: decision.now))
    }

    /// Logs an event that is not about a decision of the agenda, after earlier entries.
    package func log(_ notice: DaemonNotice) { eventLogger.log(notice) }

    /// The time records for the notices among these actions.
    func accounts(of actions: ArraySlice<Action>, at now: Now) -> ArraySlice<
        AccountSnapshot
    > {
        var accounts: [AccountSnapshot] = []
        for case .log(let notice) in actions {
            if let account = account(for: notice, at: now) { accounts.append(account) }
        }
        return accounts[...]
    }

    /// Nil for a log without fields, and for a notice without a log entry, because reading the time
    /// records of all jobs takes a while.
    private func account(for notice: Notice, at now: Now) -> AccountSnapshot? {
        eventLogger.hasTimeRecords && eventLogger.isLogged(notice)
            ? AccountSnapshot(for: notice, in: agenda, at: now) : nil
    }

    // MARK: - Runs

    /// A run starts when its row is on the disk, and only if there was no row with its identity. The
    /// runs and the time record of a job are written together or not at all.
    ///
    /// - Parameter ended: the runs whose ends caused these, all in one write.
    func record(_ batch: CommitBatch, with ended: EndedRuns, at now: Now) {
        early.note(starts: batch.start.count, at: now.awake)
        let portions =
            ended.runs.isEmpty ? batch.split().flatMap { router.parts(of: $0) } : [batch]
        let event = router.countedEvent(agenda.eventNumber)
        for (index, portion) in portions.enumerated() {
            let start = RecordedStart(
                runs: portion.start, decided: now.awake,
                event: index == portions.count - 1 ? event : 0, ended: ended.runs)
            submit(start, after: ended.changes + portion.changes(at: real(now)))
        }
    }

    /// Starts runs that were recorded earlier, once they are released on the disk.
    func start(_ runs: [Run], at now: Now) {
        early.note(starts: runs.count, at: now.awake)
        let start = RecordedStart(
            runs: runs, decided: now.awake, event: router.countedEvent(agenda.eventNumber))
        submit(start, after: [.setReleased(runs.map(\.id), true)])
    }

    /// Starts runs that are released on the disk.
    func startReleased(_ runs: [Run], at now: Now) {
        early.note(starts: runs.count, at: now.awake)
        begin([RecordedStart(runs: runs, decided: now.awake, event: 0)])
        // Their event counts as recorded after those before it.
        let event = router.countedEvent(agenda.eventNumber)
        submit(noteWrite(through: event), of: runs.map(\.id.firing.job))
    }

    /// Requests the checks of conditions, once the rows of their runs are written. They start nothing, so
    /// that they need not wait for the disk.
    func check(_ checks: [ConditionCheck]) {
        submit(
            Write(changes: [], durable: false) { [launcher] _ in
                for check in checks { launcher.check(check.run, number: check.number) }
            }, of: checks.map(\.run.id.firing.job))
    }

    func close(_ run: RunSummary, _ notes: [JobNote], _ decision: inout Decision) {
        let ended = run.ended ?? decision.now.wall
        let change = Store.Change.close(
            run.id, run.outcome, run.usage, failed: run.failed, began: run.began, at: ended,
            tail: decision.tail(of: run.id))
        let changes = [change] + notes.map(\.change)
        fleet?.driver.ended(run.id, run.outcome, at: ended)
        guard !decision.keep(run.id, changes) else { return }
        submit(write(EndedRuns(runs: [run.id], changes: changes)))
    }

    /// The runner keeps the ends until they are written.
    private func write(_ ended: EndedRuns, with others: [Store.Change] = []) -> Write {
        Write(changes: ended.changes + others, durable: false) { [launcher] _ in
            for run in ended.runs { launcher.forget(run) }
        }
    }

    func save(
        _ records: [JobRecord], _ notes: [JobNote], durable: Bool, _ decision: inout Decision
    ) {
        let (others, waiting) = router.parts(of: records)
        if !decision.ended.runs.isEmpty, !durable {
            let rest =
                records.map { .save($0) } + decision.takeHistory().map(\.change)
                + notes.map(\.change)
            submit(write(decision.takeEnded(), with: rest))
        } else if waiting.isEmpty {
            let history = decision.takeHistory()
            submit(
                others.map { .save($0) } + history.map(\.change) + notes.map(\.change),
                durable: durable)
        } else {
            submit(others.map { .save($0) }, durable: durable)
            submit(waiting.map { .save($0) } + notes.map(\.change), durable: durable)
        }
    }

    /// The request for the recorder. Runs start after it. A run that started must be known after a
    /// power failure as well, or it would be caught up: it would start twice.
    nonisolated func write(_ routed: RoutedWrite) -> Write {
        switch routed {
        case .write(let write): return write
        case .starts(let starts, let changes):
            let isStrict = starts.contains { start in
                start.runs.contains { $0.job.policy.startDurability == .strict }
            }
            return Write(changes: changes, durable: isStrict, keepsOrder: true) { refused in
                self.begin(starts, except: refused)
                for start in starts {
                    for run in start.ended { self.launcher.forget(run) }
                    self.noteWritten(through: start.event)
                }
            }
        }
    }

    /// Starts runs whose rows are saved. If the store took long, the agenda decides on them
    /// again.
    nonisolated private func begin(
        _ starts: [RecordedStart], except refused: Set<Run.ID> = []
    ) {
        var begun: [(run: Run, notBefore: AwakeInstant)] = []
        for start in starts {
            let runs = start.runs.filter { !refused.contains($0.id) }
            if !runs.isEmpty, clocks.awake - start.decided > Self.startDelayMax {
                later { $0.receive(.recorded(runs)) }
            } else {
                begun += runs.map { ($0, start.decided) }
            }
        }
        if !begun.isEmpty { launcher.start(begun) }
        guard !refused.isEmpty else { return }
        for run in starts.flatMap(\.runs) where refused.contains(run.id) {
            later { $0.receive(.ended(run.id, .lost(.daemon), RunUsage())) }
        }
    }

    // MARK: - What the store has written

    /// An empty write, after which the runs of the events up to this one count as recorded.
    func noteWrite(through event: UInt64) -> Write {
        Write(changes: [], durable: false, keepsOrder: true) { _ in
            self.noteWritten(through: event)
        }
    }

    /// Notes that the runs of the events up to this one are recorded; does nothing for 0.
    nonisolated private func noteWritten(through event: UInt64) {
        if progress.note(written: event) { sendStored() }
    }

    /// Soon sends the event that the store has written something. The agenda then checks all held
    /// jobs. If there are very many, the event is not sent for each run that is written.
    nonisolated func sendStored() {
        guard progress.beginReport() else { return }
        later { loop in
            guard loop.agenda.heldCount > Self.heldAtOnceMax else { return loop.receiveStored() }
            loop.later(after: Self.heldDelay) { $0.receiveStored() }
        }
    }

    private func receiveStored() {
        progress.endReport()
        receive(.stored)
    }
}

/// The timers that must still be set.
final class UnsetTimers: LongWork {
    func advance(on loop: isolated Loop) -> PortionResult {
        // The timer of a job that is due may be among those that are not set yet.
        if let first = loop.agenda.nextRing(at: loop.clocks.now()), first.after <= .zero {
            loop.timerFired(first.job)
        }
        loop.setTimers(of: loop.timers.takePortion())
        return loop.timers.areUnset ? .more : .finished
    }
}
