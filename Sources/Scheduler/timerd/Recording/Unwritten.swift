// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerStore

/// What a daemon has not written because its store cannot be written.
struct Unwritten: Sendable {
    /// Why the store cannot be written, and since when.
    var error: StoreError
    var since: WallInstant
    /// How many starts of runs, ends of runs, and records of jobs wait to be written.
    var starts = 0
    var ends = 0
    var jobs = 0

    init(_ storeError: Recorder.StoreErrorSince, _ pending: RequestQueue) {
        (error, since) = (storeError.error, storeError.since)
        var names: Set<Job.Name> = []
        var renewed = 0
        for change in pending.changes {
            switch change {
            case .begin: starts += 1
            case .close: ends += 1
            case .save(let record), .stage(let record): names.insert(record.job)
            case .renew(let renewal): renewed = renewal.jobs
            case .beginInstance, .rename, .erase, .endInstance, .applyStaged, .mergeStaged,
                .skip, .pause, .notify, .incident, .createMessage, .messageResult, .retryMessage,
                .fleet, .setReleased:
                break
            }
        }
        jobs = max(names.count, renewed)
    }
}
