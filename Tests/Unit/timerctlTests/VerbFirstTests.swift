// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TimerCore

@testable import timerctl

/// What is done to the arguments before they are parsed.
@Suite struct VerbFirstTests {
    @Test(arguments: [
        (["list"], ["list"]), (["--user", "list", "--json"], ["list", "--user", "--json"]),
        (["--json", "--socket", "/x", "why", "a"], ["why", "--json", "--socket", "/x", "a"]),
        (["--socket=/x", "show", "a"], ["show", "--socket=/x", "a"]),
        (["list", "--user"], ["list", "--user"]), ([], []), (["--user"], ["--user"]),
        (["--socket", "/x"], ["--socket", "/x"]), (["--version"], ["--version"]),
        (["--user", "--help"], ["--user", "--help"]),
        (["--user", "notify", "test", "ops"], ["notify", "test", "--user", "ops"]),
        (["--user", "notify", "--json"], ["notify", "--user", "--json"]),
        (["--user", "notify"], ["notify", "--user"]),
    ])
    func optionsMayComeBeforeTheVerb(given: [String], read: [String]) {
        #expect(Timerctl.verbFirst(given[...]) == read)
    }

    /// `--user` without a name is an option of every command.
    @Test(arguments: [
        (["web", "--revoke", "--user", "ann"], ["web", "--revoke", "--owner", "ann"]),
        (["web", "--user", "ann", "--revoke"], ["web", "--owner", "ann", "--revoke"]),
        (["web", "--revoke", "--user"], ["web", "--revoke", "--user"]),
        (["web", "--user", "--revoke"], ["web", "--user", "--revoke"]),
        (["web", "--user", "ann"], ["web", "--user", "ann"]),
        (["list", "--user", "--revoke", "ann"], ["list", "--user", "--revoke", "ann"]),
    ])
    func theUserWhoseSessionsEndIsNamed(given: [String], read: [String]) throws {
        #expect(WebVerb.withOwner(given) == read)
        let own = try Timerctl.parseAsRoot(
            WebVerb.withOwner(["web", "--revoke", "--user", "ann", "--system"]))
        let verb = try #require(own as? WebVerb)
        #expect(verb.owner == "ann" && verb.connection.system && !verb.connection.user)
        for wrong in [["--revoke", "--all", "--user", "ann"], ["--user", "ann"]] {
            #expect(throws: (any Error).self) {
                try Timerctl.parseAsRoot(WebVerb.withOwner(["web"] + wrong))
            }
        }
    }

    /// The parser of command lines would find --help in it.
    @Test(arguments: [
        (["at", "-2h", "--", "-1h"], ["at", " -2h", "--", "-1h"]),
        (["in", "--json", "-1h"], ["in", "--json", " -1h"]), (["in", "-h"], ["in", "-h"]),
        (["in", "1h", "-", "--"], ["in", "1h", "-", "--"]),
        (["log", "a", "-n", "-1"], ["log", "a", "-n", "-1"]), ([], []),
    ])
    func aNegativeTimeIsNoOption(given: [String], read: [String]) {
        #expect(Timerctl.shielded(given) == read)
        #expect(read.map(Timerctl.unshielded) == given)
    }

    @Test(
        arguments: [
            (
                ["pase", "a"],
                "unknown command \"pase\" (did you mean \"pause\"?); see `timerctl --help`"
            ),
            (
                ["--user", "nothing-like-it"],
                "unknown command \"nothing-like-it\"; see `timerctl --help`"
            ),
            (["pause", "a"], nil), (["--help"], nil), ([], nil), (["help"], nil),
            (["--socket", "/x"], nil),
        ] as [([String], String?)])
    func anUnknownCommandIsNamed(given: [String], text: String?) {
        #expect(Timerctl.unknownCommand(given[...]) == text.map { "timerctl: \($0)" })
    }

    /// What other programs call a command gets the command to type here.
    @Test(arguments: [
        ("enable", "timerctl start"), ("disable", "timerctl stop"), ("restart", "timerctl run"),
        ("daemon-reload", "timerctl reload`"), ("delete", "timerctl remove"),
        ("create", "timerctl add"), ("logs", "timerctl log"),
    ])
    func aCommandOfAnotherProgramNamesOurs(word: String, ours: String) throws {
        let text = try #require(Timerctl.unknownCommand([word, "backup"]))
        #expect(text.hasPrefix("timerctl: there is no command \"\(word)\": "))
        #expect(text.contains("`\(ours)"), "\(text)")
    }

    @Test func whatIsBehindTwoDashesIsAppendedToTheCommand() throws {
        func read(_ arguments: String...) throws -> RunVerb {
            try #require(try Timerctl.command(for: arguments[...]) as? RunVerb)
        }
        let verb = try read("--user", "run", "a", "--wait", "--", "full", "--wait", "--", "b")
        #expect(verb.words == ["full", "--wait", "--", "b"] && verb.waiting.wait)
        #expect(verb.argument.jobs.map(\.description) == ["a"] && verb.connection.user)
        #expect(try read("run", "a", "b").words.isEmpty)
        #expect(try read("run", "--all", "--", "full").words == ["full"])
        for wrong in [["run", "--", "full"], ["run", "a", "--", ""], ["run", "a", "--", "a\nb"]] {
            #expect(throws: (any Error).self) { try Timerctl.command(for: wrong[...]) }
        }
    }

    @Test func onlyOneDaemonIsAsked() throws {
        #expect(throws: (any Error).self) {
            try Timerctl.parseAsRoot(["list", "--user", "--socket", "/x"])
        }
        let verb = try #require(try Timerctl.parseAsRoot(["list", "--user"]) as? ListVerb)
        #expect(verb.connection.user)
    }
}
