// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct StatusVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "How a job is, with the end of its output; without a job, the list of all.",
        discussion: """
            Without a job the exit status is 0 if the daemon answers. With a job it is 1 if its last run failed.
            """)
    static let reading = Reading.all

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp("The job's name.", valueName: "job"), completion: .jobNames,
        transform: JobArgument.name)
    var job: Job.Name?

    @Option(
        name: [.customShort("n"), .customLong("lines")],
        help: ArgumentHelp("How many lines of its output to show.", valueName: "count"))
    var lines = 10

    func validate() throws {
        guard lines >= 0 else { throw ValidationError("-n: not negative") }
    }

    func run() throws {
        guard let job else {
            guard !connection.json else { return print(try connection.line(.list)) }
            let table = try connection.ask(.list, for: JobTable.self)
            let text = Text.table(table, table.jobs, on: connection.screen)
            return Pager.print(text, isAllowed: !connection.noPager)
        }
        let status = try connection.ask(.show(job), for: JobStatus.self)
        if connection.json {
            try connection.show(status) { "" }
        } else {
            print(Text.details(status, on: connection.screen))
            if lines > 0 { try printOutput(of: job) }
        }
        try Terminal.finish()
        if status.last?.failed == true { throw ExitCode(1) }
    }

    private func printOutput(of job: Job.Name) throws {
        var reader = LogReader(connection: connection, job: job, run: nil)
        let items = try reader.first(runs: 1, in: Period())
        guard !items.isEmpty else { return }
        print()
        LogPrinter(format: .text, job: job, screen: connection.screen, put: { print($0) })
            .print(items.last(lines))
    }
}
