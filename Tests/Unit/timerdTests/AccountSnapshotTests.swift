// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import HostFiles
import Logging
import Synchronization
import Systemd
import Testing
import TimerCore
import TimerStore

@testable import TimerLog

@Suite struct StandingTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1_795_000_000),
        awake: AwakeInstant(nanoseconds: 5_000_000_999),
        boot: BootInstant(nanoseconds: 7_000_000_000),
        bootID: BootID("00112233445566778899aabbccddeeff")!)

    private func agenda(_ jobs: [Job]) -> (Agenda, [Action]) {
        Agenda.load(JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: 1, at: now)
    }

    private func later(_ seconds: Int64) -> Now {
        var later = now
        later.wall = later.wall + .seconds(seconds)
        later.awake.nanoseconds += seconds * 1_000_000_000
        later.boot.nanoseconds += seconds * 1_000_000_000
        return later
    }

    @Test(arguments: TimeBasis.allCases)
    func aPauseHasTheAccountAndTheClockItCountsBy(basis: TimeBasis) throws {
        let name = Job.Name("backup")!
        var job = Job(name: name, command: .shell("true"), schedule: .every(.seconds(60)))
        job.count = basis
        var (agenda, _) = agenda([job])
        let actions = agenda.handle(
            .command(JobCommand(.pause, name, by: .user("ada"))), at: later(20))
        let notice = try #require(
            actions.lazy.compactMap { if case .log(let notice) = $0 { notice } else { nil } }.first
        )
        let account = AccountSnapshot(for: notice, in: agenda, at: later(20))
        // It may be logged after further events, and still has the values of its own time.
        _ = agenda.handle(.command(JobCommand(.resume, name, by: .user("ada"))), at: later(21))
        var expected: [String: String] = [
            "TIMERD_STATE": "paused", "TIMERD_COUNT": basis.rawValue,
            "TIMERD_ACTIVE_USEC": "20000000", "TIMERD_ELAPSED_USEC": "20000000",
            "TIMERD_MONOTONIC_USEC": "25000000",
        ]
        if basis == .boottime || basis == .wall { expected["TIMERD_BOOTTIME_USEC"] = "27000000" }
        #expect(account.fields.mapValues(\.description) == expected)
        #expect(
            AccountSnapshot(for: .zonesChanged([name]), in: agenda, at: later(20)).fields.isEmpty)
    }

    @Test(arguments: [0, 1, 700, 5000])
    func theStartOfAnInstanceHasAllTimeRecords(count: Int) throws {
        let jobs = (0..<count).map { number in
            Job(
                name: Job.Name("job-with-a-name-of-some-length-\(number)")!,
                command: .shell("true"), schedule: .every(.seconds(60)))
        }
        let (agenda, _) = agenda(jobs)
        let notice = Notice.daemonStarted(.firstStart, away: nil, jobs: count, wereCounting: 0)
        let fields = AccountSnapshot(for: notice, in: agenda, at: now).fields.mapValues(
            \.description)
        #expect(fields["TIMERD_MONOTONIC_USEC"] == "5000000")
        #expect(fields["TIMERD_BOOTTIME_USEC"] == "7000000")
        var text = try #require(fields["TIMERD_ACCOUNTS"])
        var number = 2
        while let more = fields["TIMERD_ACCOUNTS_\(number)"] {
            text += more
            number += 1
        }
        #expect(fields.count == number + 1)
        #expect(fields.values.allSatisfy { $0.utf8.count <= AccountSnapshot.listingBytesMax })
        #expect(
            text.split(separator: ";").map(String.init)
                == jobs.map { "\($0.name) armed active 0 0" })
    }

    @Test func ofVeryManyAccountsSomeAreLeftOut_andCounted() throws {
        let jobs = (0..<120_000).map { number in
            Job(
                name: Job.Name(
                    "a-name-as-long-as-there-may-be-any-\(number + 1_000_000_000)-and-so-on")!,
                command: .shell("true"), schedule: .every(.seconds(60)))
        }
        let (agenda, _) = agenda(jobs)
        let notice = Notice.shutDown(counting: 0, live: 0)
        let fields = AccountSnapshot(for: notice, in: agenda, at: now).fields.mapValues(
            \.description)
        let listed = fields.filter { $0.key != "TIMERD_ACCOUNTS_LEFT" }.values
            .reduce(0) { count, text in count + text.utf8.count { $0 == UInt8(ascii: ";") } }
        let left = try #require(fields["TIMERD_ACCOUNTS_LEFT"].flatMap { Int($0) })
        #expect(left > 0 && listed + left == 120_000)
        #expect(fields.count == AccountSnapshot.listingsMax + 3)
        #expect(fields.count < Journal.fieldsMax)
    }
}
