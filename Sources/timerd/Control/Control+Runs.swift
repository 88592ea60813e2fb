// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOHTTP1
import TimerControl
import TimerCore
import TimerStore

/// What is asked about runs, and done to them.
extension Control {
    func history(_ query: HistoryQuery, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            try store.history(
                of: query.job, since: query.since, failed: query.failed, limit: query.limit)
        } _: { result in
            Self.queue.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success(let found):
                    self.send(.ok, HistoryReply(runs: found.map { PastRun($0) }), reply)
                }
            }
        }
    }

    /// Without a number to go on from: what there is of the run, or of the job's latest. With one: the lines
    /// that came since.
    func log(
        of named: Job.Name, run: Run.ID?, after: UInt64?, _ reply: @escaping ControlAnswer.Reply
    ) {
        loop.later { loop in
            let job = run.map { loop.owner(of: $0) } ?? named
            let (snapshot, names) = loop.snapshot(of: job)
            let live = snapshot?.live.filter { $0.wait == nil }.map(\.id) ?? []
            // A run that ended is not known to belong to a job of another name any more.
            let ended = snapshot?.lastRun?.id
            let wanted = after == nil ? run ?? live.last : run
            let excerpt = recent.lines(after: after ?? 0) {
                ($0 == ended || loop.owner(of: $0) == job) && (wanted == nil || $0 == wanted)
            }
            if after != nil || wanted.map({ live.contains($0) }) == true {
                return answer(nil, excerpt, reply)
            }
            let nothing = RecentOutput.Excerpt(last: excerpt.last)
            recorder.read { (store) throws(StoreError) in
                guard let run else {
                    return try store.history(of: job, since: nil, failed: false, limit: 1)
                        .first
                }
                return try store.pastRun(run)
            } _: { result in
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success(nil) where snapshot == nil: self.noSuchJob(job, among: names, reply)
                case .success(nil) where run != nil:
                    self.send(
                        .notFound, ErrorReply("nothing is known of run \(run?.description ?? "")"),
                        reply)
                case .success(let past): self.answer(past, nothing, reply)
                }
            }
        }
    }

    /// What is to be said when the store could not be read.
    private func send(_ error: StoreError, _ reply: ControlAnswer.Reply) {
        send(
            error.code == .busy ? .serviceUnavailable : .internalServerError,
            ErrorReply("\(error)"), reply)
    }

    private func answer(
        _ past: Store.PastRun?, _ excerpt: RecentOutput.Excerpt,
        _ reply: @escaping ControlAnswer.Reply
    ) {
        Self.queue.async {
            let shown = excerpt.lines.map {
                LogReply.Line(
                    run: $0.run.description, number: $0.ordinal, isError: $0.toStderr,
                    text: String(decoding: $0.text, as: UTF8.self))
            }
            let written = excerpt.written.map {
                LogReply.Written(run: $0.key.description, lines: $0.value)
            }
            send(
                .ok,
                LogReply(
                    past: past.map { PastRun($0) }, lines: shown,
                    written: written.sorted { $0.run < $1.run }, last: excerpt.last),
                reply)
        }
    }

    /// What came of a kill.
    func killed(_ order: Order, _ answer: Answer, _ reply: @escaping ControlAnswer.Reply) {
        switch answer {
        case .killed(let runs, let cancelled):
            send(
                .ok,
                KillReply(
                    changed: true, runs: runs.map(\.description),
                    cancelled: cancelled.map(\.description)), reply)
        case .unchanged(let reason):
            send(.ok, KillReply(changed: false, reason: reason), reply)
        case .refused(let reason):
            send(.conflict, ErrorReply("job \"\(order.job)\": \(reason)"), reply)
        case .done, .pauseChanged, .noSuchJob: noSuchJob(order.job, among: [], reply)
        }
    }
}

extension PastRun {
    /// A run of the store as it looks outside.
    init(_ run: Store.PastRun) {
        self.init(
            job: run.job.description, status: RunStatus(run.summary), ended: run.ended.rfc3339,
            missed: run.missed,
            output: String(decoding: run.tail, as: UTF8.self))
    }
}
