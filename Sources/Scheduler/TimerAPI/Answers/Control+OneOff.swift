// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostThreads
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP

/// One-off jobs: their files are written by the client, and loaded or removed here.
extension Control {
    func oneOffs(_ base: String?, _ reply: @escaping ControlAnswer.Reply) {
        guard let base else {
            return send(.ok, OneOffsReply(config: about.configPath, name: nil), reply)
        }
        loop.later { loop in
            let name = loop.agenda.freeName(base)?.description
            DispatchQueue.answers.async {
                self.send(.ok, OneOffsReply(config: about.configPath, name: name), reply)
            }
        }
    }

    func takeOneOff(_ job: Job.Name, by peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        reloader.takeOneOff(job, by: peer.name) { answer in
            DispatchQueue.answers.async { self.answer(job, answer, reply) }
        }
    }

    func cancelOneOff(
        _ job: Job.Name, by peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        reloader.cancelOneOff(job, by: peer.name) { answer in
            DispatchQueue.answers.async { self.answer(job, answer, reply) }
        }
    }

    private func answer(
        _ job: Job.Name, _ answer: Loop.OneOffAnswer, _ reply: @escaping ControlAnswer.Reply
    ) {
        switch answer {
        case .done(let snapshot?):
            let status = JobStatus(snapshot)
            send(.ok, OrderReply(changed: true, reason: nil, status: status), reply)
        case .done(nil):
            send(
                .conflict, ErrorReply("job \"\(job)\": a reload has removed it", code: .conflict),
                reply)
        case .refused(let why):
            send(.conflict, ErrorReply("job \"\(job)\": \(why)", code: .conflict), reply)
        case .noSuchJob(let names): noSuchJob(job, among: names, reply)
        }
    }
}
