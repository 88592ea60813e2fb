// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Which runs are recorded, and which jobs wait for that.
@Suite struct StoreHoldTests {
    @Test func aRunIsRecorded_whenTheStoreHasReachedItsEvent() {
        var hold = StoreHold()
        hold.beginEvent()
        hold.beginEvent()
        #expect(hold.event == 2 && !hold.isUnrecorded(2))
        hold.note(storedThrough: 1)
        #expect(hold.storedThrough == 1)
        #expect(!hold.isUnrecorded(1) && hold.isUnrecorded(2))
        hold.note(storedThrough: 2)
        #expect(!hold.isUnrecorded(2))
    }

    @Test func aJobWaitsUntilItIsReleased() {
        var hold = StoreHold()
        #expect(!hold.release(4) && hold.count == 0)
        hold.hold(4)
        hold.hold(2)
        hold.hold(4)
        #expect(hold.count == 2 && hold.inOrder == [2, 4])
        #expect(hold.release(4) && !hold.release(4))
        #expect(hold.inOrder == [2])
    }
}
