// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import SeededRandom
import Testing

@testable import TimerCore

@Suite struct RunStateTests {
    private static let instant = WallInstant(microsecondsSinceEpoch: 1)

    private static let states: [(name: String, state: RunState)] = [
        ("waiting", .waiting(.capacity)), ("waiting", .waiting(.previousRun)),
        ("waiting", .waiting(.slot)), ("waiting", .waiting(.check)),
        ("waiting", .waiting(.condition(until: AwakeInstant(nanoseconds: 1)))),
        ("waiting", .waiting(.retryDelay(until: AwakeInstant(nanoseconds: 1)))),
        ("starting", .starting), ("running", .running(since: instant)),
        ("stopping", .stopping(.stopped, since: nil)),
        ("stopping", .stopping(.replaced, since: instant)),
        ("stoppingAtStart", .stoppingAtStart(.stopped)), ("ended", .ended(.exited(0))),
    ]

    private static let transitions: [(name: String, transition: RunTransition)] = [
        ("wait", .wait(.previousRun)), ("start", .start(event: 1)), ("begin", .begin(at: instant)),
        ("stop", .stop(.stopped, isRecorded: true)), ("stop", .stop(.stopped, isRecorded: false)),
        ("end", .end(.exited(0))), ("cancel", .cancel(.stopped)),
    ]

    private static func name(of state: RunState) -> String {
        switch state {
        case .waiting: "waiting"
        case .starting: "starting"
        case .running: "running"
        case .stopping: "stopping"
        case .stoppingAtStart: "stoppingAtStart"
        case .ended: "ended"
        }
    }

    /// The table in docs/internals/RUNS.md: state, then column, then the states in the cell.
    private static func documented() throws -> [String: [String: Set<String>]] {
        let map = Project.url(of: "docs/internals/RUNS.md")
        var columns: [String] = []
        var table: [String: [String: Set<String>]] = [:]
        for line in try String(contentsOf: map, encoding: .utf8).split(separator: "\n")
        where line.hasPrefix("|") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            if cells.first == "state" {
                columns = cells
            } else if cells.count == columns.count, let state = cells.first, state.hasPrefix("`") {
                for (column, cell) in zip(columns, cells).dropFirst() {
                    let named = cell.split(separator: "`", omittingEmptySubsequences: false)
                    let states = named.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
                    table[state.trimmingCharacters(in: ["`"]), default: [:]][column] =
                        Set(states.map(String.init))
                }
            }
        }
        return table
    }

    @Test func theTableInTheDocumentsHasEveryTransition() throws {
        var steps: [String: [String: Set<String>]] = [:]
        for (from, state) in Self.states {
            for (what, transition) in Self.transitions {
                let to = state.after(transition).map { [Self.name(of: $0)] } ?? []
                steps[from, default: [:]][what, default: []].formUnion(to)
            }
        }
        #expect(try Self.documented() == steps)
    }

    @Test func aStoppedRunEndsWithTheOutcomeOfItsStop() {
        for (_, state) in Self.states where state.isStopping {
            for transition in [RunTransition.end(.exited(3)), .cancel(.lost(.deadline))] {
                let after = state.after(transition)
                #expect(after == .ended(.stopped) || after == .ended(.replaced))
            }
        }
    }

    @Test func aRunCountsForMaxConcurrentFromItsStartToItsEnd() {
        let taking = Self.states.filter(\.state.takesPlace).map(\.name)
        #expect(
            Set(taking) == ["waiting", "starting", "running", "stopping", "stoppingAtStart"])
        let waiting = Self.states.filter { $0.name == "waiting" && $0.state.takesPlace }
        #expect(waiting.map(\.state) == [.waiting(.check)])
    }

    /// The counts for `max-concurrent` always match the runs in the table, after any operation.
    @Test func theCountsOfTheTableMatchItsRuns() {
        var random = SeededRandom()
        let jobs: [Job] = [.every(.seconds(60), "a"), .every(.seconds(60), "b")]
        var table = RunTable()
        for slot in jobs.indices { table.addSlot(slot) }
        var isNamed = [true, true]
        var runs: [(id: Run.ID, slot: Int)] = []
        func key(_ slot: Int) -> RunTable.JobKey {
            isNamed[slot] ? .slot(slot) : .other(jobs[slot].name)
        }
        for step in 0..<20_000 {
            let slot = random.int(below: jobs.count)
            switch random.int(below: 12) {
            case 0 where isNamed[slot]:
                let states = Self.states.map(\.state).filter { $0 != .ended(.exited(0)) }
                let firing = Firing(
                    id: .init(
                        job: jobs[slot].name, scheduled: WallInstant(secondsSinceEpoch: Int64(step))
                    ),
                    missed: 0, active: .zero)
                let run = Run(firing: firing, job: jobs[slot])
                table.add(ActiveRun(run, states[random.int(below: states.count)]), of: key(slot))
                runs.append((run.id, slot))
            case 1 where isNamed[slot]:
                _ = table.cancel(slot, as: .stopped) { $0.wait != nil }
                table.detach(slot, job: jobs[slot].name)
                isNamed[slot] = false
            case 2 where !isNamed[slot]:
                table.attach([jobs[slot].name], to: slot, job: jobs[slot].name)
                isNamed[slot] = true
            default:
                guard !runs.isEmpty else { continue }
                let run = runs[random.int(below: runs.count)]
                let transition = Self.transitions[random.int(below: Self.transitions.count)]
                _ = table.apply(transition.transition, to: run.id, of: key(run.slot))
            }
            runs.removeAll { table.state(of: $0.id, of: key($0.slot)) == nil }
            let states = runs.compactMap { table.state(of: $0.id, of: key($0.slot)) }
            #expect(table.startedCount == states.count(where: \.takesPlace))
            #expect(table.capacityCount == states.count { $0 == .waiting(.capacity) })
            #expect(table.conditionCount == states.count(where: \.awaitsCondition))
        }
        #expect(!runs.isEmpty || table.startedCount == 0)
    }
}
