// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerStore

@testable import TimerRecording

/// The pruning takes little time of the queue that writes, however slow the disk is.
@Suite struct PrunePaceTests {
    @Test func aSlowDiskMakesTheStepsSmall_andAFastOneLarge() {
        var pace = PrunePace()
        for _ in 0..<20 { pace.note(.milliseconds(80)) }
        #expect(pace.rows == PrunePace.rowsRange.lowerBound && pace.pause == .milliseconds(720))
        pace.note(.seconds(5))
        #expect(pace.pause == .seconds(2))
        for _ in 0..<20 { pace.note(.microseconds(100)) }
        #expect(pace.rows == PrunePace.rowsRange.upperBound && pace.pause == .milliseconds(20))
        // In between the number stays.
        pace.note(.milliseconds(4))
        #expect(pace.rows == PrunePace.rowsRange.upperBound && pace.pause == .milliseconds(36))
    }

    /// If the time of a step follows its rows, it settles below the limit, with at most a tenth of
    /// the time.
    @Test(arguments: [5, 40, 300, 1000])
    func theStepsSettle(microsecondsPerRow: Int) {
        var pace = PrunePace()
        var (work, rest) = (Duration.zero, Duration.zero)
        for step in 0..<100 {
            let took = Duration.microseconds(Int(pace.rows) * microsecondsPerRow)
            pace.note(took)
            guard step >= 50 else { continue }
            #expect(took <= max(PrunePace.workMax, .microseconds(4 * microsecondsPerRow)))
            work += took
            rest += pace.pause
        }
        #expect(work * 9 <= rest)
    }
}
