// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The texts for users are in present-day standard English. Words of the project's early private
/// dialect must not come back.
@Suite struct WordsTests {
    private static let refused = [
        "let go", "lets go", "for want of", "forfeit", "stand still", "stands still", "stood still",
        "at zero", "anew", "outlive", "outlived", "outlives", "sign of life",
        "signs of life",
        "calendar clock", "made up for", "makes up for", "whoever", "in force", "own affair",
        "by order of", "ran well", "accrue", "accrued", "accrues", "takes up the", "taken up",
        "a run lives", "runs that live", "still lives", "is told", "are told", "own words",
        "no such time", "a place for", "places for runs", "one's own", "by nobody", "and nobody",
        "nobody is", "nobody can", "nobody reads", "nobody else",
        "somebody",
        "heir", "one word too many",
        "loudly", "twice is once", "would have it", "life-began", "run-taken-up",
        "run-taken-over",
        "skips-set", "formerly",
    ]

    private func faults(in text: String) -> [String] {
        let text = text.lowercased()
        return Self.refused.filter { phrase in
            text.ranges(of: phrase).contains { range in
                let before =
                    range.lowerBound == text.startIndex
                    ? " " : text[text.index(before: range.lowerBound)]
                let after = range.upperBound == text.endIndex ? " " : text[range.upperBound]
                return !isWord(before) && !isWord(after)
            }
        }
    }

    private func isWord(_ character: Character) -> Bool { character.isLetter || character == "_" }

    @Test(arguments: [
        "README.md", "man/timerctl.1", "man/timerd.8", "man/timerd.toml.5", "man/timerd-runner.8",
        "man/timerd-session.8", "man/timerd-api.7", "man/timerd-web.8",
        "systemd/timerd.catalog", "config/timerd.toml", "docs/METRICS.md",
        "docs/CONTAINERS.md", "docs/SECURITY.md", "CONTRIBUTING.md",
    ])
    func pages(path: String) throws {
        for (index, line) in try Project.text(of: path).split(
            separator: "\n", omittingEmptySubsequences: false
        )
        .enumerated() {
            #expect(faults(in: String(line)).isEmpty, "\(path):\(index + 1): \(line)")
        }
    }

    /// The texts in the sources: string literals of one line, and the lines of multi-line literals.
    @Test(arguments: [
        "timerd", "timerd-runner", "timerctl", "TimerConfig", "TimerControl", "TimerCore",
        "TimerRunner", "TimerRunnerClient", "TimerRunnerProtocol", "TimerStore", "HostFiles",
        "Systemd", "SystemdActivation", "TimerZones", "TimerImport", "TimerFleet", "TimerNotify",
    ])
    func sentencesOfThePrograms(target: String) throws {
        for (file, text) in try Project.sources(in: "Sources/\(target)") {
            var isLong = false
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                let marks = line.ranges(of: "\"\"\"").count
                if marks == 1 { isLong.toggle() }
                if line.drop(while: \.isWhitespace).hasPrefix("//") { continue }
                let said =
                    isLong || marks == 1
                    ? String(line)
                    : line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                        .filter { $0.offset % 2 == 1 && $0.element.contains(" ") }
                        .map { String($0.element) }.joined(separator: "\n")
                        .replacing(#/\\\(.*?\)/#, with: "")
                #expect(
                    faults(in: said).isEmpty,
                    "\(file.lastPathComponent):\(index + 1): \(faults(in: said)): \(said)")
            }
        }
    }
}
