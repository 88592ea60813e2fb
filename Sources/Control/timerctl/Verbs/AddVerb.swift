// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostFiles
import TimerControl
import TimerCore

struct AddVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a job: write its definition to jobs.d, and load it.",
        discussion: """
            timerctl add backup --every 6h -- restic backup /srv writes jobs.d/backup.toml beside the configuration, \
            prints it, and reloads. If it has an error, nothing is kept of it. timerctl edit changes it, and timerctl \
            remove removes it.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Argument(
        help: ArgumentHelp("The name of the new job.", valueName: "name"),
        transform: JobArgument.name)
    var name: Job.Name

    @OptionGroup var schedule: NewSchedule

    @Option(help: ArgumentHelp("What it is for.", valueName: "text"))
    var description: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("The user whose rights its runs have (user).", valueName: "user"))
    var owner: String?

    @Option(
        help: ArgumentHelp("The directory in which its runs start.", valueName: "directory"),
        completion: .directory)
    var workingDirectory: String?

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The command and its arguments, after --.", valueName: "command"))
    var command: [String] = []

    func validate() throws {
        guard command.first?.isEmpty == false else {
            throw ValidationError(
                "the command is missing; write it after --, as in: -- restic backup /srv")
        }
    }

    /// The text of the file.
    var text: String {
        let lines = [
            "# Made by `timerctl add`; `timerctl edit \(name)` changes it, `timerctl remove \(name)` removes it.",
            "[job.\"\(name)\"]", description.map { "description = \(TOMLText.quoted($0))" },
            schedule.line, "command = [\(command.map(TOMLText.quoted).joined(separator: ", "))]",
            owner.map { "user = \(TOMLText.quoted($0))" },
            workingDirectory.map { "working-directory = \(TOMLText.quoted($0))" },
        ]
        return lines.compactMap(\.self).joined(separator: "\n") + "\n"
    }

    func run() throws {
        let known = try connection.ask(.list, for: JobNames.self, forChange: true).jobs
        guard !known.contains(where: { $0.job == name.description }) else {
            throw Connection.fail(
                1, "there is a job \"\(name)\" already; `timerctl edit \(name)` changes it")
        }
        let config = try connection.ask(.oneOffs(), for: OneOffsReply.self).config
        let directory = DefinitionDirectory(DefinitionDirectory.jobs, besideConfig: config)
        let file = "\(directory.path)/\(name).toml"
        do throws(Directory.Failure) {
            guard try directory.add(name.description, Array(text.utf8)) else {
                throw Directory.Failure(
                    description: "\(file): there is such a file already, and it was not changed")
            }
        } catch {
            let hint =
                geteuid() == 0
                ? "" : "; only root and the owner of the configuration can add jobs"
            throw Connection.fail(1, "\(error)\(hint)")
        }
        let reply = try load(file, directory)
        try connection.show(reply) {
            let warnings = reply.warnings.filter { $0.contains("\(name).toml") }
            let lines = [text, file] + warnings + ["\(name): added"]
            return lines.map(Printable.lines).joined(separator: "\n")
        }
    }

    /// Loads the file. If that is refused, the file is removed again.
    private func load(_ file: String, _ directory: DefinitionDirectory) throws -> ReloadReply {
        let query = ControlRequest.reload(ReloadQuery(isStrict: false))
        func undo(_ status: Int32, _ reply: ErrorReply) throws -> any Error {
            try? directory.remove([name.description])
            // Otherwise the daemon would say that it refused a file that is not there.
            _ = try? connection.response(to: query)
            return Connection.fail(
                status, (reply.details ?? []).map { $0 + "\n" }.joined() + reply.error, as: reply)
        }
        let body: [UInt8]
        do throws(Connection.Failure) { body = try connection.response(to: query) } catch {
            guard error.isRefusal else {
                throw Connection.fail(
                    error.status,
                    "\(error.message)\ntimerctl: \(file) is written, and not known to be loaded; `timerctl reload` loads it"
                )
            }
            throw try undo(error.status, error.reply)
        }
        let reply = try connection.decode(ReloadReply.self, from: body)
        guard reply.added.contains(where: { $0.job == name.description }) else {
            throw try undo(
                1,
                ErrorReply(
                    "job \"\(name)\" was not added", code: .invalidConfiguration,
                    details: reply.errors.filter { $0.contains("\(name).toml") }))
        }
        return reply
    }
}

/// When a new job runs: one of these options.
struct NewSchedule: ParsableArguments {
    @Option(help: ArgumentHelp("After each such time span, as 6h.", valueName: "span"))
    var every: String?

    @Option(
        help: ArgumentHelp(
            "At times as \"Mon..Fri 09:00\" (systemd.time(7)).", valueName: "event"))
    var calendar: String?

    @Option(help: ArgumentHelp("At the times of a crontab, as \"0 3 * * *\".", valueName: "line"))
    var cron: String?

    @Option(help: ArgumentHelp("Once in each boot, so long after it.", valueName: "span"))
    var onBoot: String?

    @Flag(help: "Never by itself: with timerctl run.")
    var onDemand = false

    private var options: [(key: String, value: String?)] {
        [("every", every), ("calendar", calendar), ("cron", cron), ("on-boot", onBoot)]
    }

    func validate() throws {
        let count = options.count { $0.value != nil } + (onDemand ? 1 : 0)
        guard count == 1 else {
            let names = "--every, --calendar, --cron, --on-boot and --on-demand"
            throw ValidationError(
                count == 0
                    ? "say when it runs, with one of \(names)" : "\(names) exclude each other")
        }
    }

    /// Its line in the definition.
    var line: String {
        for (key, value) in options {
            if let value { return "\(key) = \(TOMLText.quoted(value))" }
        }
        return "on-demand = true"
    }
}

struct RemoveVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a job that has a file of its own in jobs.d.",
        discussion: """
            The definition is printed, so that it can be written again. The saved state and the history of the job are \
            kept for 30 days, for a job of the same name. Active runs continue; timerctl kill stops them.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection
    @OptionGroup var argument: JobArgument

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    func run() throws {
        let job = argument.job
        let status = try connection.ask(.show(job), for: JobStatus.self, forChange: true)
        guard status.oneOff != true else {
            throw Connection.fail(1, "\(job) runs once; `timerctl cancel \(job)` removes it")
        }
        let config = try connection.ask(.oneOffs(), for: OneOffsReply.self).config
        let directory = DefinitionDirectory(DefinitionDirectory.jobs, besideConfig: config)
        let file = "\(directory.path)/\(job).toml"
        guard let text = Self.ownText(file, of: job, config) else {
            throw Connection.fail(
                1,
                "\(file) has more than this job, or is not there; `timerctl edit \(job)` opens the file that has it"
            )
        }
        if !yes, Terminal.canAsk {
            try Terminal.confirm("Remove it?", about: Printable.lines(text))
        }
        do throws(Directory.Failure) { try directory.remove([job.description]) } catch {
            throw Connection.fail(1, "\(error)")
        }
        let reply = try connection.ask(
            .reload(ReloadQuery(isStrict: false)), for: ReloadReply.self)
        try connection.show(reply) { Printable.lines(text) + "\n\(job): removed" }
    }

    /// The text of a file that defines this job and nothing else; nil if it has more, or is not there.
    private static func ownText(_ file: String, of job: Job.Name, _ config: String) -> String? {
        let arguments = [
            "check", "--config", config, "--text", job.description, "--whole-file",
        ]
        guard let output = Program.output(of: [TimerdProgram.path] + arguments),
            let end = output.firstIndex(of: "\n"),
            output[..<end].hasPrefix("# \(Printable.text(file)):")
        else { return nil }
        return String(output[end...].dropFirst())
    }
}

/// Texts of TOML that commands write.
enum TOMLText {
    /// A text as a basic string, with escapes.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 32 || scalar.value == 127:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
