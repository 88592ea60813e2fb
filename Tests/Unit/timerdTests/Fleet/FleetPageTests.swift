// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import SeededRandom
import Testing
import TimerControl
import TimerCore
import TimerStore

@testable import TimerAPI
@testable import timerctl

/// The history of a machine together with what its fleet knows.
@Suite struct FleetPageTests {
    private static let web1 = MachineName("web1")!
    private static let web2 = MachineName("web2")!

    private func at(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    private func id(_ number: Int64) -> Run.ID {
        Run.ID(firing: Firing.ID(job: Job.Name("report")!, scheduled: at(number)))
    }

    private func elsewhere(
        _ number: Int64, ended: Int64, _ outcome: RunOutcome? = .exited(0), on machine: MachineName
    ) -> FleetJobView.MachineRun {
        var run = FleetJobView.MachineRun(run: id(number), machine: machine, state: "ended")
        run.outcome = outcome
        run.began = at(ended - 2)
        run.ended = at(ended)
        run.hasFailed = outcome?.isFailure() ?? false
        return run
    }

    private func withStore(_ runs: [(number: Int64, ended: Int64)], _ body: (Store) throws -> Void)
        throws
    {
        let folder = "/tmp/timerd-fleet-page-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try Store(path: "\(folder)/\(Store.fileName)")
        for (number, ended) in runs {
            let firing = Firing(id: id(number).firing, missed: 0, active: .zero)
            let job = Job(
                name: Job.Name("report")!, command: .shell("true"), schedule: .every(.seconds(9)))
            try store.commit(
                [
                    .begin(Run(firing: firing, attempt: 1, job: job), released: true, at: at(0)),
                    .close(id(number), .exited(0), RunUsage(), failed: false, at: at(ended)),
                ], durable: false)
        }
        try body(store)
    }

    /// All pages of a query, as a client reads them.
    private func pages(
        _ query: HistoryQuery, _ store: Store, _ fleet: [FleetJobView.MachineRun]
    ) throws -> [HistoryReply] {
        var (query, pages): (HistoryQuery, [HistoryReply]) = (query, [])
        repeat {
            let page = try HistoryPage(query, from: store)
            var reply = HistoryReply(page, lines: query.lines)
            FleetPage(fleet, Self.web1).add(to: &reply, of: page, query)
            pages.append(reply)
            query.cursor = reply.nextCursor.flatMap { HistoryCursor($0) }
        } while query.cursor != nil && pages.count < 100
        return pages
    }

    @Test func runsOfAllMachinesComeOnce_theLatestFirst() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            // Some end at the same instant, and the fleet does not know all runs of this machine.
            let own = (0..<Int64(Int.random(in: 0..<12, using: &random))).map {
                (number: $0, ended: 100 + Int64(Int.random(in: 0..<10, using: &random)))
            }
            var fleet = own.filter { $0.number > 4 }.map {
                elsewhere($0.number, ended: $0.ended, on: Self.web1)
            }
            let others = (100..<100 + Int64(Int.random(in: 0..<12, using: &random))).map {
                elsewhere(
                    $0, ended: 100 + Int64(Int.random(in: 0..<10, using: &random)), on: Self.web2)
            }
            fleet += others
            let limit = 1 + Int.random(in: 0..<6, using: &random)
            try withStore(own) { store in
                let query = HistoryQuery(limit: limit, output: false, skipped: true)
                let runs = try pages(query, store, fleet).flatMap(\.runs)
                let expected = Set(own.map { id($0.number) } + others.map(\.run))
                #expect(runs.count == expected.count, "limit \(limit)")
                #expect(Set(runs.compactMap { Run.ID($0.id) }) == expected)
                let ends = runs.compactMap(\.ended)
                #expect(ends == ends.sorted(by: >))
                for run in runs {
                    let number = Run.ID(run.id).map { $0.firing.scheduled >= at(100) }
                    #expect(number == (run.machine == "web2"))
                }
            }
        }
    }

    @Test func aPageKeepsItsSize_andItsFilters() throws {
        try withStore([(1, 10), (2, 20), (3, 30)]) { store in
            let failed = elsewhere(11, ended: 25, .exited(3), on: Self.web2)
            var skipped = elsewhere(12, ended: 26, nil, on: Self.web2)
            (skipped.skipReason, skipped.missed, skipped.first) = (.stillRunning, 2, at(6))
            let lost = elsewhere(13, ended: 27, .lost(.machine), on: Self.web2)
            let running = elsewhere(14, ended: 28, nil, on: Self.web2)
            let fleet = [running, failed, lost, skipped]
            let all = try pages(HistoryQuery(limit: 2, skipped: true), store, fleet)
            #expect(all.map { $0.runs.count + ($0.skippedRuns?.count ?? 0) } == [2, 2, 2])
            #expect(all[0].runs.map(\.outcome) == ["exited(0)", "lost(machine)"])
            let skip = try #require(all[1].skippedRuns?.first)
            #expect(skip.reason == "still-running" && skip.skippedCount == 3)
            #expect(skip.firstScheduled == at(6).rfc3339Micros)
            let bad = try pages(HistoryQuery(result: .failed), store, fleet)
            #expect(bad.flatMap(\.runs).map(\.id) == [lost, failed].map(\.run.description))
            let good = try pages(HistoryQuery(result: .succeeded), store, fleet)
            #expect(good.flatMap(\.runs).count == 3)
            let onlySkipped = try pages(HistoryQuery(result: .skipped), store, fleet)
            #expect(onlySkipped.flatMap(\.runs).isEmpty)
            #expect(onlySkipped.flatMap { $0.skippedRuns ?? [] }.count == 1)
            let others = try pages(HistoryQuery(match: ["no-*"], skipped: true), store, fleet)
            #expect(others.flatMap(\.runs).isEmpty)
            #expect(others.flatMap { $0.skippedRuns ?? [] }.isEmpty)
            let early = try pages(HistoryQuery(until: at(26)), store, fleet)
            #expect(
                early.flatMap(\.runs).map(\.ended) == [25, 20, 10].map { at($0).rfc3339Micros })
            let late = try pages(HistoryQuery(since: at(27)), store, fleet)
            #expect(late.flatMap(\.runs).count == 2)
        }
    }

    @Test func theTableNamesTheMachines() throws {
        var own = RunStatus(elsewhere(1, ended: 20, on: Self.web1))
        let other = RunStatus(elsewhere(2, ended: 10, .exited(3), on: Self.web2))
        let text = Text.history(HistoryReply(runs: [own, other]), outputLines: 3)
        let lines = text.split(separator: "\n")
        #expect(lines[0].split(separator: " ").prefix(3) == ["JOB", "MACHINE", "ENDED"])
        #expect(lines[1].contains(" web1 ") && lines[2].contains(" web2 ") && lines.count == 3)
        #expect(lines[2].contains("exit 3") && lines[2].contains(" 2 s "))
        own.machine = nil
        #expect(!Text.history(HistoryReply(runs: [own]), outputLines: 3).contains("MACHINE"))
    }
}
