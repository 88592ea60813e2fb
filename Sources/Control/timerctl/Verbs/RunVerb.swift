// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct RunVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run jobs now; their schedules do not change.",
        discussion: """
            The run replaces a retry that waits for its delay, unless concurrency is allow. With --wait the exit \
            status is that of the run. Words behind -- are appended to the command for this run.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobsArgument
    @OptionGroup var waiting: WaitOption

    @Option(
        help: ArgumentHelp(
            "Set a variable for this run, if the job's run-environment allows it; without a value, that of yours.",
            valueName: "name=value"))
    var env: [String] = []

    @Option(
        name: .customLong("argument"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Append this word to the command for this run, if the job's run-arguments allows it; the same as behind --.",
            valueName: "word"))
    var words: [String] = []

    @Flag(help: "Start no jobs that follow them.")
    var alone = false

    @Flag(help: "Start it whatever its condition says; it still waits for slots.")
    var force = false

    @Option(
        help: ArgumentHelp(
            "The machine that runs a job of a fleet; without it, this one.", valueName: "machine"),
        transform: { name in
            guard let machine = MachineName(name) else {
                throw ValidationError("--on: \(name) is not a valid name of a machine")
            }
            return machine
        })
    var on: MachineName?

    func validate() throws {
        try waiting.check(argument)
        _ = try environment()
        if let fault = CommandBody.fault(inArguments: words) { throw ValidationError(fault) }
    }

    func run() throws {
        try RunRequester(
            connection: connection, isWaiting: waiting.wait,
            body: CommandBody(
                environment: env.isEmpty ? nil : try environment(),
                arguments: words.isEmpty ? nil : words, alone: alone ? true : nil,
                force: force ? true : nil, machine: on?.description)
        ).give(.run, argument.selection)
    }

    /// The arguments with options for the words behind `--`: the parser allows none behind the names of
    /// jobs.
    static func withOptions(_ arguments: [String]) -> [String] {
        guard arguments.first == configuration.commandName,
            let end = arguments.firstIndex(of: "--")
        else { return arguments }
        return arguments[..<end] + arguments[(end + 1)...].map { "--argument=\($0)" }
    }

    /// A variable without a value gets the value in this program's environment, which does not show
    /// up in lists of processes.
    private func environment() throws -> [String] {
        let lines = try env.map { text in
            guard !text.utf8.contains(UInt8(ascii: "=")) else { return text }
            guard let bytes = getenv(text) else {
                throw ValidationError("--env \(text): there is no such variable; write NAME=value")
            }
            guard let value = String(validatingCString: bytes) else {
                throw ValidationError("--env \(text): the value of the variable is not UTF-8")
            }
            return "\(text)=\(value)"
        }
        if let fault = CommandBody.fault(inEnvironment: lines) {
            throw ValidationError("--env: \(fault)")
        }
        return lines
    }
}

struct RetryVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Run jobs again, now, whose last run failed.",
        discussion: """
            A retry that waits for its delay is replaced, as with `timerctl run`. Jobs whose last run did not fail \
            are not run.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The jobs' names.", valueName: "job"), completion: .jobNames,
        transform: JobArgument.name)
    var jobs: [Job.Name] = []

    @Flag(help: "Every job whose last run failed.")
    var failed = false

    @OptionGroup var waiting: WaitOption

    func validate() throws {
        if failed, !jobs.isEmpty { throw ValidationError("name jobs, or say --failed, not both") }
        if !failed, jobs.isEmpty { throw ValidationError("name a job, or say --failed") }
        if waiting.wait, JobSelection.jobs(jobs).single == nil { throw WaitOption.oneJob }
    }

    func run() throws {
        try RunRequester(connection: connection, isWaiting: waiting.wait, isAboutFailed: failed)
            .give(.retry, failed ? .all : .jobs(jobs))
    }
}

/// Options to wait for the end of a run.
struct WaitOption: ParsableArguments {
    @Flag(help: "Show the run's output, wait for its end, and exit with its status.")
    var wait = false

    static let oneJob = ValidationError("--wait is for one job")

    func check(_ argument: JobsArgument) throws {
        if wait, argument.selection.single == nil { throw Self.oneJob }
    }
}
