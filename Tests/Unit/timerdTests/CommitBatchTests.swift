// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerDaemon

@Suite struct CommitBatchTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1), awake: AwakeInstant(nanoseconds: 2),
        boot: BootInstant(nanoseconds: 3), bootID: BootID("0123456789abcdef0123456789abcdef")!)

    private func name(_ number: Int) -> Job.Name { Job.Name("j\(number)")! }

    private func run(_ number: Int) -> Run {
        let job = Job(
            name: name(number), command: .shell("true"), schedule: .every(.seconds(60)))
        let id = Firing.ID(job: job.name, scheduled: now.wall)
        return Run(firing: Firing(id: id, missed: 0, active: .zero), job: job)
    }

    private func record(_ number: Int) -> JobRecord {
        JobRecord(
            job: name(number), phase: .armed, active: .zero, accrued: .zero, isCounting: true,
            firings: 1, lastScheduled: nil, configuredPaused: false, removed: nil, at: now,
            instance: 1)
    }

    /// This many jobs with new runs, some of which start, and starts of runs that were recorded
    /// before, like retries.
    @Test(arguments: [1, 63, 64, 65, 128, 300], [0, 1, 64, 65])
    func nothingIsLost_andWhatStartsComesFirst(jobs: Int, before: Int) {
        let runs = (0..<jobs).map(run)
        let records = (0..<jobs).map(record)
        for starting in [0, 1, 63, 64, 65, jobs] where starting <= jobs {
            let start = runs.prefix(starting) + (jobs..<jobs + before).map(run)
            let portions = CommitBatch(runs: runs, start: Array(start), records: records).split()
            #expect(portions.flatMap(\.start).map(\.id) == start.map(\.id), "\(starting) start")
            #expect(Set(portions.flatMap(\.runs).map(\.id)) == Set(runs.map(\.id)))
            #expect(Set(portions.flatMap(\.records).map(\.job)) == Set(records.map(\.job)))
            #expect(portions.reduce(0) { $0 + $1.runs.count + $1.records.count } == 2 * jobs)
            for portion in portions {
                #expect(portion.runs.map(\.id.firing.job) == portion.records.map(\.job))
                #expect(portion.start.count <= 64 || jobs <= 64)
            }
        }
    }
}
