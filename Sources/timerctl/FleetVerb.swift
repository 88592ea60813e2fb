// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

struct FleetVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Show the fleet that this machine belongs to, or control it.",
        discussion: """
            Without a command it shows the machines that are connected. hold stops all runs of the fleet from starting, \
            and release ends that; drain and undrain do so on this machine. adopt forms the fleet, or accepts that etcd \
            was restored or replaced. define uses this machine's definition of a job in the whole fleet. forget removes a \
            job that no machine is configured with.
            """)

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp(
            "hold, release, drain, undrain, adopt, define or forget.", valueName: "command"),
        completion: .list(FleetOrder.Verb.allCases.map(\.rawValue)))
    var verb: String?

    @Argument(help: "The job, for define and forget.", completion: .jobNames)
    var job: String?

    private func order() throws -> FleetOrder? {
        guard let verb else { return nil }
        guard let known = FleetOrder.Verb(rawValue: verb) else {
            let names = FleetOrder.Verb.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\"\(verb)\" is no command for a fleet; one of \(names)")
        }
        guard known.namesJob == (job != nil) else {
            throw ValidationError(
                known.namesJob ? "\(verb) needs the name of a job" : "\(verb) takes no job")
        }
        return FleetOrder(known, job: try job.map { try JobArgument.name($0) })
    }

    func validate() throws { _ = try order() }

    func run() throws {
        if let order = try order() {
            let reply = try connection.ask(.fleetOrder(order), for: FleetOrderReply.self)
            return try connection.show(reply) { "fleet \(reply.verb): done" }
        }
        let reply = try connection.ask(.fleet, for: FleetReply.self)
        try connection.show(reply) { Text.fleet(reply) }
    }
}
