// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct LogVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "What a job wrote: its run that lives, or the last of what its latest run wrote.",
        discussion: """
            Of a run that ended as much is kept as output-tail says. Of one that lives it is what came since \
            the daemon started, as far as it is held; the journal has the rest: journalctl -t JOB.
            """)

    /// How long to wait before asking again, in microseconds.
    private static let pause: UInt32 = 500_000

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    @Option(
        name: .customLong("run"), help: "This run.",
        transform: { text in
            guard let run = Run.ID(text) else {
                throw ValidationError("\"\(text)\" is no run; `timerctl history` names them")
            }
            return run
        })
    var wanted: Run.ID?

    @Flag(name: .shortAndLong, help: "Go on with what comes, until interrupted.")
    var follow = false

    func run() throws {
        var reply = try connection.ask(
            .log(argument.job, run: wanted, after: nil), for: LogReply.self)
        try show(reply)
        guard follow else { return }
        while true {
            usleep(Self.pause)
            reply = try connection.ask(
                .log(argument.job, run: wanted, after: reply.last), for: LogReply.self)
            try show(reply)
        }
    }

    private func show(_ reply: LogReply) throws {
        guard !connection.json else {
            if !follow || reply.past != nil || !reply.lines.isEmpty {
                try connection.show(reply) { "" }
            }
            return flush()
        }
        for line in Text.log(reply) { print(line) }
        flush()
    }

    /// Into a pipe, lines would wait for a buffer to be full.
    private func flush() { fflush(nil) }
}
