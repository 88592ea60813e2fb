// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

/// Arguments that select jobs: names, or all jobs.
struct JobsArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The jobs' names.", valueName: "job"), completion: .jobNames,
        transform: { text in
            guard let name = Job.Name(text) else {
                throw ValidationError(
                    "\"\(text)\": \(Job.Name.fault(in: text) ?? "not a job name")")
            }
            return name
        })
    var jobs: [Job.Name] = []

    @Flag(help: "Every job of the configuration.")
    var all = false

    func validate() throws {
        if all, !jobs.isEmpty { throw ValidationError("name jobs, or say --all, not both") }
        if !all, jobs.isEmpty { throw ValidationError("name a job, or say --all") }
    }

    /// The jobs that the arguments select, after they were validated.
    var selection: JobSelection { all ? .all : .jobs(jobs) }
}

extension Connection {
    /// Sends one command for these jobs and prints the result for each, one per line. If one of the
    /// names is unknown, nothing is changed. The exit status is 1 if the command failed for one of
    /// the jobs.
    func command(
        _ verb: JobCommand.Verb, _ jobs: JobSelection, _ body: CommandBody = CommandBody(),
        done: String
    ) throws {
        if let job = jobs.single {
            let reply = try ask(.command(verb, job, body), for: CommandReply.self)
            return try show(reply) { Text.command(reply, done: done) }
        }
        try commandMany(verb, jobs, body, done: done)
    }

    /// The same for jobs that were not named one by one. The form of the output does not depend on
    /// their number.
    func commandMany(
        _ verb: JobCommand.Verb, _ jobs: JobSelection, _ body: CommandBody = CommandBody(),
        done: String
    ) throws {
        let reply = try ask(.commands(verb, jobs, body), for: CommandsReply.self)
        let refused = reply.results.filter { $0.refused == true }
        let carriedOut = reply.results.filter { $0.refused != true }
        if json {
            try show(reply) { "" }
        } else if !carriedOut.isEmpty {
            print(Text.commands(carriedOut, done: done).joined(separator: "\n"))
        }
        guard !refused.isEmpty else { return }
        var sentences = refused.prefix(Text.commandsMax).map {
            "job \"\($0.job)\": \($0.reason ?? "refused")"
        }
        let more = refused.count - sentences.count
        if more > 0 {
            sentences.append("and \(plural(more, "more job was", "more jobs were")) refused")
        }
        throw Self.fail(1, sentences.joined(separator: "\ntimerctl: "))
    }
}

extension Text {
    /// Of how many jobs the result of a command is shown one by one.
    static let commandsMax = 20

    /// The results of a command for many jobs: a line for each, or for very many how many there are.
    static func commands(_ results: [CommandsReply.Result], done: String) -> [String] {
        guard results.count > commandsMax, !Terminal.isFull else {
            return results.map { command($0, done: done) }
        }
        let changed = results.filter(\.changed)
        let others = results.filter { !$0.changed }
        var lines: [String] = []
        if !changed.isEmpty { lines.append("\(plural(changed.count, "job")): \(done)") }
        lines += others.prefix(commandsMax).map { command($0, done: done) }
        let more = others.count - commandsMax
        if more > 0 { lines.append("\(plural(more, "more job")): nothing to do") }
        return lines
    }
}
