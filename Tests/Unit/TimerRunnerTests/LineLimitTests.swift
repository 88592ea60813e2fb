// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// How many lines a job may write within a time interval.
@Suite struct LineLimitTests {
    private let limit = LineLimit(interval: 1000, burst: 3)

    private func passed(_ lines: Int, of limits: inout LineLimits, _ job: String, at now: Int64)
        -> Int
    {
        let name = Job.Name(job)!
        var window = limits.window(of: name, limit, at: now)
        let count = (0..<lines).count { _ in window.admit() }
        limits.keep(window, of: name, at: now)
        return count
    }

    /// Each row: the time, the number of lines that arrive then, and how many of them are accepted.
    @Test(arguments: [
        [(0, 3, 3), (0, 1, 0)],
        [(0, 2, 2), (999, 2, 1), (999, 5, 0)],
        // A window starts with a line, not at a fixed time and not at the end of the previous
        // window.
        [(5, 1, 1), (1004, 3, 2), (1005, 4, 3), (2004, 1, 0), (2005, 1, 1)],
        [(0, 100, 3), (1000, 2, 2), (5000, 3, 3), (5999, 1, 0), (6000, 1, 1)],
    ])
    func aWindowStartsWithALineAndAcceptsTheLimit(rows: [(at: Int64, lines: Int, passed: Int)]) {
        var limits = LineLimits()
        for row in rows {
            #expect(passed(row.lines, of: &limits, "a", at: row.at) == row.passed, "\(row)")
        }
    }

    @Test func eachJobHasItsOwnLimit() {
        var limits = LineLimits()
        #expect(passed(10, of: &limits, "a", at: 0) == 3)
        #expect(passed(2, of: &limits, "b", at: 1) == 2)
        #expect(passed(10, of: &limits, "a", at: 2) == 0)
        #expect(passed(2, of: &limits, "b", at: 2) == 1)
    }

    /// This happens after a reload.
    @Test func aChangedLimitAppliesAtOnce() {
        var limits = LineLimits()
        #expect(passed(10, of: &limits, "a", at: 0) == 3)
        func count(_ limit: LineLimit, at now: Int64) -> Int {
            var window = limits.window(of: Job.Name("a")!, limit, at: now)
            return (0..<100).count { _ in window.admit() }
        }
        #expect(count(LineLimit(interval: 1000, burst: 5), at: 500) == 2)
        #expect(count(LineLimit(interval: 400, burst: 5), at: 500) == 5)
        #expect(count(LineLimit(interval: 1000, burst: 2), at: 500) == 0)
        #expect(count(LineLimit(interval: .max, burst: 100), at: 500) == 97)
    }

    @Test func theDeclaredLimitIsUsed() throws {
        var execution = Execution()
        #expect(LineLimit(execution) == LineLimit(interval: 30_000_000_000, burst: 10_000))
        execution.logRateLimitInterval = .seconds(100 * 366 * 86_400)
        let longest = try #require(LineLimit(execution))
        #expect(LineWindow(longest, at: .max - 1).end == .max)
        execution.logRateLimitInterval = nil
        #expect(LineLimit(execution) == nil)
    }

    /// The number of windows does not depend on how many jobs have ever written something.
    @Test func onlyWindowsOfJobsThatWroteRecentlyAreKept() {
        var limits = LineLimits()
        for number in 0..<100_000 {
            #expect(passed(4, of: &limits, "job\(number)", at: Int64(number)) == 3)
            if number > 0 {
                #expect(passed(1, of: &limits, "job\(number - 1)", at: Int64(number)) == 0)
            }
        }
        #expect(limits.count < 4096)
    }
}
