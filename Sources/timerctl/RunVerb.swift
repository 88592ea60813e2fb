// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore

struct RunVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run jobs now; their schedules do not change.",
        discussion: """
            The run replaces a retry that waits for its delay, unless concurrency is allow.
            """)

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument

    func run() throws {
        try connection.order(.run, argument.selection, done: "run requested")
    }
}
