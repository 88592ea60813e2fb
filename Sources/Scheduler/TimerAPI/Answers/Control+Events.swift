// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerLog

/// The request that is answered with a stream of events.
extension Control {
    func follow(
        _ query: EventQuery, from peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        guard let job = query.job else { return admit(query, from: peer, reply) }
        loop.later { loop in
            let (snapshot, names) = loop.snapshot(of: job)
            DispatchQueue.answers.async {
                guard snapshot != nil else { return self.noSuchJob(job, among: names, reply) }
                self.admit(query, from: peer, reply)
            }
        }
    }

    private func admit(
        _ query: EventQuery, from peer: Peer, _ reply: @escaping ControlAnswer.Reply
    ) {
        let (events, isGuest) = (events, !mayHaveRight(peer))
        events.later { publisher in
            let (id, refusal) = publisher.admit(query, guest: isGuest ? peer.uid : nil)
            guard let id else {
                return reply(.error(.serviceUnavailable, refusal ?? ""))
            }
            reply(
                ControlAnswer(
                    stream: AnswerStream(
                        begin: { send in events.later { $0.begin(id, send) } },
                        taken: { events.later { $0.noteTaken(id) } },
                        end: { events.later { $0.leave(id) } })))
        }
    }
}
