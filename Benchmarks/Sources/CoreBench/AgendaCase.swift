// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import Workload

/// The agenda with many jobs: loading them, waking one, ending its run, and reading the state of
/// one job and of all.
struct AgendaCase {
    static let counts = [1000, 10_000, 100_000]
    static let wakes = 20_000

    func run() throws {
        for kind in Crowd.Kind.allCases {
            for count in Self.counts { try measure(try Crowd(count, kind), count, kind) }
        }
    }

    private func measure(_ crowd: Crowd, _ count: Int, _ kind: Crowd.Kind) throws {
        var loads: [Double] = []
        for _ in 0..<5 {
            let began = nanoseconds()
            keep(crowd.agenda().jobCount)
            loads.append(Double(nanoseconds() - began))
        }
        var agenda = crowd.agenda()
        let (wakes, ends, now) = try wake(&agenda, crowd)
        var ones: [Double] = []
        for index in 0..<1000 {
            let name = crowd.jobSet.jobs[index * 7919 % count].name
            let began = nanoseconds()
            let found = agenda.snapshot(of: name, at: now)
            ones.append(Double(nanoseconds() - began))
            keep(found)
        }
        let began = nanoseconds()
        keep(agenda.snapshot(at: now).jobs.count)
        let all = Double(nanoseconds() - began)
        report([
            ("case", "agenda"), ("who", "timerd"), ("kind", kind.rawValue), ("jobs", count),
            ("load_ns", loads.median), ("wake_ns", wakes.median),
            ("wake_mean_ns", wakes.reduce(0, +) / Double(wakes.count)),
            ("wake_p99_ns", wakes.quantile(0.99)), ("end_ns", ends.median),
            ("snapshot_one_ns", ones.median), ("snapshot_all_ns", all),
        ])
    }

    /// Wakes one job after the other at the instant at which it is due, and ends its run.
    private func wake(
        _ agenda: inout Agenda, _ crowd: Crowd
    ) throws -> (wakes: [Double], ends: [Double], now: Now) {
        var wakes: [Double] = []
        var ends: [Double] = []
        var now = crowd.start
        while wakes.count < Self.wakes, let next = crowd.nextWake(of: agenda, at: now) {
            now = next.now
            let began = nanoseconds()
            let actions = agenda.handle(.wake(next.job), at: now)
            let woken = nanoseconds()
            wakes.append(Double(woken - began))
            let runs = actions.started
            guard !runs.isEmpty else { throw Failure("a wake of \(next.job) started nothing") }
            for run in runs {
                let began = nanoseconds()
                keep(agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: now))
                ends.append(Double(nanoseconds() - began))
            }
        }
        return (wakes, ends, now)
    }
}
