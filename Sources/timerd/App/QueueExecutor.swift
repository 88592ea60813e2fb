// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TimerCore

/// Runs an actor's work on one serial queue, so that timers, signals and runs, which arrive on that queue,
/// enter the actor without a hop. Linux Dispatch has no DispatchSerialQueue that would be an executor itself.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String, qos: DispatchQoS = .default) {
        queue = DispatchQueue(label: label, qos: qos)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// An actor that lives on a queue of its own.
protocol QueueActor: Actor {
    nonisolated var executor: QueueExecutor { get }
}

extension QueueActor {
    /// Does `body` inside the actor after everything handed over before it, without waiting for it.
    nonisolated func later(_ body: @escaping @Sendable (isolated Self) -> Void) {
        executor.queue.async { self.assumeIsolated { body($0) } }
    }

    /// Does `body` inside the actor no sooner than after `span`.
    nonisolated func later(
        after span: Duration, _ body: @escaping @Sendable (isolated Self) -> Void
    ) {
        let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: span.wholeNanoseconds))
        executor.queue.asyncAfter(deadline: deadline) { self.assumeIsolated { body($0) } }
    }

    /// A timer of the actor's queue. `ring` is `@Sendable`, or it would take on the isolation of the
    /// actor method that wrote it and trap at its first ring.
    nonisolated func makeTimer(
        _ ring: @escaping @Sendable (isolated Self) -> Void
    ) -> any DispatchSourceTimer {
        makeTimer(for: ()) { actor, _ in ring(actor) }
    }

    /// The same, which rings with a word of what it rings for. Where `ring` holds nothing of its own, the timer
    /// of each of many jobs has one closure and not two.
    nonisolated func makeTimer<Subject: Sendable>(
        for subject: Subject, _ ring: @escaping @Sendable (isolated Self, Subject) -> Void
    ) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(queue: executor.queue)
        source.setEventHandler { @Sendable [weak self] in
            guard let self else { return }
            self.assumeIsolated { ring($0, subject) }
        }
        source.activate()
        return source
    }
}
