// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The daemon's program.
@main
struct Timerd: ParsableCommand {
    static let versionNumber = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "timerd",
        abstract: "A scheduler that can pause a job and lose nothing.",
        version: versionNumber,
        subcommands: [RunCommand.self, CheckCommand.self, SimulateCommand.self])
}
