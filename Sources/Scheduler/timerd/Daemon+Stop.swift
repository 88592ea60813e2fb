// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import Logging
import Synchronization
import TimerAPI
import TimerCore
import TimerDaemon
import TimerLog
import TimerRecording
import TimerRunnerClient
import TimerStore

/// The steps of a stop. Each step has a time limit, so that each stop comes to an
/// end.
extension Daemon {
    /// Saves the state and stops. Running jobs are ended together with the daemon's own runner.
    /// They continue if the runner is a service of its own.
    func stop(_ server: Listening) {
        supervision.stopping()
        server.files.later { $0.end() }
        sender.stop()
        supervision.extendTimeout(Self.stopGrace + .seconds(20))
        let closed = StopStep()
        let drained = StopStep()
        loop.later { loop in
            loop.shutDown {
                _ in
                closed.end(nil)
            } onDelayed: { error in
                closed.end(error)
            } drained: {
                drained.end(nil)
            }
        }
        let isClosed = wait(for: closed, "save the state of the jobs")
        if options.runner == nil {
            runner.shutdown(grace: Self.stopGrace)
            // A store that cannot be written now will not recover in the next seconds.
            if isClosed { _ = wait(for: drained, "record the ends of the last runs") }
        }
        fleet?.stop()
        // Runs that no runner has heard of start with the next instance.
        let unsent = runner.close()
        if !unsent.isEmpty { recorder.write([.setReleased(unsent, false)], durable: true) }
        if isClosed { recordStop() } else { sayWhatIsLost() }
        endEvents()
        server.web?.stop()
        server.server.stop()
        eventLogger.flush(within: Self.logTime)
    }

    /// Sends what happened last to those who follow it. One that does not read is not waited for.
    private func endEvents() {
        let ended = DispatchSemaphore(value: 0)
        events.later { $0.close { ended.signal() } }
        _ = ended.wait(timeout: .now() + Self.eventsTime)
    }

    private func recordStop() {
        let (recorded, copied) = (StopStep(), StopStep())
        recorder.write([.endInstance(clocks.now())], durable: true) { _ in
            recorded.end(nil)
        } onDelayed: { error in
            recorded.end(error)
        }
        guard wait(for: recorded, "record the stop") else { return sayWhatIsLost() }
        copies.finish { copied.end(nil) }
        _ = copied.wait(until: .now() + Self.stepTime)
    }

    /// Waits for a step and returns whether it was done in time. A store that cannot be written is
    /// tried once more.
    private func wait(for step: StopStep, _ what: String) -> Bool {
        var outcome = step.wait(until: .now() + Self.stepTime)
        if case .failed = outcome { outcome = step.wait(until: .now() + Self.storeTimeout) }
        switch outcome {
        case .done: return true
        case .failed, .late:
            log.error("Cannot \(what) in time; the next start will find a daemon that was killed")
            return false
        }
    }

    private func sayWhatIsLost() {
        let said = StopStep()
        let log = log
        recorder.unwritten { unwritten in
            if let unwritten { log.critical("\(unwritten)") }
            said.end(nil)
        }
        _ = said.wait(until: .now() + Self.storeTimeout)
    }
}

/// One step that a stop waits for.
private final class StopStep: Sendable {
    enum Outcome {
        case done
        /// The step cannot be done for now.
        case failed
        case late
    }

    private let outcome = Mutex<Outcome>(.late)
    private let isOver = DispatchSemaphore(value: 0)

    /// Reports that the step was done, or that it cannot be done for now.
    func end(_ error: StoreError?) {
        outcome.withLock { outcome in
            if case .done = outcome { return }
            outcome = error == nil ? .done : .failed
        }
        isOver.signal()
    }

    /// Waits until the step is done or has failed.
    func wait(until deadline: DispatchTime) -> Outcome {
        _ = isOver.wait(timeout: deadline)
        return outcome.withLock { $0 }
    }
}
