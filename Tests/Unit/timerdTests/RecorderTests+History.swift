// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerStore
@testable import TimerRecording

/// The history has a bound, however often the jobs run.
extension RecorderTests {
    private func end(_ name: String, at millisecond: Int64, failed: Bool = false, tail: Int = 0)
        -> [Store.Change]
    {
        let job = Job(
            name: Job.Name(name)!, command: .shell("true"), schedule: .every(.milliseconds(100)))
        let at = RecorderFixture.now(0).wall + .milliseconds(millisecond)
        let run = Run(
            firing: Firing(
                id: Firing.ID(job: job.name, scheduled: at), missed: 0, active: .zero), job: job)
        return [
            .begin(run, released: true, at: at),
            .close(
                run.id, .exited(failed ? 1 : 0), RunUsage(), failed: failed, at: at,
                tail: [UInt8](repeating: 65, count: tail)),
        ]
    }

    /// Waits until the number of runs of a job is this.
    private func waitForRuns(_ count: Int64, of job: String, in fixture: RecorderFixture) throws
        -> Bool
    {
        let deadline = DispatchTime.now() + .seconds(30)
        while DispatchTime.now() < deadline {
            if try fixture.count("SELECT count(*) FROM run WHERE owner = '\(job)'") == count {
                return true
            }
            usleep(5000)
        }
        return false
    }

    @Test func aJobKeepsItsNewestRuns_whichIsSaidOnce() throws {
        let name = Job.Name("a")!
        let limits = HistoryLimits(span: .seconds(86_400), runs: [name: 20])
        let fixture = try RecorderFixture(history: limits)
        for number in 0..<500 as Range<Int64> {
            fixture.keep(
                "a",
                end("a", at: 2 * number, failed: number % 50 == 0)
                    + (number < 100 ? end("b", at: 2 * number + 1) : []))
        }
        #expect(fixture.heard(500).count == 500)
        // 20 that succeeded, and all 10 that failed.
        #expect(try waitForRuns(30, of: "a", in: fixture))
        #expect(try fixture.count("SELECT count(*) FROM run WHERE owner = 'b'") == 100)
        let first = try fixture.count(
            "SELECT min(ended_us) FROM run WHERE owner = 'a' AND failed = 0")
        #expect(
            first == (RecorderFixture.now(0).wall + .milliseconds(2 * 480)).microsecondsSinceEpoch)
        let deletion = limits.deletion(of: name)
        #expect(
            deletion?.limit == "history-runs" && deletion!.before.microsecondsSinceEpoch <= first!)
        #expect(limits.deletion(of: Job.Name("b")!) == nil)
        #expect(fixture.log.all.count { $0.contains("(history-runs)") } == 1)
    }

    /// After a reload that lowers the limit, and at a start.
    @Test func whatIsThereIsPrunedAsWell() throws {
        let limits = HistoryLimits(span: .seconds(86_400))
        let fixture = try RecorderFixture(history: limits) { store in
            for name in ["a", "b", "c"] {
                try store.commit(
                    (0..<100).flatMap { end(name, at: Int64($0)) }, durable: false)
            }
        }
        #expect(limits.follow([Job.Name("b")!: 5]) && !limits.follow([Job.Name("b")!: 5]))
        fixture.recorder.prune()
        #expect(try waitForRuns(5, of: "b", in: fixture))
        #expect(try fixture.count("SELECT count(*) FROM run") == 205)
    }

    @Test func theDatabaseStaysBelowItsLimit_whichIsSaidOnce() throws {
        let limits = HistoryLimits(span: .seconds(86_400), bytesMax: 2 << 20)
        let fixture = try RecorderFixture(history: limits)
        try fixture.withStore { (store) throws(StoreError) in
            for number in 0..<1000 as Range<Int64> {
                try store.commit(end("old", at: number, tail: 4000), durable: false)
            }
        }
        #expect(
            try fixture.withStore { (store) throws(StoreError) in try store.usedBytes() } > 4 << 20)
        for number in 1000..<1500 as Range<Int64> {
            fixture.keep("a", end("a", at: number, tail: 4000))
        }
        #expect(fixture.heard(500).count == 500)
        let deadline = DispatchTime.now() + .seconds(30)
        var used = Int64.max
        while used > 2 << 20, DispatchTime.now() < deadline {
            used = try fixture.withStore { (store) throws(StoreError) in try store.usedBytes() }
            usleep(5000)
        }
        #expect(used <= 2 << 20)
        // The newest runs are there, and the latest of each job.
        let last = try fixture.count("SELECT max(ended_us) FROM run WHERE owner = 'a'")
        #expect(last == (RecorderFixture.now(0).wall + .milliseconds(1499)).microsecondsSinceEpoch)
        #expect(try fixture.count("SELECT count(*) FROM run WHERE owner = 'a'") ?? 0 > 300)
        #expect(try fixture.count("SELECT count(*) FROM run WHERE owner = 'old'") == 1)
        #expect(limits.deletion(of: Job.Name("b")!)?.limit == "history-max")
        #expect(fixture.log.all.count { $0.contains("history-max") } == 1)
    }

    @Test func aTenthOfTheFileSystemIsTheMost() {
        var room = statvfs()
        #expect(statvfs("/tmp", &room) == 0)
        let tenth = Int64(room.f_blocks) * Int64(room.f_frsize) / 10
        #expect(HistoryLimits(span: .zero, bytesMax: .max).bytesMax(at: "/tmp") == tenth)
        #expect(HistoryLimits(span: .zero, bytesMax: 1 << 20).bytesMax(at: "/tmp") == 1 << 20)
        #expect(HistoryLimits(span: .zero, bytesMax: 1 << 20).bytesMax(at: "/none") == 1 << 20)
    }

    /// What counts for `timerctl show` is the limit that deleted most.
    @Test func theLatestDeletionCounts() {
        let limits = HistoryLimits(span: .zero)
        let (a, b) = (Job.Name("a")!, Job.Name("b")!)
        let at = RecorderFixture.now(0).wall
        #expect(limits.deletion(of: a) == nil)
        #expect(limits.noteDeletion(of: a, before: at))
        #expect(!limits.noteDeletion(of: a, before: at + .seconds(5)))
        #expect(limits.deletion(of: a) == .init(limit: "history-runs", before: at + .seconds(5)))
        #expect(limits.noteDeletion(before: at + .seconds(3)))
        #expect(limits.deletion(of: a)?.limit == "history-runs")
        #expect(limits.deletion(of: b) == .init(limit: "history-max", before: at + .seconds(3)))
        #expect(!limits.noteDeletion(before: at + .seconds(9)))
        #expect(limits.deletion(of: a)?.limit == "history-max")
    }
}
