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
        if names {
            let found = try connection.ask(.list, for: JobNames.self)
            return print(found.jobs.map { $0.job + "\n" }.joined(), terminator: "")
        }
        // The daemon's own line: it may say more of its jobs than is known here.
        guard !connection.json else { return print(try connection.line(.list)) }
        print(Text.table(try connection.ask(.list, for: JobTable.self)))
    }
}
