// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// One command for many jobs. The agenda decides on some jobs at a time, so that jobs that become
/// due meanwhile do not wait for the last of many.
extension Loop {
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
            loop.router.beginTransaction()
            let results = OrderResults(count: orders.count, done: done)
            loop.begin(CommandWork(orders[...], results), as: .command)
        }
    }

    /// All jobs are decided on, and now everything is saved.
    fileprivate func saveTransaction(_ results: OrderResults) {
        let writes = router.takeTransaction().map { write($0) }
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
        for late in router.endTransaction() { submit(write(late)) }
        recorder.write([noteWrite(through: agenda.eventNumber)])
        begin(CompletionWork(writes[...], refused), as: .completions)
        results.noteSaved()
        runWaiting()
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
            loop.router.addToTransaction(order.job)
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
