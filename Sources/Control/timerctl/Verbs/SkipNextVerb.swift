// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore
import TimerControl

struct SkipNextVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "skip-next",
        abstract: "Skip the next runs of a job, or of each job of a template.",
        discussion: "The number replaces an earlier one; 0 cancels it.")
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    @Argument(
        help: ArgumentHelp(
            "How many runs, up to \(CommandBody.countMax).", valueName: "count"))
    var count = 1

    func validate() throws {
        guard (0...CommandBody.countMax).contains(count) else {
            throw ValidationError("a number from 0 to \(CommandBody.countMax)")
        }
    }

    func run() throws {
        try connection.command(
            .skipNext, .jobs([argument.job]), CommandBody(count: count), done: Self.done(count))
    }

    /// What the command did, for the line that is printed.
    static func done(_ count: Int) -> String {
        count == 0
            ? "no run will be skipped"
            : "the next \(count == 1 ? "run" : "\(count) runs") will be skipped"
    }
}
