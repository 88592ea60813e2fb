// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct ListVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "All jobs in a table.", aliases: ["status"])

    @OptionGroup var connection: Connection

    @Flag(help: "Print the names alone, one a line, for scripts and shells.")
    var names = false

    func validate() throws {
        if names, connection.json { throw ValidationError("--names and --json exclude each other") }
    }

    func run() throws {
        let status = try connection.ask(.list, for: DaemonStatus.self)
        guard !names else { return status.jobs.forEach { print($0.job) } }
        try connection.show(status) { Text.table(status) }
    }
}
