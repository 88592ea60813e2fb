// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore
import TimerStore

/// The start of the loop.
extension Loop {
    /// How long a start waits for the runner once everything else is done.
    static let preparationMax: Duration = .seconds(10)

    /// The initial state of a loop, beside its agenda.
    struct Beginning: Sendable {
        /// The actions that the agenda returned when it was loaded.
        var actions: [Action]
        /// When it was loaded. Time counts from then on.
        var at: Now
        /// What heartbeats carry until the state is saved.
        var unstored: Heartbeat.Unstored
        /// The jobs that were not loaded because of an error.
        var rejected: [Rejection]
        /// The log levels of the jobs that do not log everything.
        var levels = EventLogger.Levels()
        /// How long to wait for the runner.
        var preparationMax = Loop.preparationMax
        /// Called once the state is saved and the timers are set.
        var begun: @Sendable () -> Void = {}
        /// Called once the state is saved, and the runner can start runs or has had `preparationMax`
        /// for it. Not called if the loop is shut down before.
        var ready: @Sendable (_ isRunnerPrepared: Bool) -> Void
        /// Called if the state cannot be saved for now. Runs wait until it is saved.
        var onDelayed: @Sendable (StoreError) -> Void
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

    func begin(_ beginning: Beginning) {
        unstored = (beginning.unstored, beginning.at.awake)
        eventLogger.follow(beginning.levels)
        timers.reserveCapacity(beginning.actions.count { $0.jobOfTimer != nil })
        watch()
        // The first request to the runner, which reads the configuration while the state is saved.
        launcher.prepare { self.later { $0.note(.prepared) } }
        let decision = Decision(
            beginning.actions, at: beginning.at, written: beginning.at.wall,
            opening: [.beginInstance(beginning.at)], onDelayed: beginning.onDelayed,
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

    /// What waits for the runner is not done any more.
    func stopWaitingForRunner() {
        stopLimit()
        gate.remove(waitingFor: .runner)
    }

    private func stopLimit() {
        guard case .unknown(let limit?) = runner else { return }
        limit.cancel()
        runner = .unknown(limit: nil)
    }

    /// The records of this instance are stored: from here on its heartbeats need no addition.
    func noteStored() {
        unstored = nil
        if heartbeatTimer != nil { writeHeartbeat(at: clocks.now()) }
    }
}
