// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

/// The jobs an order is for: names, or all there are.
struct JobsArgument: ParsableArguments {
    @Argument(
        help: "The jobs' names.", completion: .jobNames,
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

    /// The names meant.
    func names(_ connection: Connection) throws -> [Job.Name] {
        guard all else { return jobs }
        return try connection.ask(.list, for: JobNames.self).jobs.compactMap {
            Job.Name($0.job)
        }
    }
}

extension Connection {
    /// Orders the same of each job and says what came of each, a line each. One that fails does not keep the
    /// others from it; the exit status is that of the first that failed.
    func order(
        _ verb: Order.Verb, _ jobs: [Job.Name], _ body: OrderBody = OrderBody(), done: String
    ) throws {
        var failure: (any Error)?
        for job in jobs {
            do {
                let reply = try ask(.order(verb, job, body), for: OrderReply.self)
                try show(reply) { Text.order(reply, done: done) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}
