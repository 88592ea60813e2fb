// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The most that a scheduler can make a runner hold. The runner may be root's and the scheduler is not: one that was
/// taken over must not be able to use up the machine's memory through it. Over a limit the connection is closed, with
/// a line in the log. Each limit is beyond what a scheduler of the largest configuration asks for
/// (`max-concurrent` is at most 10 000); frames have limits of their own (`Wire`), and so has output (`OutputLane`).
struct RunnerLimits: Hashable, Sendable {
    /// The most runs that wait for their start.
    var starts = 20_000
    /// The most bytes of what was looked up and read for them, such as environment files.
    var startBytes = 256 << 20
    /// The most runs that are not forgotten, over or not.
    var runs = 100_000
    /// The most bytes of the last lines of runs that are over and not forgotten.
    var tailBytes = 256 << 20
    /// The most commands that the runner's thread has not carried out, those for runs that wait for their start
    /// among them.
    var commands = 50_000

    /// With so many bytes for runs that wait to start, no further environment file is read until fewer do.
    static let fileBytes = 64 << 20

    /// How many starts are prepared before the limits are looked at again.
    static let startsPerLook = 32
}
