// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct LogVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "The output of a job's active run, or the end of the output of its last one.",
        discussion: """
            Of a finished run the daemon keeps as much as output-tail says; of an active run, recent output since \
            the daemon started. The journal has all of it: journalctl -t JOB.
            """)

    /// How long to wait before asking again, in microseconds.
    private static let pause: UInt32 = 500_000

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    @Option(
        name: .customLong("run"), help: "This run.",
        transform: { text in
            guard let run = Run.ID(text) else {
                throw ValidationError("\"\(text)\" is not a run; `timerctl history` lists runs")
            }
            return run
        })
    var wanted: Run.ID?

    @Flag(name: .shortAndLong, help: "Follow the output until interrupted.")
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
