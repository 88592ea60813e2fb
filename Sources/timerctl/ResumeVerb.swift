// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore

struct ResumeVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume paused jobs, as each job's on-resume says.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument

    func run() throws {
        try connection.order(.resume, argument.selection, done: "resumed")
    }
}
