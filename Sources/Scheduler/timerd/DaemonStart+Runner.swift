// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostFiles
import Logging
import TimerCore
import TimerRunnerClient

/// The steps of a start that concern the runner.
extension DaemonStart {
    /// The runner of a start that may still fail.
    struct ReachedRunner {
        let client: RunnerClient
        /// Whether this start started it, so that a start that fails must stop it.
        let isOwn: Bool

        /// For a start that fails: stops the runner if this daemon has started it. One that has runs
        /// of an earlier instance keeps running, with them.
        func stopIfOwn() {
            guard isOwn, client.holdings.isEmpty else { return }
            client.begin(adopting: []) { _, seen in seen() }
            client.shutdown(grace: .zero)
        }
    }

    /// Connects to the runner, and starts one if this daemon has to.
    ///
    /// - Throws: `Signals.StopRequest` if a signal came meanwhile, or `RunnerClient.Failure`.
    func reachRunner(by connector: RunnerConnector) throws -> ReachedRunner {
        do {
            let client = try connector.connect(timeout: Daemon.runnerTimeout) {
                signals.isStopRequested
            }
            return ReachedRunner(client: client, isOwn: connector.hasStarted)
        } catch {
            try signals.check()
            throw error
        }
    }
}

extension RecoveredState {
    /// Adds which of the open runs the runner has: those that are running, and those of which it
    /// still has to report the end.
    mutating func note(_ holdings: [RunnerClient.Holding]) {
        let held = Dictionary(holdings.map { ($0.run, $0) }) { first, _ in first }
        for index in openRuns.indices {
            guard let holding = held[openRuns[index].id] else { continue }
            openRuns[index].isLive = true
            if let began = holding.began { openRuns[index].recorded = began }
        }
    }
}
