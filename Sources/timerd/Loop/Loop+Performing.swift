// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerControl
import TimerCore
import TimerRunnerProtocol
import TimerStore

/// Performs the actions that the agenda returns.
extension Loop {
    /// Decides on an event, and performs what the decision leads to.
    func decideAndPerform(
        _ event: Event, opening: [Store.Change] = [], end: (run: Run.ID, end: RunEnd)? = nil,
        answer: Reply? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil,
        done: (@Sendable (isolated Loop) -> Void)? = nil
    ) {
        let now = reading()
        perform(
            Decision(
                decide(event, at: now), at: now, written: real(now), opening: opening, end: end,
                answer: answer, onDelayed: onDelayed, done: done))
    }

    /// Performs the actions in their order. A durable write is awaited without blocking the queue,
    /// and the actions after it follow once it is on the disk. Each action is complete in itself,
    /// so no event in between can make the rest wrong.
    func perform(_ decision: Decision) {
        var decision = decision
        let now = decision.now
        var room = JobTimers<JobTimer>.perPortion
        while let action = decision.actions.popFirst() {
            if let job = action.jobOfTimer {
                setTimer(of: job, room: &room)
                continue
            }
            if case .log(let notice) = action {
                log(notice, of: &decision)
                continue
            }
            let notes = action.takeNotes(from: &decision.actions)
            let changes = decision.takeDurable(action, notes) { accounts(of: $0, at: now) }
            if let changes { return perform(after: changes, decision) }
            perform(action, notes, of: &decision)
        }
        let history = decision.takeHistory()
        if !history.isEmpty { submit(history.map(\.change)) }
        followCounting(at: now)
        scheduleStatusUpdate()
        decision.done?(self)
        // The last run may have ended.
        if agenda.isShutDown { runWaiting() }
    }

    /// Performs the rest of a decision once these changes are on the disk.
    private func perform(after changes: [Store.Change], _ decision: Decision) {
        var rest = decision
        let hasOpening = rest.takeOpening()
        let onDelayed = rest.takeDelayed()
        let answer = decision.answer
        submit(
            Write(changes: changes, durable: true) { [rest] _ in
                self.later { loop in
                    if hasOpening { loop.noteStored() }
                    loop.perform(rest)
                }
            } onDelayed: { error in
                answer?(.refused("done, but not on the disk yet: \(error)"))
                onDelayed?(error)
            })
        followCounting(at: decision.now)
    }

    private func log(_ notice: Notice, of decision: inout Decision) {
        let account = decision.takeAccount() ?? account(for: notice, at: decision.now)
        eventLogger.log(
            notice, at: decision.now.wall, account, tail: decision.tail,
            isPart: decision.answer?.isPart == true, lead: lead(of: decision.now))
    }

    /// The wall clock at a reading that may be ahead of it.
    func real(_ now: Now) -> WallInstant { now.wall - lead(of: now) }

    private func accounts(of actions: ArraySlice<Action>, at now: Now) -> ArraySlice<
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

    /// - Parameter notes: what is written in the same transaction.
    private func perform(_ action: Action, _ notes: [JobNote], of decision: inout Decision) {
        let now = decision.now
        switch action {
        // The caller sets the timers, and logs the notices with the time records as they were.
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .log: break
        case .begin(let runs, let start, let records):
            early.note(starts: start.count, at: now.awake)
            record(
                CommitBatch(
                    runs: runs, start: start, records: records, history: decision.takeHistory(),
                    notes: notes), at: now)
        case .start(let runs):
            early.note(starts: runs.count, at: now.awake)
            let start = RecordedStart(
                runs: runs, decided: now.awake, event: router.countedEvent(agenda.eventNumber))
            submit(starts: .starts([start], [.setReleased(runs.map(\.id), true)]))
        case .startReleased(let runs):
            early.note(starts: runs.count, at: now.awake)
            begin([RecordedStart(runs: runs, decided: now.awake, event: 0)])
            noteEvent(of: runs)
        case .withdraw(let runs): submit([.setReleased(runs, false)], durable: true)
        case .end(let run, let grace): launcher.end(run, grace: grace)
        case .signal(let run, let name):
            // `KillBody` knows the signals that a user may send; any other name is ignored.
            if let number = KillBody.number(of: name) { launcher.signal(run, number) }
        case .suspend(let run): launcher.suspend(run)
        case .resume(let run): launcher.resume(run)
        case .close(let run): close(run, notes, tail: decision.tail(of: run.id), at: now)
        case .decline(let run): fleet?.driver.declined(run)
        case .notify: submit(decision.takeHistory().map(\.change) + notes.map(\.change))
        case .armIncidents: setIncidentTimer()
        case .save(let records, let durable): save(records, notes, durable: durable, &decision)
        case .storeJobSet(let change, let durable):
            var changes: [Store.Change] = []
            change.add(to: &changes)
            submit(changes, durable: durable)
        case .answer(let word): decision.answer?(word)
        }
    }

