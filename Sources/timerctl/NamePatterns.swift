// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// Which jobs are meant, by patterns of their names.
struct NamePatterns: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only jobs with such names, as \"db-*\".", valueName: "pattern"))
    var match: [String] = []

    /// Whether no pattern is given, so that every job is meant.
    var isEmpty: Bool { match.isEmpty }

    /// Whether a job is meant (fnmatch(3)).
    func admit(_ job: String) -> Bool {
        match.isEmpty || match.contains { Self.admit(job, as: $0) }
    }

    /// Whether a name is as the pattern says.
    static func admit(_ job: String, as pattern: String) -> Bool { fnmatch(pattern, job, 0) == 0 }
}
