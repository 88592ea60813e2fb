// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import TimerCore
import TimerStore

/// Heartbeats, checkpoints of the time records, and the watchdog of the service manager.
extension Loop {
    /// Heartbeats are written only while the time of some job counts, so that an idle daemon
    /// sleeps.
    func followCounting(at now: Now) {
        guard agenda.isCounting != (heartbeatTimer != nil) else { return }
        heartbeatTimer = nil
        guard agenda.isCounting else { return }
        heartbeats = 0
        writeHeartbeat(at: now)
        heartbeatTimer = every(Self.heartbeatInterval) { $0.beat() }
    }

    /// Makes a timer of this queue; nil if the interval is not longer than zero.
    private func every(
        _ interval: Duration, tolerance: Duration = .zero,
        _ body: @escaping @Sendable (isolated Loop) -> Void
    ) -> PausableTimer? {
        try? .every(interval, for: self, tolerance: tolerance, on: timerQueue) { loop, _ in
            loop.assumeIsolated { body($0) }
        }
    }

    private func beat() {
        // Not ahead of the clocks, since it proves that the daemon runs.
        let now = clocks.now()
        writeHeartbeat(at: now)
        // In some containers the kernel does not report that the clock was set, so this is checked
        // here.
        if agenda.clocksJumped(at: now) { after(.clocks) { $0.receive(.clockChanged) } }
        heartbeats += 1
        if heartbeats % Self.heartbeatsPerCheckpoint == 0 { beginCheckpoint() }
    }

    /// Writes the time records of all jobs whose time counts, in portions.
    func beginCheckpoint() {
        after(.clocks) { loop in
            guard !loop.portions.contains(.checkpoint) else { return }
            loop.begin(CheckpointWork(), as: .checkpoint)
        }
    }

    /// Until the records of this instance are stored, its heartbeat also carries the time that
    /// heartbeats of earlier instances prove, because the stored records are still based on those.
    func writeHeartbeat(at now: Now) {
        let carried = unstored.map { $0.state.counting(max(.zero, now.awake - $0.since)) }
        heartbeatWriter.write(Heartbeat(instance: instance, at: now, unstored: carried))
    }

    /// The watchdog is notified from this queue, after its other work. If the queue hangs, the
    /// notification does not come, and the service manager restarts the daemon.
    func watch() {
        guard let interval = supervision.watchdogInterval else { return }
        supervision.keepAlive()
        // Half of the interval with some tolerance is early enough, and the tolerance may save a
        // wake-up.
        watchdogTimer = every(interval / 2, tolerance: interval / 10) {
            $0.supervision.keepAlive()
        }
    }

    func scheduleStatusUpdate() {
        guard supervision.isSupervised, statusTimer == nil else { return }
        statusTimer = try? .after(
            Self.statusDelay, for: self, tolerance: Self.statusDelay / 2, on: timerQueue
        ) { loop, _ in loop.assumeIsolated { $0.sendStatus() } }
    }

    /// Records that the state cannot be saved for now, or that it can be saved again.
    func note(storeError error: StoreError?) {
        storeError = error
        scheduleStatusUpdate()
    }

    /// Records that a configuration was refused. Status and list report this until a later one is
    /// used.
    func note(configRefusal refusal: String) {
        configRefusal = refusal
        scheduleStatusUpdate()
    }

    func sendStatus() {
        statusTimer = nil
        guard supervision.isSupervised else { return }
        let now = steadyNow()
        supervision.status(
            StatusLine(
                jobs: agenda.jobCount, paused: agenda.pausedCount, running: agenda.liveRuns,
                rejected: rejected.count, next: agenda.next(at: now), isStopping: agenda.isShutDown,
                storeError: storeError?.description, refusal: configRefusal
            ).text)
    }
}

/// A checkpoint of the time records.
private final class CheckpointWork: LongWork {
    /// The jobs before this place are written.
    private var place = 0

    func advance(on loop: isolated Loop) -> PortionResult {
        guard place < loop.agenda.places.upperBound else {
            loop.submit([], durable: true)
            return .finished
        }
        let end = place + Loop.jobsPerPortion
        loop.receive(.checkpoint(place..<end))
        place = end
        return .moreAfterWriting
    }

    func restart() { place = 0 }
}
