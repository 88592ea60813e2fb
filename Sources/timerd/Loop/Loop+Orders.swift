// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerCore
import TimerStore

/// One command for many jobs. The agenda decides on some jobs at a time, so that jobs that become
/// due meanwhile do not wait for the last of many. Everything is saved in one transaction: after a
/// kill, the command was applied to all of the jobs or to none.
struct OrderTransaction {
    /// The jobs on which it has decided.
    var jobs: Set<Job.Name> = []
    /// The later changes of these jobs, caused by the command or by something else. None may be
    /// saved before the transaction: otherwise the command could be saved for some jobs only.
    var writes: [Loop.Write] = []

    /// Keeps the write back if it concerns one of the jobs of the transaction. Later writes about
    /// any job of a kept write are kept back as well, so that nothing newer is overwritten.
    ///
    /// - Parameter others: jobs that it concerns beside those of the changes.
    /// - Returns: whether it is kept back.
    mutating func hold(_ write: Loop.Write, of others: [Job.Name]) -> Bool {
        let affected = write.changes.flatMap(\.jobs) + others
        guard affected.contains(where: jobs.contains) else { return false }
        jobs.formUnion(affected)
        writes.append(write)
        return true
    }
}

extension Store.Change {
    /// The jobs that it concerns.
    fileprivate var jobs: [Job.Name] {
        switch self {
        case .begin(let run, _, _): [run.id.firing.job]
        case .setReleased(let runs, _): runs.map(\.firing.job)
        case .save(let record), .stage(let record): [record.job]
        case .close(let run, _, _, _, _, _, _): [run.firing.job]
        case .erase(let job): [job]
        case .skip(let skip): [skip.firing.id.job]
        case .pause(let pause): [pause.job]
        case .rename(let renaming): [renaming.from, renaming.to]
        case .notify(let one): one.job.map { [$0] } ?? []
        case .incident(let change): [change.id.job]
        case .beginInstance, .endInstance, .renew, .applyStaged, .mergeStaged, .createMessage,
            .messageResult, .retryMessage, .fleet:
            []
        }
    }
}

/// The results of a command for many jobs, collected until all are there.
final class OrderResults: Sendable {
    /// The result for one job.
    struct Result: Sendable {
        var order: Order
        var answer: Answer
        var snapshot: JobSnapshot?
    }

    private let state: Mutex<State>

    private struct State {
        var results: [Result?]
        /// How many results are missing; the transaction itself counts as one.
        var missing: Int
        let done: @Sendable ([Result]) -> Void
    }

    init(count: Int, done: @escaping @Sendable ([Result]) -> Void) {
        state = Mutex(
            State(results: Array(repeating: nil, count: count), missing: count + 1, done: done))
    }

    func note(_ result: Result, at index: Int) { note { $0.results[index] = result } }

    func noteSaved() { note { _ in } }

    private func note(_ change: (inout State) -> Void) {
        let isWhole = state.withLock { state in
            change(&state)
            state.missing -= 1
            return state.missing == 0
        }
        guard isWhole else { return }
        // No result comes after this.
        let whole = state.withLock { state in
            defer { state.results = [] }
            return state
        }
        // With many results this takes a while, so it does not happen on the deciding queue.
        Control.queue.async { whole.done(whole.results.compactMap { $0 }) }
    }
}

extension Loop {
    /// A write for the recorder.
    typealias Write = RequestQueue.Request

    /// Gives the same command to many jobs and answers once all changes are on the disk.
    ///
    /// - Parameters:
    ///   - jobs: the jobs; nil for all.
    ///   - order: makes the command for a job. The end of a pause in it must be an instant.
    ///   - unknown: called instead of `done` if some jobs are not configured, with these and with
    ///     all jobs that are. Nothing was changed then.
    ///   - done: called with the result for each job, on a queue of its own.
    func handle(
        _ jobs: [Job.Name]?, order: @escaping @Sendable (Job.Name) -> Order,
        unknown: @escaping @Sendable (_ jobs: [Job.Name], _ configured: [Job.Name]) -> Void,
        done: @escaping @Sendable ([OrderResults.Result]) -> Void
    ) {
        after([.clocks, .decision, .transaction]) { loop in
            let configured = loop.agenda.names
            if let jobs {
                let known = Set(configured)
                let others = jobs.filter { !known.contains($0) && loop.templates[$0] == nil }
                guard others.isEmpty else { return unknown(others, configured) }
            }
            let orders = (jobs ?? configured).map(order)
            loop.transaction = OrderTransaction()
            let results = OrderResults(count: orders.count, done: done)
            loop.begin(CommandWork(orders[...], results), as: .command)
        }
    }

