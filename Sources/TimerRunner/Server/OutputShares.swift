// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Who has how much of the room that there is for the output of all jobs, and who gives way when it is full.
///
/// As long as there is room, everybody may take of it. When there is none, a job that has at most half of an equal
/// part loses nothing: the one that has most gives way to it. In the same way the runs of a job share what it has.
struct OutputShares {
    /// The most bytes of all jobs together.
    let bytesMax: Int
    /// What gives way does so by at most so many bytes at a time, so that it is seldom looked for.
    static let portionMax = 64 << 10

    private struct Part {
        var bytes = 0
        var runs = 0
    }

    /// The jobs of which something waits.
    private var parts: [Job.Name: Part] = [:]
    private(set) var bytes = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Whether there is room for more.
    enum Room: Hashable {
        case free
        /// Once this job has so many bytes less.
        case after(Job.Name, bytes: Int)
        case none
    }

    /// How much a job has.
    func bytes(of job: Job.Name) -> Int { parts[job]?.bytes ?? 0 }

    /// Whether there is room for so many more bytes of a run.
    ///
    /// - Parameter own: how many bytes the run has; nil if it has devNull.
    /// - Complexity: O(1), or O(*n*) in the jobs that have something if one is to give way.
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

    /// So many bytes of a job have come, or gone, and so many of its runs with them.
    mutating func change(_ job: Job.Name, bytes change: Int, runs: Int = 0) {
        bytes += change
        parts[job, default: Part()].bytes += change
        parts[job, default: Part()].runs += runs
        if parts[job]?.runs == 0 { parts[job] = nil }
    }
}
