// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore

/// The pauses that ended.
@Suite struct PauseHistoryTests {
    private let folder = "/tmp/timerd-pauses-\(UUID().uuidString)"
    private let store: Store

    init() throws {
        mkdir(folder, 0o700)
        store = try Store(path: "\(folder)/\(Store.fileName)")
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private func pause(
        _ job: String, _ since: Int64, _ ended: Int64, by endedBy: Initiator = .user("eve"),
        note: String? = nil, until: Int64? = nil
    ) -> PastPause {
        PastPause(
            job: Job.Name(job)!,
            pause: Pause(
                since: at(since), by: .user("ann"), note: note, until: until.map { at($0) },
                withRun: note != nil), by: endedBy, at: at(ended))
    }

    private func pauses(
        _ job: String? = nil, since: Int64? = nil, until: Int64? = nil, limit: Int = 1000
    ) throws -> [PastPause] {
        try store.pauses(
            of: job.map { Job.Name($0)! }, since: since.map { at($0) },
            until: until.map { at($0) }, limit: limit)
    }

    @Test func theyAreReadAsTheyWereWritten_theLastEndFirst() throws {
        defer { clean() }
        let written = [
            pause("a", 0, 10), pause("b", 5, 20, note: "disk \u{202e}\n swap", until: 30),
            pause("a", 12, 15, by: .configuration), pause("b", 25, 60, by: .pauseEnd, until: 40),
            pause("c", 1, 2, by: .clockCorrection),
        ]
        // One that ended by itself did so at its end, whenever that was noticed.
        #expect(written[3].ended == at(40))
        try store.commit(written.map { .pause($0) }, durable: false)
        #expect(try pauses() == [3, 1, 2, 0, 4].map { written[$0] })
        #expect(try pauses("a") == [2, 0].map { written[$0] } && pauses("none").isEmpty)
        #expect(try pauses(limit: 2) == [3, 1].map { written[$0] })
        for (since, until, found) in [
            (15, nil, [3, 1, 2]), (16, nil, [3, 1]), (41, nil, []), (nil, 12, [1, 0, 4]),
            (nil, 0, []), (11, 25, [1, 2]),
        ] as [(Int64?, Int64?, [Int])] {
            #expect(try pauses(since: since, until: until) == found.map { written[$0] })
        }
    }

    @Test func aPauseThatIsWrittenTwiceIsOne_andNoneEndsBeforeItBegan() throws {
        defer { clean() }
        let past = pause("a", 10, 20)
        try store.commit([.pause(past), .pause(past)], durable: true)
        #expect(try pauses() == [past])
        #expect(pause("a", 10, 5).ended == at(10))
    }

    @Test func theyMoveWithTheirJob_andArePrunedAsRunsAre() throws {
        defer { clean() }
        try store.commit(
            (0..<500).map { .pause(pause("a", $0 * 10, $0 * 10 + 5)) } + [
                .pause(pause("new", 0, 7)), .pause(pause("b", 0, 5000)),
            ], durable: false)
        try store.commit(
            [.rename(Renaming(from: Job.Name("a")!, to: Job.Name("new")!))], durable: false)
        #expect(try pauses("a").isEmpty && pauses("new").count == 500)
        var pruning = Pruning(endedBefore: at(4985))
        while !pruning.isDone { try pruning.advance(in: store) }
        #expect(try pauses().map(\.ended) == [at(5000), at(4995), at(4985)])
    }
}
