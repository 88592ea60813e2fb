// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerLog
import TimerRunnerProtocol
import TimerStore

/// What a decision of the agenda still leads to: actions that are performed in their order, and what
/// belongs to them. After a durable write the rest follows in a later turn.
struct Decision: Sendable {
    /// The actions that are not performed yet.
    private var actions: ArraySlice<Action>
    /// The reading of the clocks as of which it was made.
    let now: Now
    /// What the notices among the actions add to the history, and is not handed to the store. It is
    /// written with the records of its jobs, in the same transactions.
    private var history: [HistoryRow]
    /// Changes that are written in one transaction with the first durable write.
    private var opening: [Store.Change]
    /// The time records when each notice among the actions was created; empty if they were created
    /// just now.
    private var accounts: ArraySlice<AccountSnapshot> = []
    /// The end of a run that the decision is about: the agenda's changes are written together with
    /// the other facts about the run.
    private let end: (run: Run.ID, end: RunEnd)?
    /// Ends of runs that are written with the next action: what follows from an end is on the disk
    /// with it, or not at all.
    private(set) var ended = EndedRuns()
    /// The first of the actions that writes runs or records, once it was looked for, and whether it
    /// does that without waiting for the disk.
    private var nextWrite: (index: Int, isAtOnce: Bool)?
    /// Answers the command that the decision is about.
    let answer: Reply?
    /// Called if a durable write cannot be made for now.
    private var onDelayed: (@Sendable (StoreError) -> Void)?
    /// Called once all actions are performed.
    let done: (@Sendable (isolated Loop) -> Void)?

    /// - Parameter written: the wall clock, with which the history is written.
    init(
        _ actions: [Action], at now: Now, written: WallInstant, opening: [Store.Change] = [],
        end: (run: Run.ID, end: RunEnd)? = nil, answer: Reply? = nil,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil,
        done: (@Sendable (isolated Loop) -> Void)? = nil
    ) {
        self.actions = actions[...]
        self.now = now
        history = actions.compactMap { HistoryRow($0, at: written) }
        self.opening = opening
        self.end = end
        self.answer = answer
        self.onDelayed = onDelayed
        self.done = done
    }

    /// Removes and returns the next action.
    mutating func takeAction() -> Action? { actions.popFirst() }

    /// Removes the actions that directly follow this one and are written with it.
    mutating func takeNotes(after action: Action) -> [JobNote] { action.takeNotes(from: &actions) }

    /// The last output of the run that ended.
    var tail: [UInt8] { end?.end.tail ?? [] }

    /// The last output of this run, if it is the one that ended.
    func tail(of run: Run.ID) -> [UInt8] { end?.run == run ? tail : [] }

    /// Removes and returns what belongs into the history.
    mutating func takeHistory() -> [HistoryRow] {
        defer { history = [] }
        return history
    }

    /// Removes and returns the time records when the next notice was created; nil if that was just
    /// now.
    mutating func takeAccount() -> AccountSnapshot? { accounts.popFirst() }

    /// Keeps the end of a run for the next write, if that follows before anything waits for the disk.
    ///
    /// - Returns: whether it did.
    /// - Complexity: O(*n*) in the number of actions, for all ends of a decision together.
    mutating func keep(_ run: Run.ID, _ changes: [Store.Change]) -> Bool {
        guard isWrittenNext() else { return false }
        ended.runs.append(run)
        ended.changes += changes
        return true
    }

    /// Whether the next write does not wait for the disk. A start may close thousands of lost runs,
    /// so it is not looked for again before it is reached.
    private mutating func isWrittenNext() -> Bool {
        if let nextWrite, nextWrite.index >= actions.startIndex { return nextWrite.isAtOnce }
        let index = actions.firstIndex { $0.isWrittenAtOnce != nil }
        let isAtOnce = index.flatMap { actions[$0].isWrittenAtOnce } ?? false
        nextWrite = (index ?? actions.endIndex, isAtOnce)
        return isAtOnce
    }

    /// Removes the ends that are written with the action that is performed now.
    mutating func takeEnded() -> EndedRuns {
        defer { ended = EndedRuns() }
        return ended
    }

    /// If something must be on the disk before the action after this one: all changes that are
    /// written with it, and this decision is then the rest of it.
    ///
    /// - Parameters:
    ///   - notes: what is written in the same transaction.
    ///   - accounts: makes the time records for the notices among these actions.
    mutating func takeDurable(
        _ action: Action, _ notes: [JobNote],
        accounts makeAccounts: (ArraySlice<Action>) -> ArraySlice<AccountSnapshot>
    ) -> [Store.Change]? {
        var changes = opening
        guard action.addDurable(to: &changes, room: history.count + notes.count) else { return nil }
        changes += takeHistory().map(\.change)
        changes += notes.map(\.change)
        if accounts.isEmpty { accounts = makeAccounts(actions) }
        return changes
    }

    /// Removes the changes that are written with the first durable write.
    ///
    /// - Returns: whether there were some.
    mutating func takeOpening() -> Bool {
        defer { opening = [] }
        return !opening.isEmpty
    }

    /// Removes and returns what is called if a durable write cannot be made for now.
    mutating func takeDelayed() -> (@Sendable (StoreError) -> Void)? { onDelayed.take() }
}

/// Runs that ended, and what is written of that.
struct EndedRuns: Sendable {
    var runs: [Run.ID] = []
    var changes: [Store.Change] = []
}

extension Action {
    /// Whether runs or records are written without waiting for the disk; nil if none are written.
    fileprivate var isWrittenAtOnce: Bool? {
        switch self {
        case .begin: true
        case .save(_, let durable): !durable
        case .storeJobSet: false
        case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .start, .startReleased, .check,
            .withdraw, .end, .signal, .suspend, .resume, .close, .log, .answer, .notify,
            .armIncidents, .armHold, .decline:
            nil
        }
    }

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

    /// The job whose timer it concerns; nil if it concerns none.
    var jobOfTimer: Job.Name? {
        switch self {
        case .arm(let job, _), .armAt(let job, _), .disarm(let job), .armRetry(let job, _),
            .disarmRetry(let job):
            job
        case .begin, .start, .startReleased, .check, .withdraw, .end, .signal, .suspend, .resume,
            .close, .save, .storeJobSet, .log, .answer, .notify, .armIncidents,
            .armHold, .decline:
            nil
        }
    }
}

extension JobSetChange {
    /// What it changes in the store.
    var changes: [Store.Change] {
        var changes: [Store.Change] = []
        add(to: &changes)
        return changes
    }

    /// - Parameter room: how many further changes will be added.
    fileprivate func add(to changes: inout [Store.Change], room: Int = 0) {
        changes.reserveCapacity(
            changes.count + renamed.count + records.count + erased.count + room + 1)
        changes += renamed.lazy.map { .rename($0) }
        if let renewal { changes.append(.renew(renewal)) }
        changes += records.lazy.map { .save($0) }
        changes += erased.lazy.map { .erase($0) }
        if let hold { changes.append(.hold(hold)) }
    }
}
