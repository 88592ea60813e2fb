// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct WhyVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Why a job has not run, when it will, and what could stop it.")
    static let reading = Reading.all

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    func run() throws {
        let reply = try connection.ask(.why(argument.job), for: WhyReply.self)
        try connection.show(reply) {
            // An error in the configuration has several lines: the message, the place, and a caret.
            Explanation(reply) { Text.instant($0) }.sentences.map(Printable.lines)
                .flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false) }
                .flatMap { connection.screen.lines(String($0), indent: 2) }
                .joined(separator: "\n")
        }
    }
}
