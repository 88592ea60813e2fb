// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct ShowVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Everything about one job.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func run() throws {
        let status = try connection.ask(.show(argument.job), for: JobStatus.self)
        try connection.show(status) { Text.details(status) }
    }
}
