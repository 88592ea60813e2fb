// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore

struct StartVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Restart the timer of a stopped or finished job.")
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument

    func run() throws {
        try connection.command(.start, argument.selection, done: "started")
    }
}
