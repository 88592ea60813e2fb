// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// A reload that changes many jobs, and a daemon that is killed at any instant of it.
@Suite(.ownThreads) struct ReloadKillTests {
    private static let count = 2000

    /// In each round all jobs have another interval; some are removed, some renamed, and some are
    /// new.
    private func jobs(_ round: Int) -> String {
        (0..<Self.count).map { number in
            var lines = "[job.\(Self.name(number, round))]\nevery = \"\(10 + round)h\"\nFIRE\n"
            if number % 10 == 1, round > 0 {
                lines += "renamed-from = \"\(Self.name(number, round - 1))\"\n"
            }
            return number % 10 == 2 && number % (round + 2) == 0 ? "" : lines
        }.joined()
    }

    private static func name(_ number: Int, _ round: Int) -> String {
        number % 10 == 1 ? "job-\(number)-\(round)" : "job-\(number)"
    }

    private func table(_ daemon: LiveDaemon) throws -> JobTable {
        try ControlJSON.decode(JobTable.self, from: Array(try daemon.ask(.list).text.utf8))
    }

    @Test func afterAKillTheJobsAreThoseOfTheConfiguration_andTheirTimeIsKept() throws {
        var random = SeededRandom()
        let daemon = try LiveDaemon(jobs(0))
        try daemon.start()
        let began = LiveDaemon.now()
        var away = 0.0
        for round in 1...6 {
            try daemon.write(jobs(round))
            let client = Process()
            client.executableURL = URL(fileURLWithPath: "\(LiveDaemon.programs)/timerctl")
            client.arguments = ["reload", "--socket", daemon.socket]
            client.standardOutput = FileHandle.nullDevice
            client.standardError = FileHandle.nullDevice
            try client.run()
            LiveDaemon.pass(until: LiveDaemon.now() + Double(random.int(below: 1500)) / 1000)
            let killed = LiveDaemon.now()
            _ = daemon.kill()
            client.waitUntilExit()
            try daemon.start()
            away += LiveDaemon.now() - killed
            let asked = LiveDaemon.now() - began
            let found = try table(daemon)
            let answered = LiveDaemon.now() - began
            let expected = (0..<Self.count).filter { $0 % 10 != 2 || $0 % (round + 2) != 0 }
            #expect(
                found.jobs.map(\.job) == expected.map { Self.name($0, round) }, "round \(round)")
            // A kill costs at most a second, and no time is gained except during the starts, where
            // time counts from the loading of the jobs.
            let least = asked - away - Double(round) - 1
            let most = answered - away + 2 * Double(round)
            for (job, number) in zip(found.jobs, expected) where number % 10 != 2 {
                let active = Double(job.activeUsec) / 1e6
                #expect(
                    active >= least && active <= most,
                    "\(job.job) has \(active) s of \(least) to \(most) s in round \(round)")
            }
        }
        #expect(daemon.stop() == 0)
    }
}
