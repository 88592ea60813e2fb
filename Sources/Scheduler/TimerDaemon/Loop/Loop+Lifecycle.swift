// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
package import TimerControl
package import TimerCore
package import TimerLog
import TimerRecording
package import TimerStore

/// The start and the stop of the loop, and what it does while it runs: heartbeats, checkpoints, the
/// watchdog, and the status of the service manager.
extension Loop {
    /// How long a start waits for the runner once everything else is done.
    package static let preparationMax: Duration = .seconds(10)
    /// How long changes of the status line are collected before one is sent.
    static let statusDelay: Duration = .milliseconds(500)

    /// The initial state of a loop, beside its agenda.
    package struct Beginning: Sendable {
        /// The actions that the agenda returned when it was loaded.
        var actions: [Action]
        /// When it was loaded. Time counts from then on.
        var at: Now
        /// What heartbeats carry until the state is saved.
        var unstored: Heartbeat.Unstored
        /// The jobs that were not loaded because of an error.
        var rejected: [Rejection]
        /// The log levels of the jobs that do not log everything.
        var levels: EventLogger.Levels
        /// How long to wait for the runner.
        var preparationMax: Duration
        /// Called once the state is saved and the timers are set.
        var begun: @Sendable () -> Void
        /// Called once the state is saved, and the runner can start runs or has had `preparationMax`
        /// for it. Not called if the loop is shut down before.
        var ready: @Sendable (_ isRunnerPrepared: Bool) -> Void
        /// Called if the state cannot be saved for now. Runs wait until it is saved.
        var onDelayed: @Sendable (StoreError) -> Void

        package init(
            actions: [Action], at: Now, unstored: Heartbeat.Unstored, rejected: [Rejection],
            levels: EventLogger.Levels = [:], preparationMax: Duration = Loop.preparationMax,
            begun: @escaping @Sendable () -> Void = {},
            ready: @escaping @Sendable (_ isRunnerPrepared: Bool) -> Void,
            onDelayed: @escaping @Sendable (StoreError) -> Void
        ) {
            self.actions = actions
            self.at = at
            self.unstored = unstored
            self.rejected = rejected
            self.levels = levels
            self.preparationMax = preparationMax
            self.begun = begun
            self.ready = ready
            self.onDelayed = onDelayed
        }
    }

    // MARK: - Start

    func begin(_ beginning: Beginning) {
        eventLogger.follow(beginning.levels)
        timers.reserveCapacity(beginning.actions.count { $0.jobOfTimer != nil })
        watch()
        // The first request to the runner, which reads the configuration while the state is saved.
        launcher.prepare { self.later { $0.note(.prepared) } }
        let decision = Decision(
            beginning.actions, at: beginning.at, written: beginning.at.wall,
            opening: [.beginInstance(beginning.at)], onDelayed: beginning.onDelayed,
            // The actions of all jobs are not kept until then.
            done: {
                [begun = beginning.begun, ready = beginning.ready, max = beginning.preparationMax]
                loop in
                loop.runWaiting()
                loop.expireOneOffs()
                loop.after(.timers) { _ in begun() }
                // Not after the timers: a job that is due meanwhile fires on time.
                loop.afterPreparation(atMost: max) { loop, isPrepared in
                    ready(isPrepared)
                    loop.sendStatus()
                }
            })
        perform(decision)
    }

    /// What is known of the runner.
    enum RunnerState {
        /// It has not said yet that it can start runs. The timer ends the wait for that; it is
        /// cancelled with the wait, so that it does not wake an idle daemon.
        case unknown(limit: JobTimer?)
        /// It is not waited for any more.
        case late
        /// It could start runs once.
        case prepared
    }

    /// Runs `body` once the runner can start runs, or after `span`: if the runner hangs, the units
    /// that wait for this daemon do not wait for the runner as well.
    private func afterPreparation(
        atMost span: Duration, _ body: @escaping @Sendable (isolated Loop, Bool) -> Void
    ) {
        guard !agenda.isShutDown else { return }
        if case .unknown = runner {
            let limit = JobTimer(source: makeTimer { $0.note(.late) })
            limit.arm(at: clocks.awake + span)
            runner = .unknown(limit: limit)
        }
        after(.runner) { loop in
            if case .prepared = loop.runner { body(loop, true) } else { body(loop, false) }
        }
    }

    /// Notes what is known of the runner now.
    private func note(_ state: RunnerState) {
        stopLimit()
        runner = state
        runWaiting()
    }

    private func stopLimit() {
        guard case .unknown(let limit?) = runner else { return }
        limit.cancel()
        runner = .unknown(limit: nil)
    }

