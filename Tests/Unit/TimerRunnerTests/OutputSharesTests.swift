// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Which job gets room for output, and whose output is dropped.
@Suite struct OutputSharesTests {
    private func name(_ job: String) -> Job.Name { Job.Name(job)! }

    /// The shares of the jobs: each with its bytes and its runs.
    private func shares(_ parts: [(String, bytes: Int, runs: Int)]) -> OutputShares {
        var shares = OutputShares(bytesMax: 1000)
        for (job, bytes, runs) in parts { shares.change(name(job), bytes: bytes, runs: runs) }
        return shares
    }

    @Test func whileThereIsRoomEveryJobMayUseIt() {
        #expect(OutputShares(bytesMax: 1000).room(for: 1000, of: name("a"), own: nil) == .free)
        let one = shares([("a", 900, 1)])
        #expect(one.room(for: 100, of: name("a"), own: 900) == .free)
        #expect(one.room(for: 101, of: name("a"), own: 900) == .none)
    }

    /// With two jobs, half of an equal share is 250, with three 166.
    @Test(arguments: [
        (0, 250, true), (0, 251, false), (100, 150, true), (100, 151, false), (250, 1, false),
    ])
    func aJobWithLittleOutputGetsRoomFromTheJobWithTheMost(bytes: Int, cost: Int, may: Bool) {
        let parts = [("most", bytes: 1000 - bytes, runs: 1)]
        let full = shares(bytes > 0 ? parts + [("little", bytes: bytes, runs: 1)] : parts)
        let room = full.room(for: cost, of: name("little"), own: bytes > 0 ? bytes : nil)
        #expect(room == (may ? .after(name("most"), bytes: max(cost, (1000 - bytes) / 8)) : .none))
    }

    @Test func theJobWithTheMostOutputLosesIt_inPortions() {
        let full = shares([("a", 300, 1), ("b", 400, 1), ("c", 300, 1)])
        #expect(full.room(for: 1, of: name("d"), own: nil) == .after(name("b"), bytes: 50))
        #expect(full.room(for: 120, of: name("d"), own: nil) == .after(name("b"), bytes: 120))
        #expect(full.room(for: 126, of: name("d"), own: nil) == .none)
        var large = OutputShares(bytesMax: 100 << 20)
        large.change(name("a"), bytes: 100 << 20, runs: 1)
        #expect(
            large.room(for: 1, of: name("b"), own: nil)
                == .after(name("a"), bytes: OutputShares.portionMax))
    }

    /// In the same way one run of a job cannot use the whole share of the job.
    @Test func theRunsOfAJobShareItsRoom() {
        let full = shares([("a", 800, 4), ("b", 200, 1)])
        #expect(full.room(for: 50, of: name("a"), own: 50) == .after(name("a"), bytes: 100))
        #expect(full.room(for: 51, of: name("a"), own: 50) == .none)
        #expect(full.room(for: 80, of: name("a"), own: nil) == .after(name("a"), bytes: 100))
        #expect(full.room(for: 81, of: name("a"), own: nil) == .none)
        // A single run has no other run that could lose output.
        #expect(shares([("a", 1000, 1)]).room(for: 1, of: name("a"), own: 1000) == .none)
    }

    @Test func sentOutputFreesItsRoom() {
        var shares = shares([("a", 900, 2), ("b", 100, 1)])
        shares.change(name("a"), bytes: -500, runs: -1)
        #expect(shares.bytes == 500 && shares.bytes(of: name("a")) == 400)
        shares.change(name("a"), bytes: -400, runs: -1)
        #expect(shares.bytes == 100 && shares.bytes(of: name("a")) == 0)
        #expect(shares.room(for: 900, of: name("a"), own: nil) == .free)
    }
}
