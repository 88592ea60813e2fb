// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct KillVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract:
            "Stop the runs of a job or of a template's jobs, or one run; or send them a signal.",
        discussion: """
            Without --signal a run gets SIGTERM and, after the job's kill-timeout, SIGKILL. Its result is \
            stopped, and it is not retried. A retry that waits for its delay is cancelled. Of runs that wait for \
            the previous run, only one that is named is cancelled. A signal goes to every process of the run's \
            group; timerd does not enforce how the run ends.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The name of a job or a template, or a run as `timerctl show` names it.",
            valueName: "job|run"),
        completion: .runsAndJobs,
        transform: RunTarget.read)
    var target: RunTarget

    @Option(
        help: ArgumentHelp(
            "Send this signal, such as HUP, to every process of the run's group, and do nothing else.",
            valueName: "name"),
        completion: .list(KillBody.signals.map(\.name)), transform: Self.signal)
    var signal: String?

    private static func signal(_ text: String) throws -> String {
        guard KillBody.number(of: text) != nil else {
            let names = KillBody.signals.map(\.name).joined(separator: ", ")
            throw ValidationError("unknown signal \"\(text)\"; one of \(names)")
        }
        return text
    }

    func run() throws {
        if target.run == nil, target.job.isTemplate {
            let jobs = try connection.ask(.list, for: DaemonStatus.self).jobs
                .compactMap { Job.Name($0.job) }.filter { $0.isInstance(of: target.job) }
            // Without a job, the daemon says that there is none.
            if !jobs.isEmpty { return try killEach(of: jobs) }
        }
        let reply = try connection.ask(
            .kill(target.job, KillQuery(run: target.run), KillBody(signal: signal)),
            for: KillReply.self)
        try connection.show(reply) { Text.kill(reply, target.job.description, signal: signal) }
    }
}

extension KillVerb {
    /// Kills the runs of each job, one after the other, also if that is refused for one of them.
    private func killEach(of jobs: [Job.Name]) throws {
        var results: [KillResults.Result] = []
        var complaints: [String] = []
        for job in jobs {
            do throws(Connection.Failure) {
                let reply = try connection.value(
                    KillReply.self, of: .kill(job, KillQuery(), KillBody(signal: signal)))
                results.append(KillResults.Result(job: job.description, reply: reply))
            } catch {
                complaints.append(error.message)
            }
        }
        try connection.show(KillResults(results: results)) {
            results.map { Text.kill($0.reply, $0.job, signal: signal) }.joined(separator: "\n")
        }
        guard !complaints.isEmpty else { return }
        throw Connection.fail(1, complaints.joined(separator: "\ntimerctl: "))
    }
}

/// The output of `timerctl kill --json` for the jobs of a template.
private struct KillResults: Encodable {
    var results: [Result]

    struct Result: Encodable {
        var job: String
        var reply: KillReply
    }
}

extension Text {
    /// The result of a kill, one line for each run.
    static func kill(_ reply: KillReply, _ job: String, signal: String?) -> String {
        guard reply.changed else {
            return "\(job): nothing to do: \(Printable.text(reply.reason ?? "no run is running"))"
        }
        let what = signal.map { "\($0) sent" } ?? "is being stopped"
        let lines =
            reply.signalled.map { "\($0): \(what)" } + reply.cancelled.map { "\($0): cancelled" }
        return lines.joined(separator: "\n")
    }
}
