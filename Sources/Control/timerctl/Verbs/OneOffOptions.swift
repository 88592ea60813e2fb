// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerControl
import TimerCore

/// The definition of a one-off job, except its time.
struct OneOffOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The job's name (default: made from the command, such as restic-1).", valueName: "name"),
        transform: JobArgument.name)
    var name: Job.Name?

    @Option(
        help: ArgumentHelp(
            "What it is for; shown by show.", valueName: "text"))
    var note: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Do not run it if it would start later than this after its time, because the machine was off; at least 1s.",
            valueName: "span"))
    var startingDeadline: String?

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp(
            "The command and its arguments, after --.", valueName: "command"))
    var command: [String] = []

    func validate() throws {
        guard command.first?.isEmpty == false else {
            throw ValidationError(
                "the command is missing; write it after --, as in: -- restic prune")
        }
        if let note, note.utf8.count > 1000 {
            throw ValidationError("--note has at most 1000 bytes")
        }
    }

    /// Writes the definition and tells the daemon to load it. If the daemon refuses it, the file is
    /// deleted.
    func make(at: WallInstant, by connection: Connection) throws {
        let definition = OneOffDefinition(
            command: command, at: at, note: note,
            workingDirectory: try Self.workingDirectory(),
            startingDeadline: try startingDeadline.map {
                try TimeOption.span(
                    "--starting-deadline", $0,
                    in: .seconds(1)...Duration.microseconds(CommandBody.forUsecMax))
            }, user: geteuid() == 0 ? "root" : nil)
        let (job, place) = try write(definition, connection)
        let body: [UInt8]
        do throws(Connection.Failure) {
            body = try connection.response(to: .takeOneOff(job))
        } catch {
            guard error.isRefusal else {
                throw Connection.fail(
                    error.status,
                    "\(error.message)\ntimerctl: whether job \"\(job)\" was accepted is not known; it runs if its "
                        + "definition is there when the daemon starts or reloads; `timerctl cancel \(job)` removes it"
                )
            }
            try? OneOffDefinition.remove([job], place)
            throw error.exit
        }
        let reply = try connection.decode(CommandReply.self, from: body)
        try connection.show(reply) { "\(job): runs at \(Text.moment(at))" }
    }

    private func write(
        _ definition: OneOffDefinition, _ connection: Connection
    ) throws -> (Job.Name, OneOffsReply) {
        if let name {
            let place = try connection.ask(
                .oneOffs(), for: OneOffsReply.self, forChange: true)
            guard try definition.write(as: name, place) else {
                throw Connection.fail(
                    1, "there is already a one-off job \"\(name)\"; choose another --name")
            }
            return (name, place)
        }
        let base = OneOffDefinition.base(of: command[0])
        let place = try connection.ask(
            .oneOffs(OneOffsQuery(base: base)), for: OneOffsReply.self, forChange: true)
        let first = place.name.flatMap { Int(digits: $0.dropFirst(base.utf8.count + 1)) } ?? 1
        // Another process may create a file of the same name at the same time.
        for number in first..<first + Self.attemptsMax {
            guard let job = Job.Name("\(base)-\(number)") else { break }
            if try definition.write(as: job, place) { return (job, place) }
        }
        throw Connection.fail(1, "there is no free name for the job; choose one with --name")
    }

    private static let attemptsMax = 1000

    private static func workingDirectory() throws -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard getcwd(&buffer, buffer.count) != nil,
            let path = String(
                validating: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self),
            path.hasPrefix("/")
        else {
            throw Connection.fail(
                1, "the current directory cannot be used: it is gone, or its path is not UTF-8")
        }
        return path
    }
}

/// The definition of a one-off job, as the configuration has it.
struct OneOffDefinition {
    var command: [String]
    var at: WallInstant
    var note: String?
    var workingDirectory: String
    var startingDeadline: Duration?
    /// Nil for the user of the daemon's runs.
    var user: String?

    /// The text of the file with the definition, as TOML.
    func text(for job: Job.Name) -> String {
        func line(_ key: String, _ value: String?) -> String? {
            value.map { "\(key) = \(TOMLText.quoted($0))" }
        }
        let lines = [
            "# Made by `timerctl at`; `timerctl cancel \(job)` removes it.", "[job.\"\(job)\"]",
            line("description", note),
            "command = [\(command.map(TOMLText.quoted).joined(separator: ", "))]",
            line("at", at.rfc3339), line("working-directory", workingDirectory),
            line("user", user),
            line("starting-deadline", startingDeadline.map { TimeSpan.compactText($0) }),
        ]
        return lines.compactMap { $0 }.joined(separator: "\n") + "\n"
    }

    /// The start of a generated name: the name of the program, without characters that the name of
    /// a job cannot have.
    static func base(of program: String) -> String {
        let name = program.utf8.split(separator: UInt8(ascii: "/")).last ?? program.utf8[...]
        var base = ""
        for byte in name.prefix(OneOffsReply.baseLengthMax) {
            let text = String(decoding: [byte], as: UTF8.self)
            base += Job.Name(base + text) == nil ? (base.isEmpty ? "" : "-") : text
        }
        return base.isEmpty ? "job" : base
    }

    /// - Returns: false if there is a definition with this name.
    func write(as job: Job.Name, _ place: OneOffsReply) throws -> Bool {
        do throws(Directory.Failure) {
            return try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: place.config)
                .add(job.description, Array(text(for: job).utf8))
        } catch { throw Self.fail(error) }
    }

    static func remove(_ jobs: [Job.Name], _ place: OneOffsReply) throws {
        do throws(Directory.Failure) {
            try DefinitionDirectory(DefinitionDirectory.oneOffs, besideConfig: place.config).remove(
                jobs.map(\.description))
        } catch { throw fail(error) }
    }

    private static func fail(_ failure: Directory.Failure) -> any Error {
        let hint =
            geteuid() == 0
            ? "" : "; only root and the owner of the configuration can make and cancel one-off jobs"
        return Connection.fail(1, "\(failure)\(hint)")
    }
}