    /// A run starts when its row is on the disk, and only if there was no row with its identity. The
    /// runs and the time record of a job are written together or not at all.
    private func record(_ batch: CommitBatch, at now: Now) {
        let portions = batch.split().flatMap { router.parts(of: $0) }
        let event = router.countedEvent(agenda.eventNumber)
        for (index, portion) in portions.enumerated() {
            let start = RecordedStart(
                runs: portion.start, decided: now.awake,
                event: index == portions.count - 1 ? event : 0)
            submit(starts: .starts([start], portion.changes(at: real(now))))
        }
    }

    private func close(_ run: RunSummary, _ notes: [JobNote], tail: [UInt8], at now: Now) {
        let change = Store.Change.close(
            run.id, run.outcome, run.usage, failed: run.failed, began: run.began,
            at: run.ended ?? now.wall, tail: tail)
        // The runner keeps the end until it is written.
        submit(
            Write(changes: [change] + notes.map(\.change), durable: false) { [launcher] _ in
                launcher.forget(run.id)
            })
        fleet?.driver.ended(run.id, run.outcome, at: run.ended ?? now.wall)
    }

    private func save(
        _ records: [JobRecord], _ notes: [JobNote], durable: Bool, _ decision: inout Decision
    ) {
        let (others, waiting) = router.parts(of: records)
        if waiting.isEmpty {
            let history = decision.takeHistory()
            submit(
                others.map { .save($0) } + history.map(\.change) + notes.map(\.change),
                durable: durable)
        } else {
            submit(others.map { .save($0) }, durable: durable)
            submit(waiting.map { .save($0) } + notes.map(\.change), durable: durable)
        }
    }

    // MARK: - Writes

    /// A write for the recorder.
    typealias Write = RequestQueue.Request

    /// Passes a write to the recorder, after all earlier decisions about the same jobs.
    ///
    /// - Parameter jobs: the jobs that it concerns, if the changes do not contain them.
    func submit(_ write: Write, of jobs: [Job.Name] = []) {
        handOver(router.route(.write(write), of: jobs))
    }

    func submit(_ changes: [Store.Change], durable: Bool = false) {
        submit(Write(changes: changes, durable: durable))
    }

    private func submit(starts: RoutedWrite) { handOver(router.routeStarts(starts)) }

    private func handOver(_ route: WriteRouter.Route) {
        guard case .now(let writes) = route else { return }
        recorder.write(writes.map { write($0) })
    }

    /// A write that was routed. Runs start after it. A run that started must be known after a power
    /// failure as well, or it would be caught up: it would start twice.
    nonisolated func write(_ routed: RoutedWrite) -> Write {
        switch routed {
        case .write(let write): return write
        case .starts(let starts, let changes):
            let isStrict = starts.contains { start in
                start.runs.contains { $0.job.policy.startDurability == .strict }
            }
            return Write(changes: changes, durable: isStrict, keepsOrder: true) { refused in
                self.begin(starts, except: refused)
                for start in starts { self.noteWritten(through: start.event) }
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

    /// Notes that the runs of this event are recorded, after those of the events before it.
    private func noteEvent(of runs: [Run]) {
        let event = router.countedEvent(agenda.eventNumber)
        submit(noteWrite(through: event), of: runs.map(\.id.firing.job))
    }

    /// An empty write, after which the runs of the events up to this one count as recorded.
    func noteWrite(through event: UInt64) -> Write {
        Write(changes: [], durable: false, keepsOrder: true) { _ in
            self.noteWritten(through: event)
        }
    }

    /// Notes that the runs of the events up to this one are recorded; does nothing for 0.
    nonisolated func noteWritten(through event: UInt64) {
        if progress.note(written: event) { sendStored() }
    }

    /// Calls `drained` once everything about the last run is on the disk.
    func noteDrained(_ drained: @escaping @Sendable () -> Void) {
        // After this write, nothing of the last runs is left to write.
        let last = Write(changes: [], durable: true) { _ in drained() }
        submit(last, of: router.jobsInTransaction)
    }
}
