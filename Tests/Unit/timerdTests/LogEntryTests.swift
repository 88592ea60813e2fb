// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Logging
import Synchronization
import Systemd
import Testing
import TimerCore
import TimerStore

@testable import TimerLog

@Suite struct EntryTests {
    @Test func everyKindHasAnIdOfItsOwn() {
        let ids = EventKind.allCases.map(\.messageID)
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test func aNoticeIsASentenceWithFields() {
        let job = Job.Name("backup")!
        let pause = Pause(since: WallInstant(secondsSinceEpoch: 0), by: .user("ada"), note: "swap")
        let entry = LogEntry(
            .paused(job, pause, accrued: .seconds(20), remaining: .seconds(5400)))
        #expect(
            entry.message
                == "backup: paused by ada (swap); keeps 20 s of elapsed time; next run 1 h 30 min after the pause"
        )
        #expect(entry.metadata["TIMERD_JOB"] == "backup")
        #expect(entry.metadata["TIMERD_EVENT"] == "paused")
        #expect(entry.metadata["TIMERD_ELAPSED_USEC"] == "20000000")
        #expect(entry.metadata["TIMERD_REMAINING_USEC"] == "5400000000")
    }
}
