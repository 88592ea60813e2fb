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
    func order(
        _ verb: Order.Verb, _ jobs: JobSelection, _ body: OrderBody = OrderBody(), done: String
    ) throws {
        if let job = jobs.single {
            let reply = try ask(.order(verb, job, body), for: OrderReply.self)
            return try show(reply) { Text.order(reply, done: done) }
        }
        try orderMany(verb, jobs, body, done: done)
    }

    /// The same for jobs that were not named one by one. The form of the output does not depend on
    /// their number.
    func orderMany(
        _ verb: Order.Verb, _ jobs: JobSelection, _ body: OrderBody = OrderBody(), done: String
    ) throws {
        let reply = try ask(.orders(verb, jobs, body), for: OrdersReply.self)
        let refused = reply.results.filter { $0.refused == true }
        let carriedOut = reply.results.filter { $0.refused != true }
        if json {
            try show(reply) { "" }
        } else if !carriedOut.isEmpty {
            print(carriedOut.map { Text.order($0, done: done) }.joined(separator: "\n"))
        }
        guard !refused.isEmpty else { return }
        let sentences = refused.map { "job \"\($0.job)\": \($0.reason ?? "refused")" }
        throw Self.fail(1, sentences.joined(separator: "\ntimerctl: "))
    }
}
