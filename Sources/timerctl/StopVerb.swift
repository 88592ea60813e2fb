// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct StopVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End a job's timer and drop what it accrued.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func run() throws {
        let request = ControlRequest.order(.stop, argument.job, note: nil)
        let reply = try connection.ask(request, for: OrderReply.self)
        try connection.show(reply) { Text.order(reply, done: "stopped") }
    }
}
