// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The most that a scheduler can make a runner hold. The runner may be root's and the scheduler is not: one that was
/// taken over must not be able to use up the machine's memory through it. Over a limit the connection is closed, with
/// a line in the log. Each limit is beyond what a scheduler of the largest configuration asks for
/// (`max-concurrent` is at most 10 000).
enum RunnerLimits {
    /// The most runs that wait for their start.
    static let startsMax = 20_000
    /// The most bytes of what was looked up and read for them, such as environment files.
    static let startBytesMax = 256 << 20
    /// How many starts are prepared before the limits are looked at again.
    static let startsPerLook = 32
    /// The most runs that are not forgotten, over or not.
    static let runsMax = 100_000
    /// The most bytes of the last lines of runs that are over and not forgotten.
    static let tailBytesMax = 256 << 20
    /// The most commands that the runner's thread has not carried out, those for runs that wait for their start
    /// among them.
    static let commandsMax = 50_000
    /// The most bytes of memory for data that the runner's own process may have (setrlimit(2), RLIMIT_DATA).
    static let dataBytesMax: UInt64 = 2 << 30
}
