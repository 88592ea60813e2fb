// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl
import TimerCore

/// The environment variable TZ, as containers set it: for the log, for the jobs, and for the client.
@Suite(.ownThreads) struct ZoneEnvironmentTests {
    private let jobs = "[job.a]\ncalendar = \"daily\"\nFIRE\n"

    @Test func theLogAndTheJobsAreInTheZoneOfTheEnvironment() throws {
        let daemon = try LiveDaemon(jobs)
        // No other zone has this offset: 5:45 h east all year.
        try daemon.start(["TZ": ":Asia/Kathmandu"])
        let job = try daemon.show("a")
        #expect(job.timezone == "Asia/Kathmandu")
        #expect(job.next?.hasSuffix("T18:15:00.000000Z") == true, "\(job.next ?? "never")")
        let line = String(daemon.log.prefix(16))
        let format = DateFormatter()
        format.dateFormat = "yyyy-MM-dd HH:mm"
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 20_700)
        let logged = try #require(format.date(from: line), "\(daemon.log)")
        #expect(abs(logged.timeIntervalSinceNow) < 180, "\(line)")
        #expect(daemon.stop() == 0)
    }

    @Test func aRuleIsAZone_andTheClientKnowsIt() throws {
        let daemon = try LiveDaemon(jobs)
        try daemon.start(["TZ": "ABC-3:30"])
        #expect(try daemon.show("a").next?.hasSuffix("T20:30:00.000000Z") == true)
        let next = try daemon.timerctl("next", "a", "-n", "1")
        #expect(next.status == 0 && next.text.contains("Timezone: ABC-3:30"), "\(next.text)")
        #expect(daemon.stop() == 0)
    }

    @Test func anUnknownZoneIsReported_andTheMachinesOwnIsUsed() throws {
        let daemon = try LiveDaemon(jobs)
        try daemon.start()
        let own = try daemon.show("a")
        #expect(daemon.stop() == 0)
        try daemon.start(["TZ": "Middle/Earth"])
        #expect(
            daemon.waitForLog("the environment variable TZ is \"Middle/Earth\", which is not a"))
        let job = try daemon.show("a")
        #expect(job.timezone == own.timezone)
        #expect(daemon.stop() == 0)
    }
}
