// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// What a runner is asked to start: everything it needs to know of a run, and nothing else.
public struct RunRequest: Hashable, Sendable {
    /// Which run.
    public var id: Run.ID
    /// What it executes.
    public var command: Job.Command
    /// The declared part of its environment.
    public var environment: [String: String]
    /// Where it runs; nil: the home directory of its user.
    public var workingDirectory: String?
    /// How many firings are folded into it.
    public var missed: Int
    /// The job's active time in all.
    public var active: Duration

    /// What to start for a run.
    public init(_ run: Run) {
        id = run.id
        command = run.job.command
        environment = run.job.environment
        workingDirectory = run.job.workingDirectory
        missed = run.firing.missed
        active = run.firing.active
    }
}

/// What a runner tells. For each run it was asked to start there is one `ended`; before it, if there was a
/// process, one `began` and then its lines. Output of what a run left behind may follow its end. Of runs
/// that a shutdown finds still waiting for their start nothing is told: they have no mark.
public enum RunnerEvent: Hashable, Sendable {
    /// The process of a run started.
    case began(Run.ID, pid: Int32)
    /// A line of its output, without the newline; `isCut` if the line went on beyond the limit.
    case output(Run.ID, RunStream, line: [UInt8], isCut: Bool)
    /// A run ended; `tail` is the last of what it wrote.
    case ended(Run.ID, RunOutcome, RunUsage, tail: [UInt8])
}

/// Where a process wrote something.
public enum RunStream: Hashable, Sendable {
    /// Descriptor 1.
    case stdout
    /// Descriptor 2.
    case stderr
}
