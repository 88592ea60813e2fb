// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Output that has no line end yet.
@Suite(.ownThreads) struct UnfinishedOutputTests {
    @Test func aPromptThatWaitsIsShown_andLoggedWhenItIsEnded() throws {
        let daemon = try LiveDaemon(
            """
            [job.ask]
            every = "1h"
            shell = "printf 'Password: '; exec sleep 300"
            """)
        try daemon.start()
        _ = try daemon.ask(.command(.run, Job.Name("ask")!))
        let deadline = LiveDaemon.now() + 30
        var shown = ""
        while LiveDaemon.now() < deadline, !shown.contains(" > Password: ") {
            shown = try daemon.timerctl("log", "ask").text
            usleep(20_000)
        }
        #expect(shown.contains(" > Password: "), "\(shown)")
        #expect(!shown.contains("it has printed nothing so far"), "\(shown)")
        let answer = try ControlClient(path: daemon.socket).send(
            .log(Job.Name("ask")!, LogQuery(after: 0)))
        let log = try ControlJSON.decode(LogReply.self, from: answer.body)
        #expect(log.lines.isEmpty && log.unfinished?.map(\.text) == ["Password: "])
        #expect(log.unfinished?.first?.number == 1)
        // The whole line is logged once.
        #expect(!daemon.log.contains("Password: "))
        #expect(try daemon.timerctl("kill", "ask").status == 0)
        #expect(daemon.waitForLog("Password: "))
        #expect(daemon.stop() == 0)
    }
}
