// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

extension Store.Change {
    /// What it is and what it is about, for a log entry.
    var summary: String {
        switch self {
        case .beginInstance: "the start of this daemon"
        case .endInstance: "the end of this daemon"
        case .begin(let run, _, _): "the start of run \(run.id)"
        case .setReleased(let runs, let isReleased):
            "that \(plural(runs.count, isReleased ? "run starts" : "run waits", isReleased ? "runs start" : "runs wait"))"
        case .close(let run, let outcome, _, _, _, _, _): "the end of run \(run), \(outcome)"
        case .save(let record), .stage(let record): "the time record of job \(record.job)"
        case .renew, .applyStaged, .mergeStaged: "the time records of many jobs"
        case .skip(let skip):
            "the skipped run of job \(skip.firing.id.job) at \(skip.firing.id.scheduled.rfc3339)"
        case .pause(let pause): "the past pause of job \(pause.job)"
        case .rename(let renaming): "that job \(renaming.from) is now \(renaming.to)"
        case .erase(let job): "that job \(job) is removed"
        case .notify(let one):
            "the notification \(one.kind.rawValue)\(one.job.map { " of job \($0)" } ?? "")"
                + " for notifier \(one.notifier)"
        case .incident(let change):
            "the incident \(change.id.kind.rawValue) of job \(change.id.job)"
        case .createMessage(let id, let notifier, _, _): "message \(id) of notifier \(notifier)"
        case .messageResult(let result): "the result of message \(result.id)"
        case .retryMessage(let id, _): "the retry of message \(id)"
        case .hold(.set): "that the machine is held"
        case .hold(.ended): "that the machine is not held any more"
        case .fleet: "what this machine knows of its fleet"
        }
    }
}
