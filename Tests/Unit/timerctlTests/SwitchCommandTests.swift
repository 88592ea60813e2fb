// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

/// The options of `timerctl import --all --switch`, and how systemd is asked.
@Suite struct SwitchCommandTests {
    @Test func eachOptionHasItsPlace() throws {
        func read(_ words: String...) throws -> ImportAllVerb {
            try #require(try ImportVerb.parse(after: words[...]) as? ImportAllVerb)
        }
        let verb = try read("--all", "--switch", "--only", "anna", "--only", "a.timer", "-y")
        #expect(verb.switch && !verb.back && verb.only == ["anna", "a.timer"] && verb.yes)
        #expect(try read("all", "--back").back)
        #expect(try !read("--all").switch)
        for wrong in [["--switch", "--back"], ["--only", "anna"], ["--yes"]] {
            #expect(throws: (any Error).self, "\(wrong)") {
                try ImportVerb.parse(after: (["--all"] + wrong)[...])
            }
        }
    }

    /// As `systemd-escape` does not, and `bus_label_escape` of systemd does.
    @Test(arguments: [
        ("backup.timer", "backup_2etimer"), ("a-b@c.timer", "a_2db_40c_2etimer"),
        ("0x.timer", "_30x_2etimer"), (#"a\x2db.timer"#, "a_5cx2db_2etimer"),
    ])
    func theNameOfAUnitIsPartOfAPath(name: String, label: String) {
        #expect(SwitchTimer.label(name) == label)
    }
}
