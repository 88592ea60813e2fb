// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore

struct StopVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop a job's timer and drop its elapsed time.")
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument

    func run() throws {
        try connection.command(.stop, argument.selection, done: "stopped")
    }
}
