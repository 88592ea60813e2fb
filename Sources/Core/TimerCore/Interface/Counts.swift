// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How a run ended, in the words by which runs are counted.
public enum RunResult: Int, CaseIterable, Sendable {
    case success, failed, timedOut, lost, stopped, replaced, skipped

    /// The word for it in metrics, where it is the label `result`.
    public var word: String {
        switch self {
        case .success: "success"
        case .failed: "failed"
        case .timedOut: "timed-out"
        case .lost: "lost"
        case .stopped: "stopped"
        case .replaced: "replaced"
        case .skipped: "skipped"
        }
    }

    /// The result with this word; nil if there is none.
    public init?(word: String) {
        guard let result = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = result
    }
}

extension RunSummary {
    /// As which result the run is counted, with the decision whether it failed.
    public var result: RunResult { outcome.result(failed: failed) }
}

/// How many runs ended with each result, and how many retries were made. Each number wraps around
/// after 2^32, which a reader of counters takes for a restart.
public struct RunCounts: Hashable, Sendable {
    private static let retriesIndex = 7
    private var numbers = SIMD8<UInt32>.zero

    public init() {}

    public subscript(result: RunResult) -> UInt32 { numbers[result.rawValue] }

    /// How many retries were decided. They are in the same vector as the results to save memory.
    public var retries: UInt32 { numbers[Self.retriesIndex] }

    public mutating func add(_ result: RunResult) { numbers[result.rawValue] &+= 1 }

    public mutating func addRetry() { numbers[Self.retriesIndex] &+= 1 }
}

/// The latest firing of a job that was skipped, with the occurrences that it stands for.
public struct LastSkip: Hashable, Sendable {
    /// When it was due; if several occurrences were skipped, the first of them.
    public var scheduled: WallInstant
    /// How many occurrences were skipped, at least 1.
    public var count: Int
    /// Why it was skipped; the details are only in the log.
    public var reason: SkipKind
    /// When the last of them was skipped, by the wall clock.
    public var at: WallInstant

    public init(scheduled: WallInstant, count: Int, reason: SkipKind, at: WallInstant) {
        self.scheduled = scheduled
        self.count = count
        self.reason = reason
        self.at = at
    }
}

/// How many firings were skipped, by reason (`SkipKind.counted`). A firing stands for those that were
/// missed before it.
public struct SkipCounts: Hashable, Sendable {
    private var numbers = SIMD16<UInt32>.zero

    public init() {}

    /// How many firings were skipped for this reason; 0 for one that only a fleet has.
    public subscript(kind: SkipKind) -> UInt32 {
        kind.rawValue < SIMD16<UInt32>.scalarCount ? numbers[kind.rawValue] : 0
    }

    /// Counts one firing, however many missed ones it stands for.
    mutating func add(_ reason: Notice.SkipReason) { numbers[reason.kind.rawValue] &+= 1 }
}

/// How often values were in each of some ranges, and their sum.
public struct Histogram: Hashable, Sendable {
    /// The upper bounds of the ranges, ascending; each range includes its bound.
    public let bounds: [Duration]
    /// How many values were in each range, and above the last bound.
    public private(set) var counts: [UInt64]
    /// The sum of all values, also of those above the last bound.
    public private(set) var sum = Duration.zero

    /// Counts in these ranges. The bounds ascend.
    public init(bounds: [Duration]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// How many values there are, in all ranges.
    public var count: UInt64 { counts.reduce(0, +) }

    /// Adds a value.
    /// - Complexity: O(*n*) in the number of bounds below the value.
    public mutating func add(_ value: Duration) {
        var place = 0
        while place < bounds.count, bounds[place] < value { place += 1 }
        counts[place] &+= 1
        sum += value
    }

    /// For how late firings are: from a wake-up on time to a machine that is far too busy.
    public static let latenessBounds: [Duration] =
        [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 500_000].map {
            .microseconds($0)
        } + [.seconds(1), .seconds(10), .seconds(60)]

    /// For how long runs take: from a moment to a day.
    public static let runBounds: [Duration] =
        [.milliseconds(100), .milliseconds(500)]
        + [1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400].map { .seconds($0) }
}

/// What is counted of all jobs together, also of those that are not in the configuration any more,
/// since the daemon started.
public struct AgendaCounts: Hashable, Sendable {
    /// Runs by result, and retries.
    public internal(set) var runs = RunCounts()
    /// Firings by the reason for which they were skipped.
    public internal(set) var skips = SkipCounts()
    /// How late the firings of the schedule were when they were decided, those that were caught up
    /// not among them.
    public internal(set) var lateness = Histogram(bounds: Histogram.latenessBounds)
    /// How often the wall clock was set by less than a correction, and how often it was corrected.
    public internal(set) var clockSteps: UInt64 = 0
    public internal(set) var clockCorrections: UInt64 = 0
    /// The maximum elapsed time that a single job may have lost before this daemon started.
    public internal(set) var lost = Duration.zero

    public init() {}

    mutating func addStep(isCorrection: Bool) {
        if isCorrection { clockCorrections &+= 1 } else { clockSteps &+= 1 }
    }
}
