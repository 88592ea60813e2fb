// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct FleetVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Show the fleet that this machine belongs to, or control it.",
        discussion: """
            Without a command it shows the machines that are connected. hold stops all runs of the fleet from starting, \
            and release ends that; drain and undrain do so on this machine. adopt forms the fleet, or accepts that etcd \
            was restored or replaced, after a question. define uses this machine's definition of a job in the whole \
            fleet. forget removes a job that no machine is configured with.
            """)
    static let reading = Reading.part("without a command")

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "hold, release, drain, undrain, adopt, define or forget.", valueName: "command"),
        completion: .list(FleetCommandBody.Verb.allCases.map(\.rawValue)))
    var verb: String?

    @Argument(help: "The job, for define and forget.", completion: .jobNames)
    var job: String?

    @Flag(help: "Adopt without a question.")
    var yes = false

    private func command() throws -> FleetCommandBody? {
        guard let verb else { return nil }
        guard let known = FleetCommandBody.Verb(rawValue: verb) else {
            let names = FleetCommandBody.Verb.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\"\(verb)\" is not a command for a fleet; one of \(names)")
        }
        guard known.namesJob == (job != nil) else {
            throw ValidationError(
                known.namesJob ? "\(verb) needs the name of a job" : "\(verb) takes no job")
        }
        return FleetCommandBody(known, job: try job.map { try JobArgument.name($0) })
    }

    func validate() throws {
        let command = try command()
        guard !yes || command?.verb == .adopt else {
            throw ValidationError("--yes belongs to adopt")
        }
    }

    func run() throws {
        if let command = try command() {
            if command.verb == .adopt, !yes {
                let reply = try connection.ask(.fleet, for: FleetReply.self, forChange: true)
                if let loss = reply.adoptionLoss { try AdoptionConfirmation(loss).ask() }
            }
            let reply = try connection.ask(.fleetCommand(command), for: FleetCommandReply.self)
            return try connection.show(reply) { "fleet \(reply.verb): done" }
        }
        let reply = try connection.ask(.fleet, for: FleetReply.self)
        try connection.show(reply) { Text.fleet(reply, on: connection.screen) }
    }
}

/// Asks before an adoption that gives something up.
struct AdoptionConfirmation {
    /// How many jobs are named; the others are counted.
    private static let shownMax = 20

    let loss: FleetReply.Loss

    init(_ loss: FleetReply.Loss) { self.loss = loss }

    /// What comes back, and what does not.
    var text: String {
        var lines = [
            "etcd does not have what the fleet had last. Nothing that was due before now is started.",
            memory,
        ]
        let names = loss.pausedJobs.map { Printable.text($0) }
        let isGivenUp = FleetReply.Loss.Memory(rawValue: loss.memory) == .noMachine
        if !names.isEmpty {
            let more = names.count - Self.shownMax
            lines.append(
                (isGivenUp ? "These were paused, and will run: " : "These stay paused: ")
                    + names.prefix(Self.shownMax).joined(separator: ", ")
                    + (more > 0 ? " and \(more) more" : ""))
        }
        if loss.held {
            lines.append(
                isGivenUp ? "The fleet was held, and will not be." : "The fleet stays held.")
        }
        return lines.joined(separator: "\n")
    }

    private var memory: String {
        switch FleetReply.Loss.Memory(rawValue: loss.memory) {
        case .own:
            "The machines that are connected bring back pauses, skipped runs and elapsed times, as this one remembers "
                + "them or a later one. Lost is what none of them has seen."
        case .others:
            "This machine remembers nothing of it. If another one that is connected does, that comes back. Otherwise "
                + "pauses, skipped runs and elapsed times are lost, and the fleet is held until `timerctl fleet release`."
        case .noMachine, nil:
            "This gives up pauses, skipped runs and elapsed times of its jobs."
        }
    }

    /// Returns if the store may be adopted; otherwise prints why not and throws the exit status 1.
    func ask() throws {
        guard Terminal.canAsk else {
            throw Connection.fail(
                1, "\(text)\nnothing was changed; with --yes it is adopted without a question")
        }
        try Terminal.confirm("Adopt it?", about: text)
    }
}
