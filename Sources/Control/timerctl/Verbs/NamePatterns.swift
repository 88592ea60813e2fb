// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// Options that select jobs by patterns of their names.
struct NamePatterns: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only jobs with such names, as \"db-*\".", valueName: "pattern"))
    var match: [String] = []

    /// Whether there is no pattern, so that every job is selected.
    var isEmpty: Bool { match.isEmpty }

    /// Whether the patterns select a job; without any, each is selected.
    func admit(_ job: String) -> Bool {
        match.isEmpty || match.contains { Self.admit(job, as: $0) }
    }

    /// Whether one pattern matches a name.
    static func admit(_ job: String, as pattern: String) -> Bool {
        NamePattern(pattern).matches(job)
    }
}
