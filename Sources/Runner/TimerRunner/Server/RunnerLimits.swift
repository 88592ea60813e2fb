// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The most that a scheduler can make a runner store. The runner may be root while the scheduler is
/// not, and an attacker who controls the scheduler must not be able to use up the machine's memory
/// through the runner. If a limit is exceeded, the connection is closed and a line is logged. Each
/// limit is above what a scheduler with the largest configuration asks for (`max-concurrent` is at
/// most 10 000). Frames have their own limits (`Wire`), and so has output (`OutputQueue`).
struct RunnerLimits: Hashable, Sendable {
    /// The most runs that wait for their start.
    var starts = 20_000
    /// The most bytes of what was looked up and read for these runs, such as environment files.
    var startBytes = 256 << 20
    /// The most bytes of variables and arguments of runs whose definitions are not known yet.
    var variableBytes = 16 << 20
    /// The most runs that are not forgotten, active or ended.
    var runs = 100_000
    /// The most bytes of the tails of runs that have ended and are not forgotten.
    var tailBytes = 256 << 20
    /// The most commands that the runner's thread has not executed, including those for runs that
    /// have not started.
    var commands = 50_000

    /// The most messages that wait until the configuration is read.
    var messages = 64

    /// How long the files of the configuration must not have changed before a run is refused
    /// because they do not have its job.
    var settleTime: Duration = .seconds(1)
    /// How often they are looked at until then.
    var settleStep: Duration = .milliseconds(100)
    /// How long such a run waits at most, while the files change again and again.
    var settleTimeMax: Duration = .seconds(30)

    /// At this many bytes for runs that wait to start, no further files are read until there are
    /// fewer.
    static let fileBytes = 64 << 20

    /// How many starts are prepared before the limits are checked again.
    static let startsPerLook = 32
}
