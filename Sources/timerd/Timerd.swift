// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Options
import TimerZones

/// The daemon's program.
@main
enum Timerd {
    static let versionNumber = "0.1.0"

    static let usage = Usage(
        "timerd", "A scheduler that can pause a job and lose nothing.", version: versionNumber,
        commands: [
            RunCommand.usage, CheckCommand.usage, SimulateCommand.usage, RestoreCommand.usage,
        ])

    static func main() {
        Signals.block()
        let zoneFault = ZoneEnvironment.dropUnusable()
        usage.main { given in
            guard given.command != RunCommand.usage.name else {
                return try RunCommand(given, zoneFault: zoneFault).run()
            }
            Signals.unblock()
            if let zoneFault { Output.complain("warning: \(zoneFault)") }
            guard given.command != CheckCommand.usage.name else {
                return try CheckCommand(given).run()
            }
            guard given.command != RestoreCommand.usage.name else {
                return try RestoreCommand(given).run()
            }
            try SimulateCommand(given).run()
        }
    }
}

extension Usage.Option {
    /// The configuration file, as every command takes it.
    static var config: Usage.Option {
        .value(
            "config", "FILE", "The configuration file; files in jobs.d beside it are read as well.",
            standard: Standard.config, completion: .file)
    }
}
