// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOHTTP1
import TimerControl
import TimerCore
import TimerStore

/// Requests and commands about runs.
extension Control {
    func history(_ query: HistoryQuery, _ reply: @escaping ControlAnswer.Reply) {
        recorder.read { (store) throws(StoreError) in
            let found = try store.history(
                of: query.job, since: query.since, failed: query.failed, limit: query.limit)
            // A job that was removed from the configuration may have runs, though none that match.
            let hasRuns =
                if let job = query.job, found.isEmpty {
                    try !store.history(of: job, since: nil, failed: false, limit: 1).isEmpty
                } else { true }
            return (found, hasRuns)
        } _: { result in
            Self.queue.async {
                switch result {
                case .failure(let error): self.send(error, reply)
                case .success((let found, let hasRuns)):
                    self.answer(found, of: hasRuns ? nil : query.job, reply)
                }
            }
        }
    }

    /// - Parameter job: the requested job, if it has no runs.
    private func answer(
        _ found: [Store.PastRun], of job: Job.Name?, _ reply: @escaping ControlAnswer.Reply
    ) {
        let answer = HistoryReply(runs: found.map { RunStatus($0) })
        guard let job else { return send(.ok, answer, reply) }
        loop.later { loop in
            let (snapshot, names) = loop.snapshot(of: job)
            Self.queue.async {
                guard snapshot != nil else { return self.noSuchJob(job, among: names, reply) }
                self.send(.ok, answer, reply)
            }
        }
    }

    /// Answers that the store could not be read.
    func send(_ error: StoreError, _ reply: ControlAnswer.Reply) {
        send(
            error.code == .busy ? .serviceUnavailable : .internalServerError,
            ErrorReply("\(error)", code: error.code == .busy ? .busy : .failed), reply)
    }

    /// Answers with the result of a kill.
    func killed(_ order: Order, _ answer: Answer, _ reply: @escaping ControlAnswer.Reply) {
        switch answer {
        case .killed(let runs, let cancelled):
            send(
                .ok,
                KillReply(
                    changed: true, signalled: runs.map(\.description),
                    cancelled: cancelled.map(\.description)), reply)
        case .unchanged(let reason):
            send(.ok, KillReply(changed: false, reason: reason), reply)
        case .refused(let reason):
            send(.conflict, ErrorReply("job \"\(order.job)\": \(reason)", code: .conflict), reply)
        case .done, .pauseChanged, .requested, .noSuchJob: noSuchJob(order.job, among: [], reply)
        }
    }
}

extension RunStatus {
    /// A stored run as the control API shows it.
    init(_ run: Store.PastRun) {
        self = RunStatus(run.summary, of: run.job).because(of: run.cause)
        missed = run.missed
        output = String(decoding: run.tail, as: UTF8.self)
    }
}
