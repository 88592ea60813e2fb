// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostThreads
import Testing

/// A thread that computes for long, and leaves the processor to others in between.
@Suite struct ThreadThrottleTests {
    @Test func aThreadPausesOnlyAfterItHasWorked_andThenAgainAndAgain() {
        // A pause gives up the processor, which the kernel counts for each thread (getrusage(2), ru_nvcsw).
        var throttle = ThreadThrottle()
        let began = SuspendingClock.now
        let before = Self.pauses()
        throttle.pauseIfDue()
        let atOnce = Self.pauses() - before
        // Unless the thread was interrupted for long, so that the pause was due.
        if SuspendingClock.now - began < ThreadThrottle.workTime { #expect(atOnce == 0) }

        while Self.pauses() - before < 5, SuspendingClock.now - began < .seconds(60) {
            throttle.pauseIfDue()
        }
        #expect(Self.pauses() - before >= 5)
        #expect(SuspendingClock.now - began >= ThreadThrottle.workTime)
    }

    private static func pauses() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(1), &usage)  // RUSAGE_THREAD, which is not imported
        return usage.ru_nvcsw
    }
}
