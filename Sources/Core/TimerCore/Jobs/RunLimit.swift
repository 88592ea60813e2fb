// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// After how many runs a job is finished (`max-runs`, `max-successes`). A limit that is nil is none.
public struct RunLimit: Hashable, Sendable {
    /// How many runs its schedule, or other jobs (`follows`), make. Above zero.
    public var runs: Int?
    /// How many of its runs succeed, with those that users requested. Above zero.
    public var successes: Int?

    public init(runs: Int? = nil, successes: Int? = nil) {
        self.runs = runs
        self.successes = successes
    }

    /// Whether this many are enough.
    func isReached(by tally: RunTally) -> Bool {
        tally.runs >= runs ?? .max || tally.successes >= successes ?? .max
    }
}

/// How many runs a job with a `RunLimit` had since its timer was last started by a user.
public struct RunTally: Hashable, Sendable {
    /// Those that its schedule, or other jobs, made. A retry belongs to the run before it.
    public var runs: Int
    /// Those that succeeded.
    public var successes: Int

    public init(runs: Int = 0, successes: Int = 0) {
        self.runs = runs
        self.successes = successes
    }
}
