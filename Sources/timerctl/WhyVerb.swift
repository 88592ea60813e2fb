// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

struct WhyVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Why a job has not run, when it will, and what could stop it.")

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    /// The answer as JSON.
    private struct Answer: Encodable {
        var job: String
        var why: [String]
    }

    func run() throws {
        let reply = try connection.ask(.why(argument.job), for: WhyReply.self)
        let isJSON = connection.json
        let explanation = Explanation(reply) { isJSON ? $0 : Text.instant($0) }
        let sentences = explanation.sentences
        try connection.show(Answer(job: reply.job, why: sentences)) {
            // An error of the configuration has lines of its own: what is wrong, the place, a caret.
            sentences.map(Printable.lines).joined(separator: "\n")
        }
    }
}
