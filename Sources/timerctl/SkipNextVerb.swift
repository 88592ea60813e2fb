// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore
import TimerControl

struct SkipNextVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip-next", abstract: "Let the next firings of a job go.",
        discussion: "Twice is once: the number replaces an earlier one, and 0 takes it back.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    @Argument(help: "How many firings.")
    var count = 1

    func validate() throws {
        guard (0...OrderBody.countMax).contains(count) else {
            throw ValidationError("a number from 0 to \(OrderBody.countMax)")
        }
    }

    func run() throws {
        let done =
            count == 0
            ? "no firing is let go"
            : "the next \(count == 1 ? "firing is" : "\(count) firings are") skipped"
        try connection.order(.skipNext, .jobs([argument.job]), OrderBody(count: count), done: done)
    }
}
