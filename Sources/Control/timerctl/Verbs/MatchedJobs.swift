// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl
import TimerCore

/// Arguments that select jobs: names, patterns of names, or all jobs.
struct MatchedJobs: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The jobs' names.", valueName: "job"), completion: .jobNames,
        transform: JobArgument.name)
    var jobs: [Job.Name] = []

    @Flag(help: "Every job of the configuration.")
    var all = false

    @OptionGroup var names: NamePatterns

    func validate() throws {
        if !jobs.isEmpty, all || !names.isEmpty {
            throw ValidationError("name jobs, or choose them with --all or --match, not both")
        }
    }
}
