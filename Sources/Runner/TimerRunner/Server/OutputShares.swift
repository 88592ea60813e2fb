// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Divides the memory for the output of all jobs, and decides whose output is dropped when it is
/// full.
///
/// As long as there is room, every job may use it. When there is none, a job that has at most half
/// of an equal share loses nothing: the job with the largest share loses output instead. In the
/// same way the runs of a job share its part.
struct OutputShares {
    /// The most bytes of queued output for all jobs together.
    let bytesMax: Int
    /// At most this many bytes are dropped at a time. It is large enough that drops are rare.
    static let portionMax = 64 << 10

    private struct Part {
        var bytes = 0
        var runs = 0
    }

    /// The shares of the jobs that have output in the queues.
    private var parts: [Job.Name: Part] = [:]
    private(set) var bytes = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether there is room for more output, and what must be dropped for it.
    enum Room: Hashable {
        case free
        /// There will be room once this many bytes of this job are dropped.
        case after(Job.Name, bytes: Int)
        case none
    }

    /// How many bytes of a job are queued.
    func bytes(of job: Job.Name) -> Int { parts[job]?.bytes ?? 0 }

    /// Whether there is room for this many more bytes of a run.
    ///
    /// - Parameter own: the number of bytes of the run; nil if it has none.
    /// - Complexity: O(1), or O(*n*) in the number of jobs with output if output must be dropped.
    func room(for cost: Int, of job: Job.Name, own: Int?) -> Room {
        guard bytes + cost > bytesMax else { return .free }
        let part = parts[job] ?? Part()
        let equal = bytesMax / (parts.count + (parts[job] == nil ? 1 : 0))
        if part.bytes + cost <= equal / 2,
            let most = parts.max(by: { $0.value.bytes < $1.value.bytes })
        {
            return .after(most.key, bytes: Self.portion(of: most.value.bytes, atLeast: cost))
        }
        let runs = part.runs + (own == nil ? 1 : 0)
        guard runs > 1, (own ?? 0) + cost <= part.bytes / runs / 2 else { return .none }
        return .after(job, bytes: Self.portion(of: part.bytes, atLeast: cost))
    }

    private static func portion(of bytes: Int, atLeast cost: Int) -> Int {
        max(cost, min(portionMax, bytes / 8))
    }

    /// Changes the number of bytes of a job, and of its runs with output, by these amounts.
    mutating func change(_ job: Job.Name, bytes change: Int, runs: Int = 0) {
        bytes += change
        parts[job, default: Part()].bytes += change
        parts[job, default: Part()].runs += runs
        if parts[job]?.runs == 0 { parts[job] = nil }
    }
}
