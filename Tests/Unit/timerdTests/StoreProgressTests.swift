// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerDaemon

/// When the agenda hears that the store has written something.
@Suite struct StoreProgressTests {
    @Test func nothingIsReportedWhileNoFiringWaits() {
        let progress = StoreProgress()
        #expect(!progress.note(written: 3) && progress.written == 3)
        #expect(!progress.note(isHolding: false, known: 0))
    }

    @Test func aReportIsDueForEachWriteWhileAFiringWaits() {
        let progress = StoreProgress()
        #expect(!progress.note(isHolding: true, known: 0))
        #expect(progress.note(written: 1) && progress.note(written: 2))
        #expect(!progress.note(isHolding: false, known: 2))
        #expect(!progress.note(written: 3))
    }

    /// The store wrote something after the agenda read what is written.
    @Test func aReportIsDueForAWriteThatCameJustBefore() {
        let progress = StoreProgress()
        let known = progress.written
        #expect(!progress.note(written: 1))
        #expect(progress.note(isHolding: true, known: known))
    }

    @Test func whatIsWrittenOnlyGrows_andZeroIsNoEvent() {
        let progress = StoreProgress()
        _ = progress.note(isHolding: true, known: 0)
        #expect(progress.note(written: 5) && progress.note(written: 4))
        #expect(progress.written == 5)
        #expect(!progress.note(written: 0))
    }

    @Test func oneReportIsOnItsWayAtATime() {
        let progress = StoreProgress()
        #expect(progress.beginReport())
        #expect(!progress.beginReport())
        progress.endReport()
        #expect(progress.beginReport())
    }
}
