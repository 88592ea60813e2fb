// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore

struct RunVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a job now, apart from its schedule.",
        discussion: """
            The run takes the place of a further attempt that waits for its delay, unless concurrency is allow.
            """)

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument

    func run() throws {
        try connection.order(.run, argument.selection, done: "fired")
    }
}
