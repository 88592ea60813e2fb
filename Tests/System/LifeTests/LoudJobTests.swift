// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Jobs that write more than a log can take delay only themselves.
@Suite(.ownThreads) struct LoudJobTests {
    @Test func jobsThatWriteWithoutEndHoldUpNoOther() throws {
        let daemon = try LiveDaemon(
            """
            [job.loud]
            after = "100ms"
            shell = "exec yes"
            [job.louder]
            after = "100ms"
            shell = "exec yes a line that is longer than the others and comes as often as it can >&2"
            log-rate-limit-interval = "1s"
            log-rate-limit-burst = 500
            [job.tick]
            every = "100ms"
            FIRE
            """)
        try daemon.start()
        #expect(daemon.waitForLog("writes faster than the log takes its lines"))
        #expect(daemon.waitForLog("the job wrote more than log-rate-limit-burst lines"))
        // Dropped lines are also counted in the API's answer about the output.
        let answer = try ControlClient(path: daemon.socket).send(
            .log(Job.Name("louder")!))
        let shown = try ControlJSON.decode(LogReply.self, from: answer.body)
        let run = try #require(try daemon.show("louder").running.first?.id)
        let written = try #require(shown.written.first)
        #expect(shown.written.count == 1 && written.run == run)
        #expect(written.lineCount > shown.lines.count)
        while daemon.nextFiring(until: LiveDaemon.now()) != nil {}
        let began = LiveDaemon.now()
        var ticks = 0
        var missed = 0
        while let tick = daemon.nextFiring(until: began + 4) {
            ticks += 1
            missed += Int(tick.text.split(separator: " ")[1]) ?? 0
        }
        // Of 40. Other tests use this machine, too; if output delayed the jobs, two of 40 would
        // run.
        #expect(ticks >= 16, "\(ticks) ran, \(missed) were folded into others")
        // They can be ended at once as well.
        let before = LiveDaemon.now()
        #expect(daemon.stop() == 0)
        #expect(LiveDaemon.now() - before < 15)
    }
}
