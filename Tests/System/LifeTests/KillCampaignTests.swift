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
}
