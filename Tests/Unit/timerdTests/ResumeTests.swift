// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerControl
import TimerCore

@testable import timerctl
@testable import TimerDaemon

/// When `timerctl resume` asks before it ends pauses of several users.
@Suite struct ResumeTests {
    /// Paused jobs, each with its user and with a note or without.
    private static func jobs(_ pauses: [(by: String, note: String?)]) throws -> [JobTable.Row] {
        let jobs = pauses.enumerated().map { index, pause in
            let note = pause.note.map { #","note":"\#($0)""# } ?? ""
            return
                #"{"job":"j\#(index)","state":"paused","active_usec":0,"running":[],"paused":{"since":"2026-11-18T10:00:00Z","by":"\#(pause.by)"\#(note)}}"#
        }
        let text = #"{"config":"/c","rejected":[],"jobs":[\#(jobs.joined(separator: ","))]}"#
        return try ControlJSON.decode(JobTable.self, from: Array(text.utf8)).jobs
    }

    @Test(
        arguments: [
            ([("ada", nil), ("ada", nil)], true, ResumeConfirmation.Decision.granted),
            ([("ada", "swap")], true, .asks), ([("ada", nil), ("bob", nil)], true, .asks),
            ([("bob", nil)], true, .asks), ([("the configuration", nil)], true, .asks),
            ([("uid 7", nil)], true, .granted),
            // Scripts can end the pauses of their own user.
            ([("ada", nil), ("ada", "swap")], false, .granted),
            (
                [("bob", nil), ("ada", nil), ("eve", "x"), ("bob", nil)], false,
                .refused(
                    "3 pauses of other users would end (2 by bob, 1 by eve); nothing was changed; "
                        + "choose pauses with --by USER or --note TEXT, or end all of them with --yes"
                )
            ),
        ] as [([(String, String?)], Bool, ResumeConfirmation.Decision)])
    func pausesOfOthersAreNotEndedUnasked(
        pauses: [(String, String?)], isTerminal: Bool, decision: ResumeConfirmation.Decision
    ) throws {
        let jobs = try Self.jobs(pauses.map { (by: $0.0, note: $0.1) })
        #expect(
            ResumeConfirmation(jobs).decision(for: ["ada", "uid 7"], isTerminal: isTerminal)
                == decision)
    }

    @Test func theQuestionSaysWhatWouldEnd() throws {
        let jobs = try Self.jobs([("ada", "disk\\u001b swap"), ("bob", nil)])
        let text = ResumeConfirmation(jobs).text(on: Screen(columns: 80))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines[0] == "This ends 2 pauses: 1 by ada, 1 by bob")
        #expect(lines[1].split(separator: " ") == ["JOB", "PAUSED", "BY", "SINCE", "NOTE"])
        #expect(
            lines[2].hasPrefix("j0   ada        2026-11-1")
                && lines[2].hasSuffix("  disk\\x1b swap"))
        #expect(lines[3].hasPrefix("j1   bob "))
        let many = try Self.jobs(Array(repeating: (by: "bob", note: nil), count: 1000))
        let long = ResumeConfirmation(many).text(on: Screen(columns: 80)).split(separator: "\n")
        #expect(long.count == 23 && long[22].hasPrefix("and 980 more; "))
    }

    @Test(arguments: [
        [], ["a", "--all"], ["a", "--match", "x*"], ["a", "--by", "ada"], ["a", "--note", "x"],
        ["--yes"],
    ])
    func contradictoryOptionsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try ResumeVerb.parse(arguments) }
    }

    @Test(arguments: [
        ["a"], ["a", "b", "-y"], ["--all"], ["--match", "x*"], ["--by", "ada", "--note", "x"],
        ["--all", "--by", "ada", "--yes"],
    ])
    func jobsAreNamedOrChosen(arguments: [String]) throws {
        _ = try ResumeVerb.parse(arguments)
    }

    @Test(arguments: [[], ["a", "--all"], ["a", "--match", "x*"], ["--by", "ada", "--all"]])
    func aPauseIsForJobsThatAreNamedOrMatch(arguments: [String]) {
        #expect(throws: (any Error).self) { try PauseVerb.parse(arguments) }
    }
}
