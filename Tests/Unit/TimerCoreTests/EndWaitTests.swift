// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// What an interval knows of the end of its runs.
@Suite struct EndWaitTests {
    private static func wall(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private static func pause(_ second: Int64) -> Pause {
        Pause(since: wall(second), by: .user("ada"))
    }

    @Test func aWaitThatHasBegunGoesOn() {
        var wait = EndWait()
        #expect(!wait.isWaiting && wait.end() == .zero)
        wait.begin(slept: .seconds(3))
        wait.begin(slept: .seconds(8))
        #expect(wait.isWaiting)
        #expect(wait.end() == .seconds(3))
        #expect(!wait.isWaiting && wait == EndWait())
    }

    @Test func anEndBelongsToItsPause() {
        var wait = EndWait()
        #expect(wait.end(in: Self.pause(10)) == nil)
        wait.noteEnd(at: Self.wall(15), in: Self.pause(10))
        var changed = Self.pause(10)
        changed.until = Self.wall(60)
        #expect(wait.end(in: changed) == Self.wall(15))
        #expect(wait.end(in: Self.pause(20)) == nil)
        // The end of a wait is another thing.
        wait.begin(slept: .zero)
        wait.end()
        #expect(wait.end(in: Self.pause(10)) == Self.wall(15))
    }
}
