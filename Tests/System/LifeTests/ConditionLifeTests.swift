// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// Conditions under the real programs.
@Suite(.ownThreads) struct ConditionLifeTests {
    private static func config(_ mark: String) -> String {
        """
        [job.skips]
        every = "1h"
        command = ["true"]
        condition = { path-exists = ["\(mark)"] }
        [job.waits]
        every = "1h"
        command = ["true"]
        condition = { command = ["test", "-e", "\(mark)"], otherwise = "wait", wait-max = "10min" }

        """
    }

    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func last(_ job: String, _ daemon: LiveDaemon) throws -> String? {
        try daemon.show(job).last?.outcome
    }

    @Test func aRunIsSkippedOrWaits_alsoOverAKilledDaemon() throws {
        let mark = "/tmp/timerd-condition-\(UUID().uuidString)"
        defer { unlink(mark) }
        let daemon = try LiveDaemon(Self.config(mark))
        try daemon.start()
        #expect(try daemon.ask(.command(.run, name("skips"))).status == 200)
        #expect(
            try daemon.wait {
                try last("skips", daemon) == "skipped(condition path-exists \(mark))"
            })
        let history = try daemon.timerctl("history", "skips")
        #expect(history.text.contains("condition"), "\(history)")

        #expect(try daemon.ask(.command(.run, name("waits"))).status == 200)
        #expect(
            try daemon.wait { try daemon.show("waits").running.first?.waits == "condition" })
        let waiting = try #require(try daemon.show("waits").running.first)
        #expect(waiting.unmet == "command exited with 1")
        let why = try daemon.timerctl("why", "waits")
        #expect(
            why.text.contains("waits for its condition: command exited with 1 is not met"),
            "\(why)")

        _ = daemon.kill()
        try daemon.start()
        #expect(try daemon.show("waits").running.first?.id == waiting.id)
        try Data().write(to: URL(fileURLWithPath: mark))
        #expect(try daemon.wait { try last("waits", daemon) == "exited(0)" })
        #expect(try daemon.show("waits").last?.id == waiting.id)

        unlink(mark)
        #expect(try daemon.timerctl("run", "--force", "skips").status == 0)
        #expect(try daemon.wait { try last("skips", daemon) == "exited(0)" })
        _ = daemon.stop()
    }
}
