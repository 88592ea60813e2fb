// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TimerControl
import TimerCore
import TimerRunnerProtocol
import TimerStore

/// Performs the actions that the agenda returns.
extension Loop {
    /// Performs the actions in their order. A durable write is awaited without blocking the queue,
    /// and the actions after it follow once it is on the disk. Each action is complete in itself,
    /// so no event in between can make the rest wrong.
    ///
    /// - Parameters:
    ///   - opening: changes that are written in one transaction with the first durable write.
    ///   - accounts: the time records when each notice among the actions was created; empty if
    ///     they were created just now.
    ///   - history: what the notices add to the history and is not handed to the store yet; nil:
    ///     all of it.
    ///   - onDelayed: called if a durable write cannot be made for now.
    func perform(
        _ actions: ArraySlice<Action>, at now: Now, opening: [Store.Change] = [],
        accounts: ArraySlice<AccountSnapshot> = [], history: [HistoryRow]? = nil,
        answer: Reply? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil,
        done: (@Sendable (isolated Loop) -> Void)? = nil
    ) {
        var rest = actions
        var accounts = accounts
        var room = JobTimers<JobTimer>.perPortion
        // The history is written with the records of its jobs, in the same transactions.
        var history = history ?? actions.compactMap { HistoryRow($0, at: real(now)) }
        while let action = rest.popFirst() {
            if let job = action.jobOfTimer {
                setTimer(of: job, room: &room)
                continue
            }
            if case .log(let notice) = action {
                let account = accounts.popFirst() ?? account(for: notice, at: now)
                eventLogger.log(
                    notice, at: now.wall, account, tail: ended?.end.tail ?? [],
                    isPart: answer?.isPart == true, lead: lead(of: now))
                continue
            }
            let notes = action.takeNotes(from: &rest)
            var changes = opening
            guard action.addDurable(to: &changes, room: history.count + notes.count) else {
                perform(action, notes, at: now, history: &history, answer: answer)
                continue
            }
            changes += history.map(\.change)
            changes += notes.map(\.change)
            let tail = rest
            let kept = accounts.isEmpty ? self.accounts(of: tail, at: now) : accounts
            let write = Write(changes: changes, durable: true) { _ in
                self.later { loop in
                    if !opening.isEmpty { loop.noteStored() }
                    loop.perform(
                        tail, at: now, accounts: kept, history: [], answer: answer, done: done)
                }
            } onDelayed: { error in
                answer?(.refused("done, but not on the disk yet: \(error)"))
                onDelayed?(error)
            }
            submit(write)
            followCounting(at: now)
            return
        }
        if !history.isEmpty { submit(history.map(\.change)) }
        followCounting(at: now)
        scheduleStatusUpdate()
        done?(self)
        // The last run may have ended.
        if agenda.isShutDown { runWaiting() }
    }

    /// The wall clock at a reading that may be ahead of it.
    private func real(_ now: Now) -> WallInstant { now.wall - lead(of: now) }

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

    /// - Parameters:
    ///   - notes: what is written in the same transaction.
    ///   - history: what belongs into the history; what is handed to the store is removed.
    private func perform(
        _ action: Action, _ notes: [JobNote], at now: Now, history: inout [HistoryRow],
        answer: Reply?
    ) {
        switch action {
        // The caller sets the timers, and logs the notices with the time records as they were.
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .log: break
        case .begin(let runs, let start, let records):
            early.note(starts: start.count, at: now.awake)
            let portions = CommitBatch(
                runs: runs, start: start, records: records, history: history, notes: notes
            ).split()
                .flatMap { $0.parted(by: transaction?.jobs ?? []) }
            for (index, portion) in portions.enumerated() {
                write(portion, at: now, isLast: index == portions.count - 1)
            }
            history = []
        case .start(let runs):
            early.note(starts: runs.count, at: now.awake)
            let start = WakeUp.Start(runs: runs, decided: now.awake, event: eventToNote)
            submit(
                write([start], [.setReleased(runs.map(\.id), true)]),
                of: runs.map(\.id.firing.job))
        case .startReleased(let runs):
            early.note(starts: runs.count, at: now.awake)
            begin([WakeUp.Start(runs: runs, decided: now.awake, event: 0)])
            noteEvent(of: runs)
        case .withdraw(let runs): submit([.setReleased(runs, false)], durable: true)
        case .end(let run, let grace): launcher.end(run, grace: grace)
        case .signal(let run, let name):
            // `KillBody` knows the signals that a user may send; any other name is ignored.
            if let number = KillBody.number(of: name) { launcher.signal(run, number) }
        case .suspend(let run): launcher.suspend(run)
        case .resume(let run): launcher.resume(run)
        case .close(let run):
            let tail = ended.flatMap { $0.run == run.id ? $0.end.tail : nil } ?? []
            let change = Store.Change.close(
                run.id, run.outcome, run.usage, failed: run.failed, began: run.began,
                at: run.ended ?? now.wall, tail: tail)
            let changes = [change] + notes.map(\.change)
            // The runner keeps the end until it is written.
            submit(
                Write(changes: changes, durable: false) { [launcher] _ in
                    launcher.forget(run.id)
                })
            fleet?.driver.ended(run.id, run.outcome, at: run.ended ?? now.wall)
        case .decline(let run): fleet?.driver.declined(run)
        case .notify:
            submit(history.map(\.change) + notes.map(\.change))
            history = []
        case .armIncidents: setIncidentTimer()
        case .save(let records, let durable):
            // A part of a checkpoint must not wait for a command that concerns other jobs.
            let (others, waiting) = parted(records)
            if waiting.isEmpty {
                submit(
                    others.map { .save($0) } + history.map(\.change) + notes.map(\.change),
                    durable: durable)
                history = []
            } else {
                submit(others.map { .save($0) }, durable: durable)
                submit(waiting.map { .save($0) } + notes.map(\.change), durable: durable)
            }
        case .storeJobSet(let change, let durable):
            var changes: [Store.Change] = []
            change.add(to: &changes)
            submit(changes, durable: durable)
        case .answer(let word): answer?(word)
        }
    }

