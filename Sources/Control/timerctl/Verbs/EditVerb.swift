// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerCore

struct EditVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract:
            "Edit the configuration: the file of a job, or the main file; check and reload it.",
        discussion: """
            A copy is opened with $VISUAL, $EDITOR, sensible-editor or vi. If it has an error, the file is not \
            changed, and you can edit the copy again.
            """)
    static let reading = Reading.nothing

    @OptionGroup var connection: Connection

    @Option(
        help: ArgumentHelp(
            "The file to edit, such as one of jobs.d that has an error.", valueName: "file"),
        completion: .file())
    var file: String?

    @Argument(
        help: "The job whose file is edited, at its line.", completion: .jobNames,
        transform: JobArgument.name)
    var job: Job.Name?

    func validate() throws {
        if job != nil, file != nil {
            throw ValidationError("<job> and --file exclude each other; keep one")
        }
    }

    /// The exit status with which `timerd edit` reports that there is nothing to reload.
    private static let unchanged: Int32 = 99

    func run() throws {
        let table: JobTable
        do throws(Connection.Failure) { table = try connection.table() } catch {
            throw error.exit
        }
        let (config, jobs) = (table.config, table.jobs.count)
        var arguments = [
            "edit", "--config", config, "--unchanged-status", "\(Self.unchanged)",
        ]
        if let file { arguments += ["--file", file] }
        if let job { arguments += ["--", job.description] }
        let status = run(arguments)
        switch status {
        case 0: break
        case Self.unchanged:
            guard connection.json else { return }
            return try connection.show(Self.nothing(of: jobs)) { "" }
        case -1:
            throw Connection.fail(1, TimerdProgram.startFailure(errno))
        default:
            guard connection.json else { throw ExitCode(status) }
            throw Connection.fail(
                status, "nothing was changed; the lines before this one say why")
        }
        try ReloadVerb.reload(over: connection, isStrict: false)
    }

    /// What a reload would answer that changes none of so many jobs.
    private static func nothing(of jobs: Int) -> ReloadReply {
        ReloadReply(
            added: [], redefined: [], removed: [], kept: jobs)
    }

    private func run(_ arguments: [String]) -> Int32 {
        guard connection.json else { return TimerdProgram.run(arguments) }
        // Standard output is for JSON alone: the editor and what is said of the edit go where errors go, which is
        // the terminal if there is one.
        let output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        dup2(STDERR_FILENO, STDOUT_FILENO)
        defer {
            dup2(output, STDOUT_FILENO)
            close(output)
        }
        return TimerdProgram.run(arguments)
    }
}