    /// The records of this instance are stored: from here on its heartbeats need no addition.
    func noteStored() {
        heartbeats.noteStored()
        if serviceTimers.isSet(.heartbeat) { writeHeartbeat(at: clocks.now()) }
    }

    // MARK: - Heartbeats and checkpoints

    /// Heartbeats are written only while the time of some job counts, so that an idle daemon
    /// sleeps.
    func followCounting(at now: Now) {
        guard agenda.isCounting != serviceTimers.isSet(.heartbeat) else { return }
        serviceTimers.cancel(.heartbeat)
        guard agenda.isCounting else { return }
        heartbeats.restart()
        writeHeartbeat(at: now)
        serviceTimers.set(.heartbeat, every: Heartbeats.interval, for: self) { $0.beat() }
    }

    private func beat() {
        // Not ahead of the clocks, since it proves that the daemon runs.
        let now = clocks.now()
        writeHeartbeat(at: now)
        // In some containers the kernel does not report that the clock was set, so this is checked
        // here.
        if agenda.clocksJumped(at: now) { after(.clocks) { $0.receive(.clockChanged) } }
        if heartbeats.beat() { beginCheckpoint() }
    }

    private func writeHeartbeat(at now: Now) {
        parts.heartbeatWriter.write(heartbeats.heartbeat(of: agenda.instance, at: now))
    }

    /// Writes the time records of all jobs whose time counts, in portions.
    func beginCheckpoint() {
        after(.clocks) { loop in
            guard !loop.portions.contains(.checkpoint) else { return }
            loop.begin(CheckpointWork(), as: .checkpoint)
        }
    }

    // MARK: - The service manager

    /// The watchdog is notified from this queue, after its other work. If the queue hangs, the
    /// notification does not come, and the service manager restarts the daemon.
    private func watch() {
        guard let interval = supervision.watchdogInterval else { return }
        supervision.keepAlive()
        // Half of the interval with some tolerance is early enough, and the tolerance may save a
        // wake-up.
        serviceTimers.set(.watchdog, every: interval / 2, tolerance: interval / 10, for: self) {
            $0.supervision.keepAlive()
        }
    }

    func scheduleStatusUpdate() {
        guard supervision.isSupervised, !serviceTimers.isSet(.status) else { return }
        serviceTimers.set(
            .status, after: Self.statusDelay, tolerance: Self.statusDelay / 2, for: self
        ) { $0.sendStatus() }
    }

    /// Records that the state cannot be saved for now, or that it can be saved again.
    package func note(storeError error: StoreError?) {
        storeError = error
        scheduleStatusUpdate()
    }

    /// Records that a configuration was refused. Status and list report this until a later one is
    /// used.
    func note(configRefusal refusal: String) {
        config.refuse(because: refusal)
        scheduleStatusUpdate()
    }

    private func sendStatus() {
        serviceTimers.cancel(.status)
        guard supervision.isSupervised else { return }
        let now = steadyNow()
        supervision.status(
            StatusLine(
                jobs: agenda.jobCount,
                paused: agenda.machineHold == nil ? agenda.pausedCount : 0,
                running: agenda.liveRuns, rejected: config.rejected.count,
                next: agenda.next(at: now), hold: agenda.machineHold,
                isStopping: agenda.isShutDown, storeError: storeError?.description,
                refusal: config.refusal
            ).text)
    }

    // MARK: - Stop

    /// Cancels the timers and saves the time records. `closed` is called once these are on the
    /// disk, `onDelayed` if they cannot be written for now, and `drained` once no run is active.
    package func shutDown(
        closed: @escaping @Sendable (Now) -> Void,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil, drained: @escaping @Sendable () -> Void
    ) {
        forgetRunnerWait()
        after([.clocks, .decision]) { loop in
            // The wait may have begun since then.
            loop.forgetRunnerWait()
            let now = loop.reading()
            let actions = loop.decide(.shutdown, at: now)
            loop.perform(
                Decision(
                    actions, at: now, written: loop.real(now), onDelayed: onDelayed,
                    done: { loop in
                        closed(now)
                        loop.after(.activeRuns) { $0.noteDrained(drained) }
                    }))
        }
    }

    /// A daemon that stops is not ready any more.
    private func forgetRunnerWait() {
        stopLimit()
        gate.remove(waitingFor: .runner)
    }

    /// Calls `drained` once everything about the last run is on the disk.
    private func noteDrained(_ drained: @escaping @Sendable () -> Void) {
        // After this write, nothing of the last runs is left to write.
        let last = Write(changes: [], durable: true) { _ in drained() }
        submit(last, of: router.jobsInTransaction)
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
