// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct ImportVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "import", _superCommandName: "timerctl",
        abstract: "Make jobs of crontabs and other schedules.",
        discussion: """
            The jobs are printed as TOML, with the line of the source and a note for each deviation. Nothing is changed, \
            neither in the source nor in timerd, unless --all --switch or --back asks for it.

            Exit status: 0 the jobs do the same, 1 there are notes, 2 nothing could be imported.
            """,
        subcommands: [
            ImportCrontabVerb.self, ImportAnacrontabVerb.self, ImportFcrontabVerb.self,
            ImportSystemdVerb.self, ImportAllVerb.self,
        ])
    static let reading = Reading.part("without --switch and --back")

    /// Parses the arguments after `import`. Timerctl itself would take `--user` and `--system`, which name a crontab
    /// here, for the daemon to ask.
    static func parse(after arguments: ArraySlice<String>) throws -> any ParsableCommand {
        // `import --all` is how one would ask for everything.
        let isAll = arguments.first == "--all"
        return try parseAsRoot(isAll ? ["all"] + arguments.dropFirst() : Array(arguments))
    }
}
