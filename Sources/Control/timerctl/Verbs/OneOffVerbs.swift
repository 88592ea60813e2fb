// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore
import TimerZones

struct AtVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "at", abstract: "Run a command once, at a time.",
        discussion: """
            The command runs as the user who asks, in the current directory, with the environment of any other job. \
            It also runs if the daemon is down at that time: as soon as it is up again.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Argument(help: ArgumentHelp("When: a time such as \(TimeParser.examples).", valueName: "time"))
    var time: String

    @OptionGroup var job: OneOffOptions

    func run() throws {
        let now = Terminal.now
        let at = try TimeOption.instant(
            "at", Timerctl.unshielded(time), .nowOrFuture, by: TimeParser(now: now))
        try job.make(at: at, by: connection)
    }
}

struct InVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "in", abstract: "Run a command once, after a time span.",
        discussion: """
            The same as at: the span is counted by the wall clock, and the command also runs if the daemon is down \
            at that time.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp("After how long: a time span such as 2h 30min.", valueName: "span"))
    var span: String

    @OptionGroup var job: OneOffOptions

    func run() throws {
        let range = Duration.microseconds(1)...Duration.microseconds(CommandBody.forUsecMax)
        let span = try TimeOption.span("in", Timerctl.unshielded(span), in: range)
        try job.make(at: Terminal.now + span, by: connection)
    }
}

struct CancelVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Remove one-off jobs.",
        discussion:
            "If one of them cannot be cancelled, nothing changes. An active run continues; timerctl kill RUN stops it."
    )
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "The jobs' names.", valueName: "job"), completion: .jobNames,
        transform: JobArgument.name)
    var jobs: [Job.Name]

    func run() throws {
        var jobs: [Job.Name] = []
        for job in self.jobs where !jobs.contains(job) { jobs.append(job) }
        // If one of them cannot be cancelled, nothing changes.
        for job in jobs { try expectOneOff(job) }
        let place = try connection.ask(
            .oneOffs(), for: OneOffsReply.self, forChange: true)
        // Without its definition a job cannot run, whatever happens next.
        try OneOffDefinition.remove(jobs, place)
        for job in jobs { try cancel(job) }
    }

    private func expectOneOff(_ job: Job.Name) throws {
        let status = try connection.ask(.show(job), for: JobStatus.self, forChange: true)
        guard status.oneOff != true else { return }
        throw Connection.fail(
            1, "job \"\(job)\" is in the configuration; `timerctl stop \(job)` stops its timer")
    }

    private func cancel(_ job: Job.Name) throws {
        let body: [UInt8]
        do throws(Connection.Failure) {
            body = try connection.response(to: .cancelOneOff(job))
        } catch {
            guard !error.isRefusal else { throw error.exit }
            throw Connection.fail(
                error.status,
                "\(error.message)\ntimerctl: the definition of \"\(job)\" is removed, so it does not run; a "
                    + "restart or a reload of timerd removes it from the list as well")
        }
        let reply = try connection.decode(CommandReply.self, from: body)
        try connection.show(reply) { Text.cancelled(reply.status) }
    }
}

extension Text {
    /// The result of cancelling a one-off job.
    ///
    /// - Parameter job: the job as it was just before.
    static func cancelled(_ job: JobStatus) -> String {
        let active = job.running.filter { $0.waits == nil }.map(\.id)
        guard !active.isEmpty else { return "\(job.job): cancelled" }
        return active.map { run in
            "\(job.job): cancelled; run \(run) continues, and `timerctl kill \(run)` stops it"
        }.joined(separator: "\n")
    }
}