    /// The time records of jobs outside the transaction, and the others.
    private func parted(_ records: [JobRecord]) -> (others: [JobRecord], waiting: [JobRecord]) {
        guard let jobs = transaction?.jobs, !jobs.isEmpty else { return (records, []) }
        return (
            records.filter { !jobs.contains($0.job) }, records.filter { jobs.contains($0.job) }
        )
    }

    /// A run starts when its row is on the disk, and only if there was no row with its identity. The
    /// runs and the time record of a job are written together or not at all.
    private func write(_ portion: CommitBatch, at now: Now, isLast: Bool) {
        let start = WakeUp.Start(
            runs: portion.start, decided: now.awake, event: isLast ? eventToNote : 0)
        let changes: [Store.Change] =
            portion.rows(at: real(now)) + portion.records.map { .save($0) }
            + portion.history.map(\.change) + portion.notes.map(\.change)
        // Without a transaction nothing can keep it back.
        guard transaction != nil || wakeUp == nil else {
            wakeUp!.add(start, changes, to: self)
            if wakeUp!.isFull { recorder.write(wakeUp!.takeWrites(for: self)) }
            return
        }
        submit(write([start], changes), of: portion.start.map(\.id.firing.job))
    }

    /// A write of these changes, after which the runs start. A run that started must be known after a
    /// power failure as well, or it would be caught up: it would start twice.
    nonisolated func write(
        _ starts: [WakeUp.Start], _ changes: [Store.Change]
    ) -> Write {
        let isStrict = starts.contains { start in
            start.runs.contains { $0.job.policy.startDurability == .strict }
        }
        return Write(changes: changes, durable: isStrict, keepsOrder: true) { refused in
            self.begin(starts, except: refused)
            for start in starts { self.noteWritten(through: start.event) }
        }
    }

    /// Starts runs whose rows are saved. If the store took long, the agenda decides on them
    /// again.
    nonisolated private func begin(
        _ starts: [WakeUp.Start], except refused: Set<Run.ID> = []
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

    /// The number of the event that counts as written once its changes are. 0 while a transaction
    /// is open, because other writes may then overtake those that the transaction keeps back.
    private var eventToNote: UInt64 { transaction == nil ? agenda.eventNumber : 0 }

    /// Notes that the runs of this event are recorded, after those of the events before it.
    private func noteEvent(of runs: [Run]) {
        let event = eventToNote
        submit(
            Write(changes: [], durable: false, keepsOrder: true) { _ in
                self.noteWritten(through: event)
            }, of: runs.map(\.id.firing.job))
    }

    /// Notes that the runs of the events up to this one are recorded; does nothing for 0.
    nonisolated func noteWritten(through event: UInt64) {
        guard event > 0 else { return }
        // These writes finish in the order in which they came, and only here, so this check and the
        // store cannot interleave.
        if event > written.load(ordering: .relaxed) {
            written.store(event, ordering: .sequentiallyConsistent)
        }
        guard isHolding.load(ordering: .sequentiallyConsistent) else { return }
        sendStored()
    }

    /// Calls `drained` once everything about the last run is on the disk.
    func noteDrained(_ drained: @escaping @Sendable () -> Void) {
        // After this write, nothing of the last runs is left to write.
        let last = Write(changes: [], durable: true) { _ in drained() }
        submit(last, of: transaction.map { Array($0.jobs) } ?? [])
    }
}

extension Action {
    /// Adds what must be on the disk before the next action. The changes of all jobs may be among
    /// it, which a sum of arrays would copy for each of its parts.
    ///
    /// - Parameter room: how many further changes will be added.
    /// - Returns: false if nothing must be on the disk.
    fileprivate func addDurable(to changes: inout [Store.Change], room: Int) -> Bool {
        switch self {
        case .save(let records, durable: true): changes += records.lazy.map { .save($0) }
        case .storeJobSet(let change, durable: true): change.add(to: &changes, room: room)
        default: return false
        }
        return true
    }
}

extension JobSetChange {
    fileprivate func add(to changes: inout [Store.Change], room: Int = 0) {
        changes.reserveCapacity(
            changes.count + renamed.count + records.count + erased.count + room + 1)
        changes += renamed.lazy.map { .rename($0) }
        if let renewal { changes.append(.renew(renewal)) }
        changes += records.lazy.map { .save($0) }
        changes += erased.lazy.map { .erase($0) }
    }
}
