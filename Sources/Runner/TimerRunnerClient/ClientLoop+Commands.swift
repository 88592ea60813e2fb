// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

extension ClientLoop {
    mutating func execute(_ command: ClientMailbox.Command) {
        switch command {
        case .start(let orders):
            let room = room
            for order in orders.dropFirst(room) { refuse(order) }
            for order in orders.prefix(room) { runs[order.run] = Known(order: .run(order)) }
            start(Array(orders.prefix(room)))
        case .started(let orders):
            for order in orders { runs[order.run] = Known(order: .run(order), sentTo: memory) }
        case .end(let run, let grace):
            guard let known = runs[run], !known.isOver else { return }
            runs[run]?.end = min(known.end ?? grace, grace)
            send(.end(run, grace: grace))
        case .suspend(let run):
            runs[run]?.isSuspended = true
            send(.suspend(run))
        case .resume(let run):
            runs[run]?.isSuspended = false
            send(.resume(run))
        case .signal(let run, let number): send(.signal(run, number))
        case .barrier(let done):
            guard socket != nil else { return done() }
            token += 1
            barriers.append((token, done))
            send(.barrier(token))
        case .prepare(let done):
            prepared = done
            send(.prepare)
        case .forget(let run):
            runs[run] = nil
            send(.forget([run]))
        case .shutDown(let grace, let down):
            isEnding = true
            guard socket != nil else { return down() }
            self.down = down
            send(.shutDown(grace: grace))
        case .refresh: send(.refresh)
        case .forgetFormer: send(.forgetFormer)
        case .discard(let jobs):
            var rest = jobs[...]
            while !rest.isEmpty {
                send(.discard(Array(rest.prefix(Wire.runsPerFrame))))
                rest = rest.dropFirst(Wire.runsPerFrame)
            }
        case .send(let order):
            // A run of an earlier scheduler may have ended just now.
            if runs[order.run] == nil { runs[order.run] = Known(order: .message(order)) }
            send(.send(order))
        case .close: isClosing = true
        }
    }

    /// How many more runs can be requested before the limit.
    var room: Int { max(0, RunnerClient.waitingMax - runs.count) }

    /// Reports a run as failed because too many runs wait for the runner.
    private func refuse(_ order: RunOrder) {
        let outcome = RunOutcome.spawnFailed(
            errno: "EAGAIN",
            what: "wait for the runner, for which \(RunnerClient.waitingMax) runs wait already")
        handler(.event(.ended(order.run, RunEnd(outcome, at: RunnerClock.wall())))) {}
    }

    /// Sends the starts, or leaves them to the next connection.
    mutating func start(_ orders: [RunOrder]) {
        guard socket != nil else { return }
        for order in orders { runs[order.run]?.sentTo = memory }
        for part in Wire.frames(of: orders) { send(.start(Array(part))) }
    }
}
