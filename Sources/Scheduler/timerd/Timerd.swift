// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HostQueues
import TimerCore
import TimerTools
import TimerZones

@main
struct Timerd: ParsableCommand {
    static let versionNumber = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "timerd",
        abstract: "A scheduler that can pause a job and lose nothing.",
        version: versionNumber,
        subcommands: [
            RunCommand.self, InitCommand.self, CheckCommand.self, SimulateCommand.self,
            RestoreCommand.self,
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
