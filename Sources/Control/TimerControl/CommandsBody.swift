// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A command for many jobs.
public struct CommandForMany: Hashable, Sendable {
    public let jobs: JobSelection
    public let values: CommandBody
}

extension BodyForm where Value == CommandBody {
    /// The body of a command for one job.
    static func command(_ schema: String, _ keys: [String]) -> BodyForm {
        BodyForm(schema) { (body: [UInt8]) throws(ControlRequest.Fault) -> CommandBody in
            try CommandBody.read(keys, of: body)
        } write: {
            $0 == CommandBody() ? [] : try ControlJSON.encode($0)
        }
    }
}

extension BodyForm where Value == CommandForMany {
    /// The body of the same command for many jobs.
    ///
    /// - Parameter hasPauses: whether they may also be named by their pauses.
    static func commands(_ schema: String, _ keys: [String], hasPauses: Bool) -> BodyForm {
        let keys = ["all", "jobs"] + (hasPauses ? ["pauses"] : []) + keys
        return BodyForm(schema, isRequired: true, bytesMax: ControlRequest.commandBytesMax) {
            (body: [UInt8]) throws(ControlRequest.Fault) -> CommandForMany in
            let read = try CommandsBody.read(keys, from: body.isEmpty ? Array("{}".utf8) : body)
            return CommandForMany(jobs: try read.selection(), values: try read.command.checked())
        } write: {
            try ControlJSON.encode(CommandsBody($0.jobs, $0.values))
        }
    }
}

/// The values of a command for many jobs.
struct CommandsBody: Codable, RequestBody {
    static let example = #"{"jobs": ["backup", "report"]}"#

    var all: Bool?
    var alone: Bool?
    var arguments: [String]?
    var count: Int?
    var environment: [String]?
    var force: Bool?
    var forUsec: Int64?
    var jobs: [String]?
    var machine: String?
    var note: String?
    var pauses: [NamedPause]?
    var until: String?
    var withRun: Bool?

    init(_ jobs: JobSelection, _ command: CommandBody) {
        switch jobs {
        case .all: all = true
        case .jobs(let names): self.jobs = names.map(\.description)
        case .pauses(let pauses): self.pauses = pauses
        }
        (count, forUsec, note) = (command.count, command.forUsec, command.note)
        (until, withRun) = (command.until, command.withRun)
        (alone, environment, machine) = (command.alone, command.environment, command.machine)
        (arguments, force) = (command.arguments, command.force)
    }

    var command: CommandBody {
        CommandBody(
            note: note, until: until, forUsec: forUsec, withRun: withRun, count: count,
            environment: environment, arguments: arguments, alone: alone, force: force,
            machine: machine)
    }

    func selection() throws(ControlRequest.Fault) -> JobSelection {
        if let pauses {
            guard all == nil, jobs == nil else {
                throw .badBody("jobs, all and pauses exclude each other")
            }
            return try Self.selection(of: pauses)
        }
        switch (all ?? false, jobs) {
        case (true, nil): return .all
        case (true, .some): throw .badBody("jobs and all exclude each other")
        case (false, nil), (false, []):
            throw .badBody(#"name jobs, as in \#(Self.example), or say {"all": true}"#)
        case (false, let jobs?):
            var names: [Job.Name] = []
            var seen: Set<Job.Name> = []
            for text in jobs {
                let name = try Self.name(text, in: "jobs")
                // A job that is named twice counts once.
                if seen.insert(name).inserted { names.append(name) }
            }
            return .jobs(names)
        }
    }

    private static func name(
        _ text: String, in key: String
    ) throws(ControlRequest.Fault) -> Job.Name {
        guard let name = Job.Name(text) else {
            throw .badBody(
                "\(key): \"\(text.prefix(100))\": \(Job.Name.fault(in: text) ?? "not a job name")")
        }
        return name
    }

    private static func selection(
        of pauses: [NamedPause]
    ) throws(ControlRequest.Fault) -> JobSelection {
        guard !pauses.isEmpty else { throw .badBody("pauses: name at least one") }
        var seen: [Job.Name: NamedPause] = [:]
        for pause in pauses {
            // A pause that is named twice counts once. A job has only one pause at a time.
            let former = seen.updateValue(pause, forKey: try name(pause.job, in: "pauses"))
            guard former == nil || former == pause else {
                throw .conflict("pauses: \"\(pause.job)\" is given twice, in two pauses")
            }
            guard pause.seen != nil else {
                throw .badBody(
                    "pauses: since and until must be instants such as 2026-12-24T18:00:00Z (RFC 3339)"
                )
            }
        }
        return .pauses(pauses)
    }
}
