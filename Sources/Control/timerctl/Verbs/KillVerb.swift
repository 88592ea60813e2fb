// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct KillVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Stop the runs of a job, or one run; or send them a signal.",
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
            "The job's name, or a run as `timerctl show` names it.", valueName: "job|run"),
        completion: .jobNames,
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
        let reply = try connection.ask(
            .kill(target.job, KillQuery(run: target.run), KillBody(signal: signal)),
            for: KillReply.self)
        try connection.show(reply) { Text.kill(reply, target.job, signal: signal) }
    }
}

extension Text {
    /// The result of a kill, one line for each run.
    static func kill(_ reply: KillReply, _ job: Job.Name, signal: String?) -> String {
        guard reply.changed else {
            return "\(job): nothing to do: \(Printable.text(reply.reason ?? "no run is running"))"
        }
        let what = signal.map { "\($0) sent" } ?? "is being stopped"
        let lines =
            reply.signalled.map { "\($0): \(what)" } + reply.cancelled.map { "\($0): cancelled" }
        return lines.joined(separator: "\n")
    }
}
