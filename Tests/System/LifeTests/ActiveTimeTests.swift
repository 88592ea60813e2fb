// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore

/// The daemon's guarantee for the active time of a job, measured on the real program in real time:
/// a kill loses at most a second, and no time is ever gained.
@Suite(.ownThreads) struct ActiveTimeTests {
    /// The extra time that is allowed between a firing and its report, on a busy machine.
    static let slack = 0.5

    /// The active time as the test measured it. `most` counts from the instant before each start to
    /// the instant after each end, `least` between the instants at which the daemon is known to
    /// have counted.
    private struct Account {
        var least = 0.0
        var most = 0.0
        var kills = 0
    }

    @Test func aJobOfAMinute_paused_resumed_andKilled_firesAfterAMinuteOfActiveTime() throws {
        let daemon = try LiveDaemon("[job.slow]\nevery = \"60s\"\nFIRE\n")
        var account = Account()
        let slow = Job.Name("slow")!
        try daemon.start()
        LiveDaemon.pass(until: daemon.ready + 20)
        let beforePause = LiveDaemon.now()
        #expect(try daemon.ask(.command(.pause, slow, CommandBody(note: "test"))).status == 200)
        let paused = LiveDaemon.now()
        account.least += beforePause - daemon.ready
        account.most += paused - daemon.begun
        #expect(daemon.nextFiring(until: paused + 10) == nil)
        #expect(try daemon.show("slow").state == "paused")

        let beforeResume = LiveDaemon.now()
        #expect(try daemon.ask(.command(.resume, slow)).status == 200)
        let resumed = LiveDaemon.now()
        LiveDaemon.pass(until: resumed + Double.random(in: 1...35))
        let beforeKill = LiveDaemon.now()
        let killed = daemon.kill()
        account.least += beforeKill - resumed
        account.most += killed - beforeResume
        account.kills += 1

        try daemon.start()
        #expect(daemon.waitForLog("the previous instance was killed or crashed"))
        #expect(daemon.waitForLog("1 job was counting time: up to "))
        try expectFiring(of: daemon, after: account)
    }

    @Test func twentyKillsInARowCostAtMostASecondEach_andGainNothing() throws {
        let daemon = try LiveDaemon("[job.slow]\nevery = \"60s\"\nFIRE\n")
        var account = Account()
        var seed = SeededRandom()
        for _ in 0..<20 {
            try daemon.start()
            // Some are killed before their first heartbeat, some long after it.
            LiveDaemon.pass(until: daemon.ready + Double.random(in: 0...3.5, using: &seed))
            let before = LiveDaemon.now()
            let killed = daemon.kill()
            account.least += before - daemon.ready
            account.most += killed - daemon.begun
            account.kills += 1
        }
        try daemon.start()
        try expectFiring(of: daemon, after: account)
    }

    private func expectFiring(of daemon: LiveDaemon, after account: Account) throws {
        let shown = Double(try daemon.show("slow").elapsedUsec) / 1e6
        let asked = LiveDaemon.now()
        #expect(shown <= account.most + (asked - daemon.begun), "time was gained")
        let firing = daemon.nextFiring(until: asked + 62 + Double(account.kills))
        let at = try #require(firing, "it never fired: \(daemon.log)").at
        let most = account.most + (at - daemon.begun)
        let least = account.least + (at - daemon.ready)
        print("fired after \(least)...\(most) s of active time and \(account.kills) kills")
        #expect(most >= 60, "it fired early")
        #expect(
            least <= 60 + Double(account.kills) + Self.slack,
            "more than a second was lost by a kill")
        #expect(firing?.text == "slow 0")
        #expect(daemon.stop() == 0)
    }
}