    /// All jobs are decided on, and now everything is saved.
    fileprivate func saveTransaction(_ results: OrderResults) {
        let writes = transaction?.writes ?? []
        transaction?.writes = []
        recorder.writeAtomically(
            writes.map(\.changes), durable: writes.contains(where: \.durable)
        ) { refused in
            self.later { $0.finishTransaction(writes, refused, results) }
        } onDelayed: { error in
            for write in writes { write.onDelayed?(error) }
        }
    }

    /// Submits the writes that waited for the transaction.
    private func finishTransaction(
        _ writes: [Write], _ refused: Set<Run.ID>, _ results: OrderResults
    ) {
        let late = transaction?.writes ?? []
        transaction = nil
        for write in late { submit(write) }
        let event = agenda.eventNumber
        recorder.write([
            Write(changes: [], durable: false, keepsOrder: true) { _ in
                self.noteWritten(through: event)
            }
        ])
        begin(CompletionWork(writes[...], refused), as: .completions)
        results.noteSaved()
        runWaiting()
    }

    /// Passes a write to the recorder, after all earlier decisions about the same jobs.
    ///
    /// - Parameter jobs: the jobs that it concerns, if the changes do not contain them.
    func submit(_ write: Write, of jobs: [Job.Name] = []) {
        guard transaction?.hold(write, of: jobs) != true else { return }
        guard wakeUp == nil else { return wakeUp!.add(write, to: self) }
        recorder.write([write])
    }

    func submit(_ changes: [Store.Change], durable: Bool = false) {
        submit(Write(changes: changes, durable: durable))
    }
}

/// A command for many jobs that the agenda decides on, some jobs at a time.
private final class CommandWork: LongWork {
    private var orders: ArraySlice<Order>
    private let results: OrderResults

    init(_ orders: ArraySlice<Order>, _ results: OrderResults) {
        self.orders = orders
        self.results = results
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        let some = orders.prefix(Loop.jobsPerPortion)
        orders = orders.dropFirst(some.count)
        for (index, order) in zip(some.indices, some) {
            loop.transaction?.jobs.insert(order.job)
            loop.execute(order, isPart: true) { [results] answer, snapshot in
                results.note(.init(order: order, answer: answer, snapshot: snapshot), at: index)
            }
        }
        guard orders.isEmpty else { return .more }
        loop.saveTransaction(results)
        return .finished
    }
}

/// What follows when the writes of such a command are on the disk.
private final class CompletionWork: LongWork {
    private var writes: ArraySlice<Loop.Write>
    private let refused: Set<Run.ID>

    init(_ writes: ArraySlice<Loop.Write>, _ refused: Set<Run.ID>) {
        self.writes = writes
        self.refused = refused
    }

    func advance(on loop: isolated Loop) -> PortionResult {
        for write in writes.prefix(Loop.jobsPerPortion) { write.onCommit?(refused) }
        writes = writes.dropFirst(Loop.jobsPerPortion)
        return writes.isEmpty ? .finished : .more
    }
}

extension CommitBatch {
    /// Splits off the part that concerns these jobs.
    func parted(by jobs: Set<Job.Name>) -> [CommitBatch] {
        guard !jobs.isEmpty else { return [self] }
        func part(_ isIn: Bool) -> CommitBatch {
            CommitBatch(
                runs: runs.filter { jobs.contains($0.id.firing.job) == isIn },
                start: start.filter { jobs.contains($0.id.firing.job) == isIn },
                records: records.filter { jobs.contains($0.job) == isIn },
                history: history.filter { jobs.contains($0.job) == isIn },
                notes: notes.filter { jobs.contains($0.job) == isIn })
        }
        return [part(true), part(false)].filter { !$0.isEmpty }
    }
}
