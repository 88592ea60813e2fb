// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOHTTP1
import TimerControl
import TimerCore
import TimerStore

/// What is asked about runs, and done to them.
extension Control {
    /// How many runs are looked through for those that failed.
    private static let lookedAtMax = 10_000

    func history(_ query: HistoryQuery, _ reply: @escaping ControlAnswer.Reply) {
        loop.later { loop in
            let codes = query.failed ? loop.successCodes() : [:]
            recorder.read { (store) throws(StoreError) in
                try store.history(
                    of: query.job, since: query.since, mayHaveFailed: query.failed,
                    limit: query.failed ? Self.lookedAtMax : query.limit)
            } _: { result in
                Self.queue.async {
                    switch result {
                    case .failure(let error):
                        self.send(.internalServerError, ErrorReply("\(error)"), reply)
                    case .success(let found):
                        let asked = found.lazy.filter { run in
                            guard query.failed else { return true }
                            let codes = codes[run.summary.id.firing.job] ?? [0]
                            return run.summary.outcome?.isSuccess(codes) == false
                        }
                        let runs = asked.prefix(query.limit).map { PastRun($0) }
                        self.send(.ok, HistoryReply(runs: Array(runs)), reply)
                    }
                }
            }
        }
    }

    /// Without a number to go on from: what there is of the run, or of the job's latest. With one: the lines
    /// that came since.
    func log(of job: Job.Name, run: Run.ID?, after: UInt64?, _ reply: @escaping ControlAnswer.Reply)
    {
        loop.later { loop in
            let (snapshot, names) = loop.snapshot(of: job)
            let live = snapshot?.live.filter { $0.wait == nil }.map(\.id) ?? []
            let (lines, last) = recent.lines(of: job, after: after ?? 0)
            guard after == nil else {
                return answer(nil, lines.filter { run == nil || $0.run == run }, last, reply)
            }
            if let wanted = run ?? live.last, live.contains(wanted) {
                return answer(nil, lines.filter { $0.run == wanted }, last, reply)
            }
            recorder.read { (store) throws(StoreError) in
                guard let run else {
                    return try store.history(of: job, since: nil, mayHaveFailed: false, limit: 1)
                        .first
                }
                return try store.pastRun(run)
            } _: { result in
                switch result {
                case .failure(let error):
                    self.send(.internalServerError, ErrorReply("\(error)"), reply)
                case .success(nil) where snapshot == nil: self.noSuchJob(job, among: names, reply)
                case .success(nil) where run != nil:
                    self.send(
                        .notFound, ErrorReply("nothing is known of run \(run?.description ?? "")"),
                        reply)
                case .success(let past): self.answer(past, [], last, reply)
                }
            }
        }
    }

    private func answer(
        _ past: Store.PastRun?, _ lines: [RecentOutput.Line], _ last: UInt64,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        Self.queue.async {
            let shown = lines.map {
                LogReply.Line(
                    run: $0.run.description, isError: $0.toStderr,
                    text: String(decoding: $0.text, as: UTF8.self))
            }
            send(.ok, LogReply(past: past.map { PastRun($0) }, lines: shown, last: last), reply)
        }
    }

    func kill(
        _ job: Job.Name, run: Run.ID?, _ body: KillBody, by peer: Peer,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        loop.later { loop in
            let signal = body.signal.flatMap { KillBody.number(of: $0) }
            guard let runs = loop.kill(job, run: run, signal: signal) else {
                let names = loop.snapshot(of: job).names
                return self.noSuchJob(job, among: names, reply)
            }
            guard !runs.isEmpty else {
                let which = run.map { "run \($0) does not live" } ?? "no run of it lives"
                return self.send(.conflict, ErrorReply("job \"\(job)\": \(which)"), reply)
            }
            let what = body.signal.map { "sent \($0) to" } ?? "ordered the end of"
            loop.say(
                "\(job): \(peer.name) \(what) \(runs.map(\.description).joined(separator: ", "))")
            self.send(.ok, KillReply(runs: runs.map(\.description)), reply)
        }
    }
}

extension PastRun {
    /// A run of the store as it looks outside.
    init(_ run: Store.PastRun) {
        self.init(
            status: RunStatus(run.summary), ended: run.ended.rfc3339, missed: run.missed,
            output: String(decoding: run.tail, as: UTF8.self))
    }
}
