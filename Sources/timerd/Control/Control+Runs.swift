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

    /// What is to be said when the store could not be read.
    func send(_ error: StoreError, _ reply: ControlAnswer.Reply) {
        send(
            error.code == .busy ? .serviceUnavailable : .internalServerError,
            ErrorReply("\(error)"), reply)
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
        case .done, .pauseChanged, .requested, .noSuchJob: noSuchJob(order.job, among: [], reply)
        }
    }
}

extension PastRun {
    /// A run of the store as it looks outside.
    init(_ run: Store.PastRun) {
        self.init(
            job: run.job.description, status: RunStatus(run.summary).because(of: run.cause),
            ended: run.ended.rfc3339,
            missed: run.missed,
            output: String(decoding: run.tail, as: UTF8.self))
    }
}
