// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// The part of a job that says what its runs execute, and how: all of it, and nothing of when.
public struct Definition: Hashable, Sendable {
    /// What a run executes.
    public var command: Job.Command
    /// The declared part of its environment.
    public var environment: [String: String] = [:]
    /// Where it runs; nil: the home directory of its user.
    public var workingDirectory: String?
    /// As whom, within what limits, and for how long. Most jobs have the same, which is there once.
    @Boxed public var execution: Execution

    /// A definition with everything but its command left at the defaults.
    public init(_ command: Job.Command) {
        self.command = command
        _execution = Boxed(wrappedValue: Execution())
    }

    /// What a job's configuration says of its runs.
    public init(_ job: Job) {
        command = job.command
        environment = job.environment
        workingDirectory = job.workingDirectory
        _execution = job.boxedExecution
    }

    /// Tells one version of a definition from another, alike in every process. It keeps a run from being
    /// made by another version than the one that fired; it is no seal: what is executed is always what the
    /// runner read itself.
    ///
    /// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/), over everything a runner acts on.
    public var fingerprint: UInt64 {
        var writer = WireWriter()
        writer.put(self)
        return writer.bytes.reduce(0xcbf2_9ce4_8422_2325) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }
}
