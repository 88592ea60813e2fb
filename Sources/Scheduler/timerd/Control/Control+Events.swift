// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOHTTP1
import TimerControl
import TimerCore

/// The request that is answered with a stream of events.
extension Control {
    func follow(_ query: EventQuery, from peer: Peer, _ reply: @escaping ControlAnswer.Reply) {
        guard let job = query.job else { return admit(query, from: peer, reply) }
        loop.later { loop in
            let (snapshot, names) = loop.snapshot(of: job)
            Self.queue.async {
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

/// An answer whose body comes part by part, each when the client has taken the one before.
struct AnswerStream: Sendable {
    /// Has the parts sent. Called at most once.
    var begin: @Sendable (_ send: @escaping EventPublisher.Send) -> Void
    /// The client has taken a part, so that the next one can be sent.
    var taken: @Sendable () -> Void
    /// No more parts are wanted. Called once, also of an answer that was never begun.
    var end: @Sendable () -> Void
}
