// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Options

/// The daemon's program.
@main
enum Timerd {
    static let versionNumber = "0.1.0"

    static let usage = Usage(
        "timerd", "A scheduler that can pause a job and lose nothing.", version: versionNumber,
        commands: [RunCommand.usage, CheckCommand.usage, SimulateCommand.usage])

    static func main() {
        usage.main { given in
            switch given.command {
            case CheckCommand.usage.name: try CheckCommand(given).run()
            case SimulateCommand.usage.name: try SimulateCommand(given).run()
            default: try RunCommand(given).run()
            }
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
