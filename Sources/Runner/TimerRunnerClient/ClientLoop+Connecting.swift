// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

/// Reconnects to a runner, and reconciles the runs that both sides know.
extension ClientLoop {
    mutating func reconnect() {
        let now = RunnerClock.awake()
        guard search.isDue(at: now) else { return }
        do throws(RunnerClient.Failure) {
            let descriptor = try dial().get()
            var fresh = FrameSocket(descriptor, frameBytesMax: Wire.replyBytesMax)
            let greeting = try Greeting.exchange(on: &fresh, until: now + 5_000_000_000)
            let isSame = greeting.instance == instance
            if isSame {
                events.resetAcknowledged()
                output.resetAcknowledged()
            } else {
                instance = greeting.instance
                events = Receipts()
                output = Receipts()
            }
            memory = greeting.memory
            mustAcknowledge = true
            socket = consume fresh
            search.end()
            if prepared != nil { send(.prepare) }
            reconcile(greeting.holdings)
            handler(.back(isSame: isSame)) {}
        } catch {
            search.fail()
        }
    }

    /// Reconciles the runs that the runner reports with the runs that are known here.
    private mutating func reconcile(_ holdings: [RunnerClient.Holding]) {
        let held = Set(holdings.map(\.run))
        unknownRuns = []
        for holding in holdings where runs[holding.run] == nil {
            if holding.run.isMessage { runs[holding.run] = Known() } else { handleUnknown(holding) }
        }
        var orders: [RunOrder] = []
        for (run, known) in runs where !known.isOver {
            if !held.contains(run) {
                switch known.order {
                case .run(let order) where known.sentTo == nil || known.sentTo == memory:
                    orders.append(order)
                case .message(let order): send(.send(order))
                case .run, nil: lose(run)
                }
            }
            if let grace = known.end { send(.end(run, grace: grace)) }
            if known.isSuspended { send(.suspend(run)) }
        }
        start(orders.sorted { $0.run.description < $1.run.description })
    }

    /// Reports a run as lost that may have started, and of which this runner cannot know: it has not
    /// the memory of the runner that was asked to start it.
    private mutating func lose(_ run: Run.ID) {
        runs[run]?.isOver = true
        handler(.event(.ended(run, RunEnd(.lost(.runner), at: RunnerClock.wall())))) {}
    }
}
