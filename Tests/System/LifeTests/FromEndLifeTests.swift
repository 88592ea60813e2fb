// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl
import TimerCore

/// An interval that is counted from the end of each run, when the daemon is killed meanwhile.
@Suite(.ownThreads) struct FromEndLifeTests {
    /// The run ends while no daemon runs. The next daemon learns when that was, and counts the
    /// interval from there.
    @Test func theIntervalBeginsAtTheRealEnd_thoughNoDaemonSawIt() throws {
        let daemon = try LiveDaemon("")
        try daemon.write(
            """
            [job.a]
            every = "1h"
            first = "0s"
            from = "end"
            count = "wall"
            shell = "echo up $$ > \(daemon.folder)/fired; read go < \(daemon.folder)/go"
            """)
        mkfifo("\(daemon.folder)/go", 0o600)
        try daemon.start()
        let up = try #require(daemon.nextFiring(until: daemon.ready + 60))
        let pid = try #require(up.text.split(separator: " ").last.flatMap { Int32($0) })
        let running = try daemon.show("a")
        #expect(running.from == "end" && running.next == nil && running.remainingUsec == nil)
        _ = daemon.kill()
        try "go\n".write(toFile: "\(daemon.folder)/go", atomically: false, encoding: .utf8)
        #expect(daemon.wait { Glibc.kill(pid, 0) != 0 })
        // Time in which no daemon runs, and which counts.
        LiveDaemon.pass(until: LiveDaemon.now() + 2)
        try daemon.start()
        #expect(try daemon.wait { try daemon.show("a").last != nil })
        let after = try daemon.show("a")
        #expect(after.last?.outcome == "exited(0)")
        let ended = try #require(after.last?.ended.flatMap { WallInstant(rfc3339: $0) })
        let next = try #require(after.next.flatMap { WallInstant(rfc3339: $0) })
        // The two clocks are read one after the other.
        #expect(abs((next - ended - .seconds(3600)).wholeMicroseconds) < 100_000)
        #expect(try #require(after.remainingUsec) <= 3_598_100_000)
        #expect(daemon.nextFiring(until: LiveDaemon.now() + 0.3) == nil, "it ran twice")
        #expect(daemon.stop() == 0)
    }

    /// Killed again and again, at any moment: the runs never overlap, and each starts an interval
    /// after the end of the one before, or later.
    @Test func killedAtAnyMoment_itNeverRunsTooEarly() throws {
        let daemon = try LiveDaemon("")
        try daemon.write(
            """
            [job.a]
            every = "300ms"
            first = "0s"
            from = "end"
            shell = "echo b $(date +%s%N) >> \(daemon.folder)/times; sleep 0.2; echo e $(date +%s%N) >> \(daemon.folder)/times"
            """)
        for kill in 0..<12 {
            try daemon.start()
            LiveDaemon.pass(until: LiveDaemon.now() + Double(kill % 4) * 0.23 + 0.05)
            _ = daemon.kill()
        }
        try daemon.start()
        func times() throws -> [(kind: Substring, at: Int64)] {
            let text = try? String(contentsOfFile: "\(daemon.folder)/times", encoding: .utf8)
            return (text ?? "").split(separator: "\n").compactMap { line in
                let parts = line.split(separator: " ")
                guard parts.count == 2, let at = Int64(parts[1]) else { return nil }
                return (parts[0], at)
            }
        }
        #expect(try daemon.wait { try times().count >= 8 })
        #expect(daemon.stop() == 0)
        let found = try times()
        for (number, pair) in zip(found, found.dropFirst()).enumerated() {
            #expect(pair.0.kind != pair.1.kind, "\(number): runs overlap or one is missing")
            guard pair.0.kind == "e" else { continue }
            // The shell notes the end a little before its process ends, and no clock goes back.
            let gap = pair.1.at - pair.0.at
            #expect(gap >= 300_000_000, "\(number): \(gap) ns after the end")
        }
    }
}
