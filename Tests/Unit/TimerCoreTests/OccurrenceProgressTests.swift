// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// How far the occurrences of a schedule are processed.
@Suite struct OccurrenceProgressTests {
    private static func wall(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    @Test func whatIsProcessedOnlyMovesOn() {
        var progress = OccurrenceProgress(through: Self.wall(10))
        #expect(progress.through == Self.wall(10) && progress.next == nil)
        progress.pass(Self.wall(20))
        progress.pass(Self.wall(15))
        #expect(progress.through == Self.wall(20))
    }

    @Test func onlyAFiringAtBootGoesBack_andARestartForgetsWhatIsNext() {
        var progress = OccurrenceProgress(through: Self.wall(10))
        progress.expect(Self.wall(30))
        progress.pass(Self.wall(20))
        #expect(progress.next == Self.wall(30))
        progress.goBack(to: Self.wall(25))
        #expect(progress.through == Self.wall(20))
        progress.goBack(to: Self.wall(5))
        #expect(progress.through == Self.wall(5) && progress.next == Self.wall(30))
        progress.restart(after: Self.wall(40))
        #expect(progress.through == Self.wall(40) && progress.next == nil)
        progress.restart(after: Self.wall(1))
        #expect(progress.through == Self.wall(1))
    }
}
