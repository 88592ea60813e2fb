// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct StartVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Begin a stopped or finished job at zero.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func run() throws {
        let request = ControlRequest.order(.start, argument.job, note: nil)
        let reply = try connection.ask(request, for: OrderReply.self)
        try connection.show(reply) { Text.order(reply, done: "started") }
    }
}
