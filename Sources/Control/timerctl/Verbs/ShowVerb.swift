// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct ShowVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Everything about one job, or about one run.")
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The job's name, or a run as `timerctl history` names it.", valueName: "job|run"),
        completion: .runsAndJobs,
        transform: RunTarget.read)
    var target: RunTarget

    @Option(
        help: ArgumentHelp(
            "Of a run: how many lines of its output to show.", valueName: "count"))
    var lines = 10

    @Flag(
        help:
            "Of a job: show as well from which line of which file each value comes, as timerd check --origin does."
    )
    var defaults = false

    func validate() throws {
        guard lines >= 0 else { throw ValidationError("--lines: not negative") }
        if defaults, target.run != nil { throw ValidationError("--defaults is for jobs") }
        if defaults, connection.json {
            throw ValidationError("--defaults and --json exclude each other")
        }
    }

    func run() throws {
        guard let run = target.run else {
            let status = try connection.ask(.show(target.job), for: JobStatus.self)
            try connection.show(status) {
                Text.details(status, on: connection.screen) + (defaults ? "\n" : "")
            }
            if defaults { try showOrigins() }
            return
        }
        let reply = try connection.ask(.run(run), for: RunReply.self)
        guard !connection.json else { return try connection.show(reply) { "" } }
        // For a run that is active or ended a moment ago, the daemon has whole lines, which are
        // better than the last bytes in the store.
        let output = try? connection.value(
            LogReply.self, of: .log(run.firing.job, LogQuery(run: run, after: 0)))
        Pager.print(
            Text.run(reply, output: output, lines: lines, on: connection.screen),
            isAllowed: !connection.noPager)
    }

    /// The daemon does not keep where values come from, so the files are read, with the rights of the
    /// caller. Of the daemon comes where they are.
    private func showOrigins() throws {
        let config = try connection.ask(.oneOffs(), for: OneOffsReply.self).config
        // What is printed comes before what the program prints.
        try Terminal.finish()
        let status = TimerdProgram.run([
            "check", "--config", config, "--origin", target.job.description,
        ])
        guard status != -1 else { throw Connection.fail(1, TimerdProgram.startFailure(errno)) }
        guard status == 0 else { throw ExitCode(status) }
    }
}
