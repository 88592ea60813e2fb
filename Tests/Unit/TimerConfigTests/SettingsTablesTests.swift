// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// The tables `[control]` and `[web]`.
@Suite struct SettingsTablesTests {
    private func read(_ text: String) throws -> ConfigReading {
        try ConfigReader.read(Array(text.utf8), file: "t.toml")
    }

    @Test func operatorsAndHostsAreRead() throws {
        let reading = try read(
            """
            [control]
            operators = ["alice", "@ops", "bob"]
            [web]
            hosts = ["Jobs.Example.org", "127.0.0.2:8443"]
            """)
        #expect(reading.errors.isEmpty)
        #expect(
            reading.settings.operators == AllowedUsers(users: ["alice", "bob"], groups: ["ops"]))
        #expect(reading.settings.webHosts == ["jobs.example.org", "127.0.0.2:8443"])
        #expect(reading.settingsFiles == ["t.toml"])
        let none = try read("[control]\noperators = []\n[web]\nhosts = []\n")
        #expect(none.errors.isEmpty && none.settings.operators.users.isEmpty)
    }

    @Test(
        arguments: [
            ("[control]\noperators = \"alice\"", "2:13: [control]: operators: must be an array"),
            (
                "[control]\noperators = [\"0\"]",
                "2:14: [control]: operators: \"0\" is not a valid name"
            ),
            (
                "[control]\noperators = [\"@\"]",
                "2:14: [control]: operators: \"\" is not a valid name"
            ),
            (
                "[control]\noperator = [\"a\"]",
                "2:1: [control]: unknown key \"operator\" (did you mean \"operators\"?)"
            ),
            ("[contol]\n", "1:2: unknown table \"contol\" (did you mean \"control\"?)"),
            ("[web]\nhosts = [\"*\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\"https://a\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\"a:0\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\"a:\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\"a:+1\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\"\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\"a/b\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = [\".a\"]", "2:10: [web]: hosts: is not a host"),
            ("[web]\nhosts = 1", "2:9: [web]: hosts: must be an array"),
        ])
    func whatIsWrongIsTold_withItsPlace(text: String, fault: String) throws {
        let errors = try read(text).errors.map(\.description)
        #expect(errors.count == 1)
        #expect(errors.first?.hasPrefix("t.toml:\(fault)") == true, "\(errors)")
    }
}
