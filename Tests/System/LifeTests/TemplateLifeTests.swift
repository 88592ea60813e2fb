// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl
import TimerCore

/// The name of a template in the commands, with the real programs.
@Suite(.ownThreads) struct TemplateLifeTests {
    @Test func itStandsForAllOfItsJobs_orIsRefusedWithTheReason() throws {
        let daemon = try LiveDaemon(
            """
            [job."dump@"]
            instances = ["shop", "crm"]
            every = "1h"
            command = ["sleep", "600"]
            run-arguments = ["601"]
            [job.other]
            every = "1h"
            command = ["sleep", "600"]
            """)
        try daemon.start()
        func say(_ arguments: String...) throws -> (status: Int32, text: String) {
            let said = try ProgramResult(
                of: "timerctl", arguments + ["--socket", daemon.socket])
            return (said.status, said.output + said.errors)
        }
        let shown = try say("show", "dump@shop", "--defaults")
        #expect(shown.status == 0 && shown.text.contains("/timerd.toml:"), "\(shown)")
        #expect(shown.text.contains("built in: \"0s\""), "\(shown)")
        #expect(try say("show", "dump@shop").text.contains("Run arguments: 601\n"))
        let skipped = try say("skip-next", "dump@", "2")
        #expect(skipped.status == 0, "\(skipped)")
        for job in ["dump@shop", "dump@crm"] {
            #expect(skipped.text.contains("\(job): the next 2 runs will be skipped"), "\(skipped)")
        }
        let empty = try say("history", "dump@")
        #expect(empty.status == 0, "\(empty)")
        #expect(try say("run", "dump@").status == 0 && say("run", "other").status == 0)
        #expect(
            try daemon.wait {
                try ["dump@shop", "dump@crm", "other"].allSatisfy {
                    try daemon.show($0).running.first?.began != nil
                }
            })
        let log = try say("log", "dump@")
        #expect(
            log.status == 4
                && log.text.contains(
                    "\"dump@\" is a template; name one of its jobs, such as \"dump@"),
            "\(log)")
        #expect(try say("history", "none@").status == 4 && say("kill", "none@").status == 4)
        let killed = try say("kill", "dump@")
        #expect(killed.status == 0 && killed.text.contains("dump@shop:"), "\(killed)")
        #expect(killed.text.contains("dump@crm:") && !killed.text.contains("other"), "\(killed)")
        #expect(try daemon.wait { try daemon.show("dump@crm").running.isEmpty })
        #expect(try daemon.wait { try daemon.show("dump@shop").running.isEmpty })
        #expect(try !daemon.show("other").running.isEmpty)
        let history = try say("history", "dump@")
        #expect(history.text.contains("dump@shop") && history.text.contains("dump@crm"))
        #expect(try say("kill", "dump@").text.contains("dump@crm: nothing to do"))
        _ = daemon.stop()
    }
}
