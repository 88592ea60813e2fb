// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct ResumeVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Go on from the remaining time.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func run() throws {
        let request = ControlRequest.order(.resume, argument.job, note: nil)
        let reply = try connection.ask(request, for: OrderReply.self)
        try connection.show(reply) { Text.order(reply, done: "resumed") }
    }
}
