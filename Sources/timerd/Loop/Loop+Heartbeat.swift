// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import TimerCore
import TimerStore

/// Keeping time, and telling the service manager that it is kept.
extension Loop {
    /// Signs of life are left while some job's time counts, and not otherwise: an idle daemon sleeps.
    func followCounting(at now: Now) {
        guard agenda.isCounting != (heartbeatTimer != nil) else { return }
        heartbeatTimer = nil
        guard agenda.isCounting else { return }
        heartbeats = 0
        writeHeartbeat(at: now)
        heartbeatTimer = every(Self.heartbeatInterval) { $0.beat() }
    }

    /// A timer of this queue; nil if the interval is not longer than zero.
    private func every(
        _ interval: Duration, tolerance: Duration = .zero,
        _ body: @escaping @Sendable (isolated Loop) -> Void
    ) -> PausableTimer? {
        try? .every(interval, for: self, tolerance: tolerance, on: timerQueue) { loop, _ in
            loop.assumeIsolated { body($0) }
        }
    }

    private func beat() {
        let now = clocks.now()
        writeHeartbeat(at: now)
        // Where the kernel tells of no step, as in some containers, it is seen here.
        if agenda.clocksJumped(at: now) { receive(.clockChanged) }
        heartbeats += 1
        if heartbeats % Self.heartbeatsPerCheckpoint == 0 { beginCheckpoint() }
    }

    /// Writes down the accounts of all jobs whose time counts, some at a time: what comes due meanwhile, and what is
    /// written of it, does not wait for the last of many.
    func beginCheckpoint() {
        guard checkpointed == nil else { return }
        checkpointed = 0
        checkpointSome()
    }

    private func checkpointSome() {
        guard let place = checkpointed else { return }
        guard place < agenda.places.upperBound else {
            checkpointed = nil
            return submit([], durable: true)
        }
        let end = place + Self.jobsPerTurn
        checkpointed = end
        receive(.checkpoint(place..<end))
        afterWriting { $0.checkpointSome() }
    }

    /// Until the records of this instance are stored, its heartbeat carries on what those of earlier instances
    /// prove: the records in the store go by these.
    func writeHeartbeat(at now: Now) {
        let carried = unstored.map { $0.state.counting(max(.zero, now.awake - $0.since)) }
        heartbeatWriter.write(Heartbeat(instance: instance, at: now, unstored: carried))
    }

    /// The watchdog is told from this queue, behind whatever it was doing: a queue that hangs is silent.
    func watch() {
        guard let interval = supervision.watchdogInterval else { return }
        supervision.keepAlive()
        // Somewhat later than half of the time is early enough, and may save a wake-up.
        watchdogTimer = every(interval / 2, tolerance: interval / 10) {
            $0.supervision.keepAlive()
        }
    }

    func scheduleStatusUpdate() {
        guard supervision.isSupervised, statusTimer == nil else { return }
        statusTimer = try? .after(
            Self.statusDelay, for: self, tolerance: Self.statusDelay / 2, on: timerQueue
        ) { loop, _ in loop.assumeIsolated { $0.tellStatus() } }
    }

    /// The state cannot be saved for now, or can be again.
    func note(storeError trouble: StoreError?) {
        storeError = trouble
        scheduleStatusUpdate()
    }

    /// A configuration was refused, which is said until a later one is in use.
    func note(configRefusal refusal: String) {
        configRefusal = refusal
        scheduleStatusUpdate()
    }

    func tellStatus() {
        statusTimer = nil
        guard supervision.isSupervised else { return }
        let now = clocks.now()
        supervision.status(
            StatusLine(
                jobs: agenda.jobCount, paused: agenda.pausedCount, running: agenda.liveRuns,
                rejected: rejected.count, next: agenda.next(at: now), isStopping: agenda.isShutDown,
                trouble: storeError?.description, refusal: configRefusal
            ).text)
    }
}
