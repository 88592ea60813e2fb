// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct ReloadVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Read the configuration again; with any error in it, all stays as it is.")

    @OptionGroup var connection: Connection

    func run() throws {
        let reply = try connection.ask(.reload, for: ReloadReply.self)
        try connection.show(reply) { Text.reload(reply) }
    }
}
