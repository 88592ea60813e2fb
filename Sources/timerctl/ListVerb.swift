// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct ListVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "All jobs in a table.", aliases: ["status"])

    @OptionGroup var connection: Connection

    func run() throws {
        let status = try connection.ask(.list, for: DaemonStatus.self)
        try connection.show(status) { Text.table(status) }
    }
}
