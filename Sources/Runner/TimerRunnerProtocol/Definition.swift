// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The part of a job that defines what its runs execute and how, without its schedule.
public struct Definition: Hashable, Sendable {
    /// What a run executes, with or without a shell.
    public var command: Job.Command
    /// The declared part of its environment.
    public var environment: [String: String] = [:]
    /// The working directory; nil: the home directory of its user.
    public var workingDirectory: String?
    /// The user, the limits and the time limit of its runs. Most jobs have the same values, which
    /// are stored once.
    @Boxed public var execution: Execution

    /// A definition with the defaults for everything but its command.
    public init(_ command: Job.Command) {
        self.command = command
        _execution = Boxed(wrappedValue: Execution())
    }

    /// The parts of a job that its runs need.
    public init(_ job: Job) {
        command = job.command
        environment = job.environment
        workingDirectory = job.workingDirectory
        _execution = job.boxedExecution
    }

    /// Distinguishes versions of a definition; the value is the same in every process. It prevents
    /// that a run uses another version than the one that fired. It is not a cryptographic seal: a
    /// run always executes what the runner has read itself.
    ///
    /// It is a hash of everything that affects a runner.
    public var fingerprint: UInt64 {
        var writer = WireWriter()
        writer.put(self)
        return FNV1a.hash(writer.bytes)
    }
}
