// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
package import TimerCore

/// How much of the history is kept, and what was deleted because of that. The recorder deletes it, the loop says which
/// limits the jobs have, and the control API shows both.
package final class HistoryLimits: Sendable {
    /// How long ended runs are kept: `history` of the configuration.
    let span: Duration
    /// How many bytes the database may use; the file system may set a lower limit.
    private let bytesMax: Int64
    /// The database may use one part in this many of its file system.
    static let fileSystemShare: UInt64 = 10

    private struct State {
        /// The jobs that keep another number of runs than the default.
        var runs: [Job.Name: Int] = [:]
        /// Before which instant runs were deleted since the start: of each job beyond its number, and of all jobs
        /// because of the size.
        var deletedOfJob: [Job.Name: WallInstant] = [:]
        var deletedOfAll: WallInstant?
    }

    private let state: Mutex<State>

    /// What was deleted before it was as old as `history` says.
    package struct Deletion: Hashable, Sendable {
        /// The key of the limit that was reached.
        package var limit: String
        /// Runs that ended before this may be missing.
        package var before: WallInstant
    }

    package init(span: Duration, bytesMax: Int64 = .max, runs: [Job.Name: Int] = [:]) {
        self.span = span
        self.bytesMax = bytesMax
        state = Mutex(State(runs: runs))
    }

    /// The jobs that keep another number of runs than the default.
    package static func runs(of jobs: some Sequence<Job>) -> [Job.Name: Int] {
        var runs: [Job.Name: Int] = [:]
        for job in jobs where job.policy.historyRuns != Policy.historyRunsDefault {
            runs[job.name] = job.policy.historyRuns
        }
        return runs
    }

    /// Takes the limits of the jobs with one of their own. Returns whether any limit changed.
    package func follow(_ runs: [Job.Name: Int]) -> Bool {
        state.withLock { state in
            defer { state.runs = runs }
            return state.runs != runs
        }
    }

    func runs(of job: Job.Name) -> Int {
        state.withLock { $0.runs[job] } ?? Policy.historyRunsDefault
    }

    /// How many bytes the database at this path may use now.
    func bytesMax(at path: String) -> Int64 {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { return bytesMax }
        let all = UInt64(room.f_blocks) * UInt64(room.f_frsize)
        return min(bytesMax, Int64(clamping: all / Self.fileSystemShare))
    }

    // MARK: - What was deleted

    /// - Returns: whether it is the first of this job.
    func noteDeletion(of job: Job.Name, before instant: WallInstant) -> Bool {
        state.withLock { state in
            state.deletedOfJob.updateValue(instant, forKey: job) == nil
        }
    }

    /// The same for all jobs, when the database is too large.
    func noteDeletion(before instant: WallInstant) -> Bool {
        state.withLock { state in
            defer { state.deletedOfAll = max(state.deletedOfAll ?? instant, instant) }
            return state.deletedOfAll == nil
        }
    }

    /// The limit because of which most of a job's history is missing; nil if nothing was deleted since the start.
    package func deletion(of job: Job.Name) -> Deletion? {
        state.withLock { state in
            let ofJob = state.deletedOfJob[job].map { Deletion(limit: "history-runs", before: $0) }
            let ofAll = state.deletedOfAll.map { Deletion(limit: "history-max", before: $0) }
            guard let ofJob, let ofAll else { return ofJob ?? ofAll }
            return ofJob.before < ofAll.before ? ofAll : ofJob
        }
    }
}
