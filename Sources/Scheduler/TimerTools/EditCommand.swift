// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import HostQueues
import TimerConfig
import TimerCore

/// `timerd edit`: opens a file of the configuration in an editor, and replaces it only if it has no
/// error.
package struct EditCommand: ParsableCommand {
    package init() {}

    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Edit a file of the configuration, and check it before it is replaced.",
        discussion: """
            A copy is opened with $VISUAL, $EDITOR, sensible-editor or vi. `timerctl edit` does the same for the \
            configuration of a running daemon, and reloads it.
            """)

    @OptionGroup var config: ConfigOption

    @Option(
        help: ArgumentHelp(
            "The file to edit, if no job is named (default: the configuration file).",
            valueName: "file"), completion: .file())
    var file: String?

    /// The exit status if nothing was changed. `timerctl edit` sets it, to know whether to reload.
    @Option(help: .private)
    var unchangedStatus: Int32 = 0

    @Argument(help: "The job whose file is edited, at its line.")
    var job: String?

    func validate() throws {
        if job != nil, file != nil {
            throw ValidationError("<job> and --file exclude each other; keep one")
        }
        if let job, Job.Name(job) == nil {
            throw ValidationError("\"\(job)\": \(Job.Name.fault(in: job) ?? "not a job name")")
        }
    }

    func run() throws {
        do throws(ConfigEditor.Failure) {
            let editor = try ConfigEditor(
                config: config.config, file: file, job: job.flatMap { Job.Name($0) })
            guard try !editor.run() else { return }
        } catch {
            Output.complain("timerd: \(error.description)")
            throw ExitCode(1)
        }
        guard unchangedStatus == 0 else { throw ExitCode(unchangedStatus) }
    }
}
