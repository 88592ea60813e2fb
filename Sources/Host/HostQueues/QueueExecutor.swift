// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import Dispatch

/// Runs an actor's work on one serial queue. Timers, signals and results of runs arrive on that
/// queue, so they enter the actor without a thread switch. Dispatch on Linux has no
/// DispatchSerialQueue that is an executor itself.
package final class QueueExecutor: SerialExecutor {
    package let queue: DispatchQueue

    package init(label: String, qos: DispatchQoS = .default) {
        queue = DispatchQueue(label: label, qos: qos)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }

    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// An actor that runs on a queue of its own.
package protocol QueueActor: Actor {
    nonisolated var executor: QueueExecutor { get }
}

extension QueueActor {
    /// Runs `body` inside the actor, after all work that was submitted before, and does not wait
    /// for it.
    package nonisolated func later(_ body: @escaping @Sendable (isolated Self) -> Void) {
        executor.queue.async { self.assumeIsolated { body($0) } }
    }

    /// Runs `body` inside the actor after `span` or later.
    package nonisolated func later(
        after span: Duration, _ body: @escaping @Sendable (isolated Self) -> Void
    ) {
        let deadline = DispatchTime.now() + span.interval
        executor.queue.asyncAfter(deadline: deadline) { self.assumeIsolated { body($0) } }
    }

    /// A timer on the actor's queue. `fire` is `@Sendable`: otherwise it would get the isolation of
    /// the actor method that contains it, and trap when it is called.
    package nonisolated func makeTimer(
        _ fire: @escaping @Sendable (isolated Self) -> Void
    ) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(queue: executor.queue)
        source.setEventHandler { @Sendable [weak self] in self?.assumeIsolated { fire($0) } }
        source.activate()
        return source
    }
}

extension Duration {
    /// At most 292 years, which Dispatch takes for "never".
    fileprivate var interval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow
            ? .never : .nanoseconds(Int(nanoseconds) + Int(attoseconds / 1_000_000_000))
    }
}
