// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The commands that arrived for runs whose program does not run yet. They are executed in their
/// order once it does, and dropped if it never will.
struct PendingCommands {
    private var commands: [Run.ID: [RunnerMailbox.Command]] = [:]

    mutating func add(_ command: RunnerMailbox.Command, for run: Run.ID) {
        commands[run, default: []].append(command)
    }

    /// Removes the commands for a run.
    mutating func take(for run: Run.ID) -> [RunnerMailbox.Command] {
        commands.isEmpty ? [] : commands.removeValue(forKey: run) ?? []
    }

    mutating func removeAll() { commands = [:] }
}
