// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerConfig
import TimerCore

/// What is wrong with a configuration that was read, so that it can be said once.
struct ConfigFindings: Sendable {
    /// Findings of one kind, each with the sentence that reports it.
    struct Sentences: Sendable {
        private var all: [(finding: Finding, sentence: String)]
        /// How many others there are, which are only counted.
        private var more: Int

        fileprivate init(_ all: [(Finding, String)], more: Int) {
            self.all = all.map { (finding: $0, sentence: $1) }
            self.more = more
        }

        /// The sentences to report, with a last one for those that are only counted.
        var sentences: [String] {
            all.map(\.sentence)
                + (more > 0 && !all.isEmpty ? ["and \(more) more; see `timerd check`"] : [])
        }

        fileprivate func without(_ others: Sentences) -> Sentences {
            let before = Set(others.all.map(\.finding))
            var rest = self
            rest.all.removeAll { before.contains($0.finding) }
            return rest
        }
    }

    /// One of them, wherever in its file it is: a line that is added above changes the place only.
    fileprivate struct Finding: Hashable, Sendable {
        var file: String
        var message: String
    }

    var warnings: Sentences
    var errors: Sentences

    /// What was found when a configuration was read.
    init(of reading: ConfigReading) {
        let reported = reading.reportedWarnings
        warnings = Sentences(
            reported.map { (Finding(file: $0.file, message: $0.message), $0.description) },
            more: reading.warningCount - reported.count)
        errors = Sentences(
            reading.errors.map { (Finding(file: $0.file, message: $0.message), $0.description) },
            more: 0)
    }

    /// Those of them that the others do not have.
    /// - Complexity: O(*n*) in the number of both.
    func without(_ others: ConfigFindings) -> ConfigFindings {
        var rest = self
        rest.warnings = warnings.without(others.warnings)
        rest.errors = errors.without(others.errors)
        return rest
    }
}

extension ConfigReading {
    /// How many warnings of one reload are logged.
    static let warningsMax = 100

    /// Adds a warning that not everything was checked.
    mutating func warnUnchecked(in file: String) {
        warningCount += 1
        warnings.insert(
            ConfigWarning(
                code: .notChecked, file: file, mark: SourceMark(line: 1, column: 1),
                message: TimeLimitedMachine.timeoutMessage),
            at: 0)
    }

    /// The warnings without the notes; of very many the first.
    fileprivate var reportedWarnings: ArraySlice<ConfigWarning> {
        warnings.filter { !$0.isNote }.prefix(Self.warningsMax)
    }
}
