// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP

/// Commands that hold the machine, and release it.
extension Control {
    func hold(_ body: CommandBody, by peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        let terms = MachineHold.Terms(
            by: .user(peer.name), note: body.note, until: JobCommand.PauseEnd(body),
            withRun: body.withRun ?? false)
        loop.later { loop in
            loop.hold(terms) { answer, hold in self.held(answer, hold, reply) }
        }
    }

    func release(by peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            loop.release(by: .user(peer.name)) { answer, hold in self.held(answer, hold, reply) }
        }
    }

    private func held(
        _ answer: Answer, _ hold: MachineHold?, _ reply: @escaping ControlAnswer.Reply
    ) {
        let status = hold.map { PauseStatus($0) }
        DispatchQueue.answers.async {
            switch answer {
            case .done: self.send(.ok, HoldReply(changed: true, hold: status), reply)
            case .unchanged(let reason):
                self.send(.ok, HoldReply(changed: false, hold: status, reason: reason), reply)
            case .refused(let reason):
                self.send(.conflict, ErrorReply(reason, code: .conflict), reply)
            // No answer to a command for the machine is about a job or a run.
            case .pauseChanged, .requested, .killed, .noSuchJob:
                preconditionFailure("\(answer) answers a command for the machine")
            }
        }
    }
}
