// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import TimerCore
import TimerStore

/// What a daemon has not written because its store cannot be written.
package struct Unwritten: Sendable {
    /// Why the store cannot be written, and since when.
    var error: StoreError
    package var since: WallInstant
    /// How many starts of runs, ends of runs, and records of jobs wait to be written.
    package var starts = 0
    package var ends = 0
    package var jobs = 0

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
                .fleet, .hold, .setReleased:
                break
            }
        }
        jobs = max(names.count, renewed)
    }
}

extension Unwritten: CustomStringConvertible {
    package var description: String {
        func count(_ number: Int, _ one: String, _ many: String) -> String {
            "\(number) \(number == 1 ? one : many)"
        }
        return """
            The state could not be saved since \(since.rfc3339) (\(error)). Lost are the changes since then of \
            \(count(jobs, "job", "jobs")), the ends of \(count(ends, "run", "runs")), and \
            \(count(starts, "run", "runs")) that did not start; the next start goes on from what was saved before
            """
    }
}
