// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import PausableTimers
import Testing

/// What a display link does about late frames, and who ends it.
@Suite struct TickerTests {
    /// 60 Hz with 25 ms of work gives every second frame.
    @Test(arguments: [(60, 25, 30), (60, 16, 60), (60, 17, 30), (60, 40, 20), (100, 15, 50)])
    func lateFramesAreLeftOut_andTheOthersAreEven(rate: Int, work: Int, achieved: Int) throws {
        let fixture = Fixture()
        let frames = Log<Frame>()
        let ticker = try Ticker(preferredRate: Double(rate), on: fixture.queue) { frame in
            frames.append(frame)
            fixture.stall(work)
        }
        fixture.advance(2000)
        let starts = frames.all.map(\.actual)
        let gaps = zip(starts, starts.dropFirst()).map { $1 - $0 }
        let even = Duration.seconds(1) / achieved
        #expect(gaps.count >= 2 * achieved - 2)
        #expect(gaps.allSatisfy { abs(($0 - even) / .nanoseconds(1)) <= 2 }, "\(gaps)")
        #expect(frames.all.dropFirst().allSatisfy { $0.dropped == rate / achieved - 1 })
        #expect(frames.all.allSatisfy { $0.actual - $0.timestamp <= .nanoseconds(1) })
        withExtendedLifetime(ticker) {}
    }

    /// A frame that is a little late is drawn, and one that is very late is not.
    @Test(arguments: [(3, 1, 0), (7, 0, 1), (25, 1, 2), (29, 0, 3)])
    func aBlockedQueueLeavesOutFrames(blocked: Int, atOnce: Int, dropped: Int) throws {
        let fixture = Fixture()
        let frames = Log<Frame>()
        let ticker = try Ticker(preferredRate: 100, on: fixture.queue) { frames.append($0) }
        fixture.advance(10)
        #expect(frames.count == 1)
        fixture.stall(10 + blocked)
        fixture.advance(0)
        #expect(frames.count == 1 + atOnce)
        fixture.advance(10)
        #expect(frames.all[1].dropped == dropped)
        let gap = frames.all[1].timestamp - frames.all[0].timestamp
        #expect(gap == .milliseconds(10 * (dropped + 1)))
        withExtendedLifetime(ticker) {}
    }

    @Test func aTickerDoesNotKeepItsOwnerAlive() throws {
        let (fixture, gone) = (Fixture(), Log<Bool>())
        var owner: Owner? = Owner(gone)
        let frames = Log<Int>()
        let ticker = try Ticker(preferredRate: 100, for: try #require(owner), on: fixture.queue) {
            _, frame in frames.append(frame.number)
        }
        fixture.advance(30)
        owner = nil
        #expect(gone.count == 1)
        fixture.advance(30)
        #expect(frames.count == 3 && !ticker.isPaused)
        ticker.isPaused = true
        #expect(!ticker.isPaused, "it is cancelled")
    }

    @Test func aFramePausesChangesAndCancelsItsTicker() throws {
        let fixture = Fixture()
        let frames = Log<Frame>()
        let ticker = try Ticker(preferredRate: 100, on: fixture.queue) { frame in
            frames.append(frame)
            switch frame.number {
            case 1: frame.ticker.isPaused = true
            case 2: try? frame.ticker.setPreferredRate(50)
            case 4: frame.ticker.cancel()
            default: break
            }
        }
        fixture.advance(1000)
        #expect(frames.count == 1 && ticker.isPaused && ticker.reference.isPaused)
        ticker.isPaused = false
        fixture.advance(10)
        #expect(frames.count == 2 && abs(ticker.preferredRate - 50) < 1e-9)
        fixture.advance(1000)
        #expect(frames.count == 4)
        #expect(frames.all[3].timestamp - frames.all[2].timestamp == .milliseconds(20))
    }
}
