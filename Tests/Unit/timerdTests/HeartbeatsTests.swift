// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerDaemon

/// What heartbeats say, and when a checkpoint is due.
@Suite struct HeartbeatsTests {
    private func now(_ seconds: Int64) -> Now {
        Now(
            wall: WallInstant(secondsSinceEpoch: seconds),
            awake: AwakeInstant(nanoseconds: seconds * 1_000_000_000),
            boot: BootInstant(nanoseconds: 0), bootID: BootID("0123456789abcdef0123456789abcdef")!)
    }

    private func heartbeats() -> Heartbeats {
        let unstored = Heartbeat.Unstored(
            storedInstance: 7, proven: nil, counted: .seconds(10), instances: 2)
        return Heartbeats(unstored, since: now(100).awake)
    }

    @Test func untilTheRecordsAreStored_itCarriesWhatEarlierHeartbeatsProve() {
        var heartbeats = heartbeats()
        #expect(!heartbeats.areRecordsStored)
        let first = heartbeats.heartbeat(of: 9, at: now(103))
        #expect(first.instance == 9 && first.at == now(103))
        #expect(first.unstored?.storedInstance == 7 && first.unstored?.counted == .seconds(13))
        // A reading from before the start counts nothing.
        #expect(heartbeats.heartbeat(of: 9, at: now(99)).unstored?.counted == .seconds(10))
        heartbeats.noteStored()
        #expect(heartbeats.areRecordsStored)
        #expect(heartbeats.heartbeat(of: 9, at: now(104)).unstored == nil)
    }

    @Test func aCheckpointIsDueAgainAndAgain() {
        var heartbeats = heartbeats()
        let most = Heartbeats.perCheckpoint
        let due = (1...3 * most).filter { _ in heartbeats.beat() }
        #expect(due == [most, 2 * most, 3 * most])
    }

    @Test func theCountBeginsAgainWhenTimeCountsAgain() {
        var heartbeats = heartbeats()
        let most = Heartbeats.perCheckpoint
        for _ in 1..<most { _ = heartbeats.beat() }
        heartbeats.restart()
        let due = (1...most).filter { _ in heartbeats.beat() }
        #expect(due == [most])
    }
}
