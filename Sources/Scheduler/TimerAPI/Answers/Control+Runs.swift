// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOHTTP1
import TimerControl
import TimerCore
import TimerDaemon
import TimerHTTP
import TimerStore

extension Control {
    /// Answers that the store could not be read.
    func send(_ error: StoreError, _ reply: ControlAnswer.Reply) {
        send(
            error.code == .busy ? .serviceUnavailable : .internalServerError,
            ErrorReply("\(error)", code: error.code == .busy ? .busy : .failed), reply)
    }

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
        case .done, .pauseChanged, .requested, .noSuchJob: noSuchJob(order.job, reply)
        }
    }
}

extension RunStatus {
    /// A stored run as the control API shows it.
    init(_ run: Store.PastRun) {
        self = RunStatus(run.summary, of: run.job).because(of: run.cause)
        missed = run.missed
        if run.hasOutput { output = String(decoding: run.tail, as: UTF8.self) }
    }
}
