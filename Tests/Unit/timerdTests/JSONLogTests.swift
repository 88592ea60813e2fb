// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing
import TimerCore

@testable import TimerLog

/// The log as JSON.
@Suite struct JSONLogTests {
    private let instant = WallInstant(secondsSinceEpoch: 1_795_000_000)

    @Test func anEntryHasTheFieldsOfTheJournalByTheNamesOfTheInterface() {
        let line = JSONLogHandler.line(
            at: instant, .warning, "backup: 1 run",
            [
                "TIMERD_JOB": "007", "TIMERD_RUN_ID": "007:20261122T000000Z:1",
                "TIMERD_EVENT": "output", "SYSLOG_IDENTIFIER": "007", "TIMERD_DROPPED": "12",
                "TIMERD_LATE_USEC": "1500", "EXIT_STATUS": "3", "CPU_USAGE_NSEC": "-",
            ])
        #expect(
            line == """
                {"time":"2026-11-18T11:06:40.000000Z","level":"warning","message":"backup: 1 run",\
                "cpu_usage_nsec":"-","dropped":12,"event":"output","exit_status":"3","job":"007",\
                "late_usec":1500,"run":"007:20261122T000000Z:1"}

                """)
    }
}
