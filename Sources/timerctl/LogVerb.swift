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
            the daemon started. How many lines are missing is said on standard error. The journal has all of it \
            that was not dropped: journalctl -t JOB.
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
        var progress = LogProgress()
        var reply = try connection.ask(
            .log(argument.job, run: wanted, after: nil), for: LogReply.self)
        try show(reply, &progress)
        guard follow else { return }
        while true {
            usleep(Self.pause)
            reply = try connection.ask(
                .log(argument.job, run: wanted, after: reply.last), for: LogReply.self)
            try show(reply, &progress)
        }
    }

    private func show(_ reply: LogReply, _ progress: inout LogProgress) throws {
        guard !connection.json else {
            if !follow || reply.past != nil || !reply.lines.isEmpty {
                try connection.show(reply) { "" }
            }
            return flush()
        }
        for item in Text.log(reply, after: &progress) {
            switch item {
            case .line(let text): print(text)
            case .missing(let what):
                // In its place among the lines, where both go to a terminal.
                flush()
                Terminal.complain("timerctl: \(what)")
            }
        }
        flush()
    }

    /// Into a pipe, lines would wait for a buffer to be full.
    private func flush() { fflush(nil) }
}
