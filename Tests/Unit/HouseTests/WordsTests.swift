// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// The texts for users are in present-day standard English. Words of the project's early private
/// dialect must not come back.
@Suite struct WordsTests {
    private static let refused = [
        "let go", "lets go", "for want of", "forfeit", "forfeited", "stand still", "stands still",
        "stood still", "what passes meanwhile", "at zero", "anew", "outlive", "outlived",
        "outlives", "sign of life", "signs of life", "calendar clock", "made up for",
        "makes up for", "whoever", "in force", "own affair", "by order of", "orders them about",
        "orders about", "all stays", "ran well", "accrue", "accrued", "accrues",
        "takes up the", "takes up", "taken up", "taken over", "is taken over", "a run lives",
        "runs that live", "still lives", "is told", "are told", "own words", "no such time",
        "a place for", "places for runs", "waits for a place", "want of memory", "one's own",
        "by nobody", "and nobody", "nobody is", "nobody can", "nobody reads", "nobody else",
        "somebody", "heir", "heirs", "one word too many", "loudly", "is left out, loudly",
        "twice is once", "is doing it once", "would have it", "have it stand", "of chance",
        "could not begin", "is no timerd", "is to be the", "fired for the last time",
        "life-began", "run-taken-up",
        "run-taken-over", "skips-set", "formerly", "witness", "witnessed", "farewell", "hush",
        "all the same", "goes on with", "is to come", "lies outside", "what came of", "is no name",
        "is no address", "is no instant", "is no size", "no name of a", "one-off-made",
    ]

    /// Names of types, functions and variables that were replaced by plain ones.
    private static let refusedNames: Set<String> = [
        "Recollection", "ToldRun", "HeldRun", "ClientPost", "ClientWork", "Catalogue",
        "RunnerReach", "Teller", "Pulse", "Roster", "Backlog", "Untold", "Inbox", "Precedence",
        "Listings", "Alarms", "letGo", "giveUp", "callOff", "takeUp", "takeOver", "isStirred",
        "darkUntil", "steppedOver", "wasBegun", "lastSign", "witnessed", "forfeit", "keepSmall",
        "planStatus", "thinOut", "suffer", "hush", "tellings", "owed", "farewell", "lookAtGroup",
        "takeEnd", "bury", "suitSlice", "heirs", "obey", "toldRuns", "untold", "hasStandings",
        "keepTogether", "tellStatus", "give_up", "leave_table", "claim_ends", "become_job",
        "Surroundings", "trouble", "Remark", "Ending", "PatientMachine", "MachineLook", "FileLook",
        "LifeColumn", "Lane", "lanes", "OutputLane", "CronWalk", "ResumeConsent", "Concerned",
        "LeftGroup", "writeTogether", "parent_side",
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

    /// All pages of the documentation, and the texts that are installed. Names in code are not words.
    @Test func pages() throws {
        let documents = try ["docs", "docs/internals", "man", "config"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: Project.url(of: folder).path)
                .filter { $0.contains(".") }.map { "\(folder)/\($0)" }
        }
        let pages =
            documents + [
                "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "systemd/timerd.catalog",
            ]
        #expect(pages.count > 20)
        for path in pages {
            let lines = try Project.text(of: path).replacing(#/`[^`\n]*`/#, with: "`")
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                let found = faults(in: String(line))
                #expect(found.isEmpty, "\(path):\(index + 1): \(found): \(line)")
            }
        }
    }

    @Test func namesOfTheCode() throws {
        let sources = try Project.sources(in: "Sources", ending: ["swift", "c", "h"])
        #expect(sources.count > 300)
        for (file, text) in sources {
            let words = Set(text.split { !isWord($0) }.map(String.init))
            let found = words.intersection(Self.refusedNames).sorted()
            #expect(found.isEmpty, "\(file.lastPathComponent): \(found)")
        }
    }

    /// The comments of the sources, without the names of the code in them.
    @Test func comments() throws {
        let sources = try Project.sources(in: "Sources", ending: ["swift", "c", "h"])
        var count = 0
        for (file, text) in sources {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                guard let start = line.firstRange(of: "//")?.upperBound else { continue }
                count += 1
                let found = faults(in: String(line[start...].replacing(#/`[^`]*(`|$)/#, with: "`")))
                #expect(found.isEmpty, "\(file.lastPathComponent):\(index + 1): \(found): \(line)")
            }
        }
        #expect(count > 10_000)
    }

    /// The texts in the sources: string literals of one line, and the lines of multi-line literals.
    @Test(arguments: [
        "timerd", "TimerAPI", "TimerDaemon", "TimerHTTP", "TimerLog", "TimerRecording",
        "TimerTools", "TimerWeb", "timerd-runner", "timerctl", "TimerConfig", "TimerControl",
        "TimerCore",
        "TimerRunner", "TimerRunnerClient", "TimerRunnerProtocol", "TimerStore", "HostFiles",
        "Systemd", "SystemdActivation", "TimerZones", "TimerImport", "TimerFleet", "TimerNotify",
        "EtcdClient", "TimerFleetLink", "timerd-fleet",
    ])
    func sentencesOfThePrograms(target: String) throws {
        for (file, text) in try Project.sources(in: Project.folder(of: target)) {
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
