// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerCore
import TimerZones

@main
struct Timerd: ParsableCommand {
    static let versionNumber = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "timerd",
        abstract: "A scheduler that can pause a job and lose nothing.",
        version: versionNumber,
        subcommands: [
            RunCommand.self, CheckCommand.self, SimulateCommand.self, RestoreCommand.self,
            SchemaCommand.self, EditCommand.self, WebCommand.self,
        ])

    static func main() {
        Signals.block()
        OrphanReaper.block()
        let zoneFault = ZoneEnvironment.dropUnusable()
        do {
            var command = try parseAsRoot()
            if let run = command as? RunCommand { return try run.run(zoneFault: zoneFault) }
            Signals.unblock()
            if let zoneFault { Output.complain("warning: \(zoneFault)") }
            try command.run()
        } catch let error where exitCode(for: error) == .validationFailure {
            Output.complain(WrongUsage.text(fullMessage(for: error)))
            exit(withError: ExitCode(WrongUsage.status))
        } catch {
            exit(withError: error)
        }
    }
}

/// The option `--config`, which several commands have.
struct ConfigOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The configuration file; files in jobs.d beside it are read as well.", valueName: "file"
        ),
        completion: .file())
    var config: String = Standard.config
}

/// The options for the directories of the daemon.
struct DirectoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the saved state (default: \(Standard.state)).",
            valueName: "directory"),
        completion: .directory)
    var state: String?

    @Option(
        help: ArgumentHelp(
            """
            The directory for what does not need to survive a reboot (default: run in that of --state, or \
            \(Standard.runtime) without --state).
            """, valueName: "directory"),
        completion: .directory)
    var runtime: String?

    var statePath: String { state ?? Standard.state }

    /// If only the state directory is given, the runtime directory is inside it. The standard one
    /// contains the heartbeat, the runner and the socket of another daemon.
    var runtimePath: String { runtime ?? state.map { "\($0)/run" } ?? Standard.runtime }
}
