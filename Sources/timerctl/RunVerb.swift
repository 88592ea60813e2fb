// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct RunVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a job now, apart from its schedule.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func run() throws {
        let request = ControlRequest.order(.run, argument.job, note: nil)
        let reply = try connection.ask(request, for: OrderReply.self)
        try connection.show(reply) { Text.order(reply, done: "fired") }
    }
}
