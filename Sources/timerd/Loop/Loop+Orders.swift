// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TimerCore
import TimerStore

/// One order for many jobs. It is decided some jobs at a time, so that what comes due meanwhile does not wait for
/// the last of them, and saved in one transaction: after a kill it is in force for all of the jobs or for none.
struct OrderTransaction {
    /// Those that are not decided yet.
    var orders: ArraySlice<Order>
    /// The jobs of those that are.
    var jobs: Set<Job.Name> = []
    /// What was decided about these jobs since, by the orders or for other reasons: nothing of it may be saved
    /// before the transaction, or it could be in force for some of the jobs only.
    var writes: [Loop.Write] = []
    let results: OrderResults

    /// Has this wait for the transaction if it is about one of its jobs. What comes later about any job of it waits
    /// as well, so that nothing newer is overwritten.
    ///
    /// - Parameter others: jobs it is about beside those of the changes.
    /// - Returns: whether it waits.
    mutating func hold(_ write: Loop.Write, of others: [Job.Name]) -> Bool {
        let concerned = write.changes.flatMap(\.jobs) + others
        guard concerned.contains(where: jobs.contains) else { return false }
        jobs.formUnion(concerned)
        writes.append(write)
        return true
    }
}

extension Store.Change {
    /// The jobs it is about.
    fileprivate var jobs: [Job.Name] {
        switch self {
        case .begin(let run, _): [run.id.firing.job]
        case .save(let record), .stage(let record): [record.job]
        case .close(let run, _, _, _, _, _, _): [run.firing.job]
        case .erase(let job): [job]
        case .rename(let renaming): [renaming.from, renaming.to]
        case .beginInstance, .mark, .endInstance, .applyStaged, .mergeStaged: []
        }
    }
}

/// What comes of an order for many jobs, gathered until all of it is there.
final class OrderResults: Sendable {
    /// What came of it for one job.
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
        // Nothing is noted any more.
        let whole = state.withLock { state in
            defer { state.results = [] }
            return state
        }
        // Of many that takes a while, which is not the time of the queue that decides.
        Control.queue.async { whole.done(whole.results.compactMap { $0 }) }
    }
}

extension Loop {
    /// Something that the recorder is to write.
    struct Write: Sendable {
        var changes: [Store.Change]
        var durable: Bool
        var onCommit: (@Sendable (Set<Run.ID>) -> Void)?
        var onDelayed: (@Sendable (StoreError) -> Void)?
    }

    /// Gives the same order to many jobs and answers once what it changed is on the disk.
    ///
    /// - Parameters:
    ///   - jobs: nil: all there are.
    ///   - order: the order for a job. The end of a pause in it must be an instant.
    ///   - unknown: called in the place of `done` with those that are not configured, and all that are; then
    ///     nothing was changed.
    ///   - done: called with what came of it for each job, on a queue of its own.
    func handle(
        _ jobs: [Job.Name]?, order: @escaping @Sendable (Job.Name) -> Order,
        unknown: @escaping @Sendable (_ jobs: [Job.Name], _ configured: [Job.Name]) -> Void,
        done: @escaping @Sendable ([OrderResults.Result]) -> Void
    ) {
        afterTransaction { loop in
            let configured = loop.agenda.names
            if let jobs {
                let known = Set(configured)
                let others = jobs.filter { !known.contains($0) }
                guard others.isEmpty else { return unknown(others, configured) }
            }
            let orders = (jobs ?? configured).map(order)
            loop.transaction = OrderTransaction(
                orders: orders[...], results: OrderResults(count: orders.count, done: done))
            loop.isDeciding = true
            loop.obeySome()
        }
    }

    private func obeySome() {
        guard let orders = transaction?.orders, let results = transaction?.results else { return }
        let some = orders.prefix(Self.jobsPerTurn)
        transaction?.orders = orders.dropFirst(some.count)
        for (index, order) in zip(some.indices, some) {
            transaction?.jobs.insert(order.job)
            handle(order, isPart: true) { answer, snapshot in
                results.note(.init(order: order, answer: answer, snapshot: snapshot), at: index)
            }
        }
        guard some.endIndex == orders.endIndex else { return later { $0.obeySome() } }
        saveTransaction(results)
    }

    private func saveTransaction(_ results: OrderResults) {
        let writes = transaction?.writes ?? []
        transaction?.writes = []
        recorder.keepTogether(
            writes.map(\.changes), durable: writes.contains(where: \.durable)
        ) { refused in
            self.later { $0.finishTransaction(writes, refused, results) }
        } onDelayed: { error in
            for write in writes { write.onDelayed?(error) }
        }
        endDecision()
    }

    /// All jobs are decided on: what waited for that has its turn.
    func endDecision() {
        isDeciding = false
        let waiting = waitingForDecision
        waitingForDecision = []
        for body in waiting { body(self) }
        beginNextTransaction()
    }

    /// What waited for the transaction may be written now.
    private func finishTransaction(
        _ writes: [Write], _ refused: Set<Run.ID>, _ results: OrderResults
    ) {
        let late = transaction?.writes ?? []
        transaction = nil
        for write in late { submit(write) }
        let event = agenda.eventNumber
        recorder.write([]) { _ in self.noteWritten(through: event) }
        goOn(with: writes[...], refused)
        results.noteSaved()
        beginNextTransaction()
    }

    /// What follows each write is done some writes at a time as well.
    private func goOn(with writes: ArraySlice<Write>, _ refused: Set<Run.ID>) {
        let some = writes.prefix(Self.jobsPerTurn)
        for write in some { write.onCommit?(refused) }
        guard some.endIndex < writes.endIndex else { return }
        later { $0.goOn(with: writes[some.endIndex...], refused) }
    }

    /// Has it written, behind everything that was decided before about the same jobs.
    ///
    /// - Parameter jobs: the jobs it is about, where the changes do not say.
    func submit(_ write: Write, of jobs: [Job.Name] = []) {
        guard transaction?.hold(write, of: jobs) != true else { return }
        recorder.write(
            write.changes, durable: write.durable, onCommit: write.onCommit,
            onDelayed: write.onDelayed)
    }

    func submit(_ changes: [Store.Change], durable: Bool = false) {
        submit(Write(changes: changes, durable: durable))
    }

    /// Does this once there is no transaction and no reload. What has waited longer comes first.
    private func afterTransaction(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        waitingForTransaction.append(body)
        beginNextTransaction()
    }

    private func beginNextTransaction() {
        // One that is refused leaves the way free for the next.
        while transaction == nil, !isDeciding, !waitingForTransaction.isEmpty {
            waitingForTransaction.removeFirst()(self)
        }
    }

    /// Does this once no order for many jobs and no reload is half decided: a stop or a further reload between the
    /// jobs would have it in force for some of them only.
    func afterDecision(_ body: @escaping @Sendable (isolated Loop) -> Void) {
        guard isDeciding else { return body(self) }
        waitingForDecision.append(body)
    }
}

extension CommitBatch {
    /// The part about these jobs, and the rest.
    func parted(by jobs: Set<Job.Name>) -> [CommitBatch] {
        guard !jobs.isEmpty else { return [self] }
        func part(_ isIn: Bool) -> CommitBatch {
            CommitBatch(
                runs: runs.filter { jobs.contains($0.id.firing.job) == isIn },
                start: start.filter { jobs.contains($0.id.firing.job) == isIn },
                records: records.filter { jobs.contains($0.job) == isIn })
        }
        return [part(true), part(false)].filter {
            !$0.runs.isEmpty || !$0.start.isEmpty || !$0.records.isEmpty
        }
    }
}
