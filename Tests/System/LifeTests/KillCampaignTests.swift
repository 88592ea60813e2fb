// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Synchronization
import Testing
import TimerControl
import TimerCore

/// Kills, suspends and stops both processes at random while commands are sent. Then compares what
/// the jobs wrote with the guarantees of timerd.
///
/// `TIMERD_KILLS=1000` takes 10 minutes for each arrangement.
@Suite(.ownThreads, .serialized) struct KillCampaignTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["TIMERD_KILLS"].flatMap { Int($0) } ?? 25

    @Test(arguments: [false, true]) func nothingIsLostOrDoubled(separateRunner: Bool) throws {
        var random = SeededRandom()
        let campaign = try KillCampaign(separateRunner: separateRunner)
        try campaign.begin()
        for _ in 0..<Self.rounds {
            try campaign.look()
            let answer = campaign.command()
            // At once, or after a while.
            let most = random.int(below: 3) == 0 ? 1_500_000 : 3000
            usleep(UInt32(random.int(below: most)))
            try campaign.strike(&random)
            campaign.take(answer)
        }
        try campaign.end()
        campaign.check()
    }

    /// The same while the machine is held and released again: no run is due in a hold, whatever is killed,
    /// and no time counts in it.
    @Test(arguments: [false, true]) func aHoldSurvivesKills(separateRunner: Bool) throws {
        var random = SeededRandom()
        let campaign = try KillCampaign(separateRunner: separateRunner)
        try campaign.begin()
        for _ in 0..<Self.rounds / 2 {
            let pending = campaign.toggleHold()
            let most = random.int(below: 2) == 0 ? 1_500_000 : 3000
            usleep(UInt32(random.int(below: most)))
            try campaign.strike(&random)
            try campaign.settle(pending)
        }
        if campaign.holds.isHeld { try campaign.settle(campaign.toggleHold()) }
        try campaign.end()
        campaign.checkHolds()
    }
}
