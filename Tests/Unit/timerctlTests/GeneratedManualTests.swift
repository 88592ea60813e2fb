// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ManualPages
import ProjectFiles
import Testing
import TimerCore

@testable import timerctl

/// The parts of timerctl(1) that come from the commands, and what is beside them by hand.
@Suite struct GeneratedManualTests {
    private static let file = "man/timerctl.1"

    private static var readers: [(command: String, part: String?)] {
        Timerctl.verbs.compactMap { verb in
            switch verb.reading {
            case .all: (verb._commandName, nil)
            case .part(let part): (verb._commandName, part)
            case .nothing: nil
            }
        }
    }

    @Test func timerctl1SaysWhatTheCommandsSay() throws {
        let page = GeneratedPage(try Tool(Timerctl._dumpHelp()), readers: Self.readers)
        let text = try page.applied(to: try Project.text(of: Self.file))
        let difference = try Project.difference(of: Self.file, from: text)
        #expect(difference == nil)
    }

    @Test func eachCommandHasATextInTimerctl1_andNoOther() throws {
        let text = try Project.text(of: Self.file)
        let items = text.split(separator: "\n").filter { $0.hasPrefix(".It Ic ") }.map {
            String($0.split(separator: " ")[2]).replacing("\\-", with: "-")
        }
        let verbs = try Tool(Timerctl._dumpHelp()).verbs
        #expect(items.sorted() == verbs.map(\.commandName).sorted())
        for alias in verbs.flatMap({ $0.aliases ?? [] }) {
            #expect(text.contains(".Ic \(alias)"), "\(alias)")
        }
    }

    @Test func noCommandForAJobIsOneThatReads() {
        let reading = Timerctl.verbs.reduce(into: [:]) { $0[$1._commandName] = $1.reading }
        for verb in JobCommand.Verb.allCases {
            #expect(reading[verb.rawValue] == .nothing, "\(verb)")
        }
    }

    /// The table of commands, and the list of the others below it.
    @Test func theGuideNamesEachCommandOnce_andOnlyItsOptions() throws {
        let tool = try Tool(Timerctl._dumpHelp())
        let text = try Project.text(of: "docs/USING.md")
        let table = try #require(
            text.firstMatch(of: #/\| `timerctl` \| \|\n\|---\|---\|\n((?:\|.*\n)+)/#))
        let others = try #require(
            text.firstMatch(of: #/The others are in .*: ([^.]+)\./#))
        var named = others.1.matches(of: #/`([a-z-]+)`/#).map { String($0.1) }
        for row in table.1.split(separator: "\n") {
            let cell = row.replacing("\\|", with: " or ").split(separator: "|")[0]
            let verbs = cell.matches(of: #/`([a-z-]+)/#).map { String($0.1) }
            named += verbs
            let known = verbs.reduce(into: Set<String>()) {
                $0.formUnion(tool.options(ofVerb: $1))
            }
            for match in row.matches(of: #/[\[ `]-(-?[a-z][a-z-]*)/#) {
                #expect(known.contains(String(match.1)), "\(verbs): \(match.1)")
            }
        }
        #expect(named.sorted() == tool.verbs.map(\.commandName).sorted())
    }

    // MARK: - How a part is made

    private struct Sample: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sample", version: "1", subcommands: [One.self, Two.self])
    }

    private struct One: ParsableCommand {
        enum Size: String, CaseIterable, ExpressibleByArgument { case small, large }

        static let configuration = CommandConfiguration(commandName: "one", aliases: ["uno"])

        @Option(
            name: [.short, .long],
            help: ArgumentHelp("Of `sample two -x`. As in crontab(5), 'so'.", valueName: "count"))
        var number = 3
        @Option(help: "How large.") var size: [Size] = []
        @Flag(help: "Not so.") var never = false
        @Argument(help: ArgumentHelp("Which.", valueName: "job|run")) var target: String
    }

    private struct Two: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "two")

        @Flag(help: "Not so.") var never = false
        @Argument(parsing: .postTerminator, help: ArgumentHelp("It.", valueName: "word"))
        var words: [String] = []
    }

    private static func made(_ parts: String...) throws -> [String] {
        let page = GeneratedPage(
            try Tool(Sample._dumpHelp()),
            readers: [("one", nil), ("two", "--never"), ("x", "but y")])
        let text = parts.map { ".\\\" Made by \"make generated\": \($0)\nold\n.\\\" End.\n" }
        return try page.applied(to: text.joined()).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix(".\\\"") }
    }

    @Test func theSynopsisHasEachArgument() throws {
        #expect(
            try Self.made("synopsis") == [
                ".Nm", ".Cm one | uno", ".Op Fl n Ar COUNT", ".Op Fl \\-size Ar SIZE",
                ".Op Fl \\-never", ".Ar JOB | RUN", ".Nm", ".Cm two", ".Op Fl \\-never",
                ".Cm \\-\\-", ".Ar WORD ...",
            ])
    }

    @Test func anOptionHasItsSentence_andIsInOnePart() throws {
        #expect(
            try Self.made("options of one", "options of one, two") == [
                ".Bl -tag -width Ds", ".It Fl n , Fl \\-number Ar COUNT", "Of",
                ".Ql sample two \\-x .", "As in", ".Xr crontab 5 ,", "\\&'so'.", "The default is",
                ".Cm 3 .", ".It Fl \\-size Ar SIZE", "How large.", "One of", ".Cm small", "or",
                ".Cm large .", "It may be given more than once.", ".El", ".Bl -tag -width Ds",
                ".It Fl \\-never", "Not so.", ".El",
            ])
    }

    @Test func theReadersAreASentence() throws {
        #expect(
            try Self.made("readers") == [
                ".Cm one ,", ".Cm two Fl \\-never ,", "and", ".Cm x", "but y.",
            ])
    }

    @Test(arguments: [
        (["options of one"], "no part has the option -never of two"),
        (["options of three"], "there is no such command"), (["other"], "there is no part"),
    ])
    func aPageWithoutAnOptionIsNotMade(parts: [String], says: String) {
        do {
            let lines = try Self.made(parts[0])
            Issue.record("\(lines)")
        } catch {
            #expect("\(error)".contains(says), "\(error)")
        }
    }
}
