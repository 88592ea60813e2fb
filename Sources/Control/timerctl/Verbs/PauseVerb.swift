// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct PauseVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause jobs without losing any of their elapsed time.",
        discussion: """
            Without --for and --until a job stays paused until it is resumed. The pause survives restarts of the \
            daemon and of the machine, and reloads of the configuration. If a job is already paused, the given \
            options change its pause, and the others stay as they are.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: MatchedJobs

    @OptionGroup var terms: PauseTerms

    func validate() throws {
        if argument.jobs.isEmpty, !argument.all, argument.names.isEmpty {
            throw ValidationError("name a job, or choose jobs with --all or --match")
        }
    }

    func run() throws {
        let body = try terms.body()
        guard argument.jobs.isEmpty else {
            return try connection.command(.pause, .jobs(argument.jobs), body, done: "paused")
        }
        try connection.commandMany(.pause, try selection(), body, done: "paused")
    }

    /// All jobs, or the jobs whose names match.
    private func selection() throws -> JobSelection {
        guard !argument.names.isEmpty else { return .all }
        let jobs = try connection.ask(.list, for: JobNames.self, forChange: true).jobs.map(\.job)
        let found = jobs.filter { argument.names.admit($0) }.compactMap { Job.Name($0) }
        guard !found.isEmpty else {
            let patterns = argument.names.match.map { "\"\($0)\"" }.joined(separator: " or ")
            throw Connection.fail(4, "no job is named \(patterns); `timerctl list` shows the jobs")
        }
        return .jobs(found)
    }
}
