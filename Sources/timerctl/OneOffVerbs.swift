// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct AtVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "at", abstract: "Run a command once, at a time.",
        discussion: """
            The command runs as the user who asks, in the current directory, with the environment of any other job. \
            It also runs if the daemon is down at that time: as soon as it is up again.
            """)

    @OptionGroup var connection: Connection

    @Argument(help: ArgumentHelp("When: a time such as \(TimeParser.examples).", valueName: "time"))
    var time: String

    @OptionGroup var job: OneOffOptions

    func run() throws {
        let now = Terminal.now
        let at = try TimeOption.instant(
            "at", time, .nowOrFuture, by: TimeParser(now: now))
        try job.make(at: at, by: connection)
    }
}

struct InVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "in", abstract: "Run a command once, after a time span.",
        discussion: """
            The same as at: the span is counted by the wall clock, and the command also runs if the daemon is down \
            at that time.
            """)

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp("After how long: a time span such as 2h 30min.", valueName: "span"))
    var span: String

    @OptionGroup var job: OneOffOptions

    func run() throws {
        let range = Duration.microseconds(1)...Duration.microseconds(OrderBody.forUsecMax)
        let span = try TimeOption.span("in", span, in: range)
        try job.make(at: Terminal.now + span, by: connection)
    }
}

struct CancelVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Remove one-off jobs.",
        discussion: "An active run continues; timerctl kill stops it.")

    @OptionGroup var connection: Connection

    @Argument(
        help: "The jobs' names.", completion: .jobNames, transform: JobArgument.name)
    var jobs: [Job.Name]

    func run() throws {
        for job in jobs {
            let status = try connection.ask(.show(job), for: JobStatus.self)
            guard status.oneOff == true else {
                throw Connection.fail(
                    1,
                    "job \"\(job)\" is in the configuration; `timerctl stop \(job)` stops its timer"
                )
            }
            let place = try connection.ask(.oneOffs(base: nil), for: OneOffsReply.self)
            // Without its definition the job cannot run, even if the next step fails.
            try OneOffDefinition.remove(job, place)
            let reply = try connection.ask(.cancelOneOff(job), for: OrderReply.self)
            try connection.show(reply) { "\(job): cancelled" }
        }
    }
}
