// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerRunnerProtocol

extension ClientLoop {
    mutating func execute(_ command: ClientMailbox.Command) {
        switch command {
        case .start(let requests):
            let room = runs.room
            for request in requests.dropFirst(room) { refuse(request) }
            runs.add(requests.prefix(room))
            start(Array(requests.prefix(room)))
        case .started(let requests): runs.add(requests[...], sentTo: received.memory)
        case .end(let run, let grace):
            if runs.end(run, grace: grace) { send(.end(run, grace: grace)) }
        case .suspend(let run):
            runs.setSuspended(run, true)
            send(.suspend(run))
        case .resume(let run):
            runs.setSuspended(run, false)
            send(.resume(run))
        case .signal(let run, let number): send(.signal(run, number))
        case .barrier(let done):
            guard socket != nil else { return done() }
            send(.barrier(replies.addBarrier(done)))
        case .prepare(let done):
            replies.awaitPreparation(done)
            send(.prepare)
        case .forget(let run):
            runs.forget(run)
            send(.forget([run]))
        case .shutDown(let grace, let down):
            course.endRunner()
            guard socket != nil else { return down() }
            replies.awaitShutdown(down)
            send(.shutDown(grace: grace))
        case .refresh: send(.refresh)
        case .forgetFormer: send(.forgetFormer)
        case .discard(let jobs):
            var rest = jobs[...]
            while !rest.isEmpty {
                send(.discard(Array(rest.prefix(Wire.runsPerFrame))))
                rest = rest.dropFirst(Wire.runsPerFrame)
            }
        case .send(let request):
            runs.add(request)
            send(.send(request))
        case .check(let request):
            checks.add(request)
            send(.check(request))
        case .close: course.close()
        }
    }

    /// Reports a run as failed because too many runs wait for the runner.
    private func refuse(_ request: StartRequest) {
        let outcome = RunOutcome.spawnFailed(
            errno: "EAGAIN",
            what: "wait for the runner, for which \(RunnerClient.waitingMax) runs wait already")
        handler(.event(.ended(request.run, RunEnd(outcome, at: RunnerClock.wall())))) {}
    }

    /// Sends the starts, or leaves them to the next connection.
    mutating func start(_ requests: [StartRequest]) {
        guard socket != nil else { return }
        runs.send(requests, to: received.memory)
        for part in Wire.frames(of: requests) { send(.start(Array(part))) }
    }
}
