// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct PauseVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Hold a job; nothing of its time is lost.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    @Option(help: "Why, for whoever finds it paused.")
    var note: String?

    func run() throws {
        let request = ControlRequest.order(.pause, argument.job, note: note)
        let reply = try connection.ask(request, for: OrderReply.self)
        try connection.show(reply) { Text.order(reply, done: "paused") }
    }
}
