// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerRunnerProtocol
import TimerStore

@testable import TimerDaemon

/// What must be on the disk before the rest of a decision, and what is written with it.
@Suite struct DecisionTests {
    private let now = Now(
        wall: WallInstant(secondsSinceEpoch: 1), awake: AwakeInstant(nanoseconds: 2),
        boot: BootInstant(nanoseconds: 3), bootID: BootID("0123456789abcdef0123456789abcdef")!)
    private let job = Job.Name("a")!

    private func record() -> JobRecord {
        JobRecord(
            job: job, phase: .armed, active: .zero, accrued: .zero, isCounting: true, firings: 1,
            lastScheduled: nil, configuredPaused: false, removed: nil, at: now, instance: 1)
    }

    private func skipped() -> Action {
        let id = Firing.ID(job: job, scheduled: now.wall)
        return .log(.skipped(Firing(id: id, missed: 0, active: .zero), .missed))
    }

    /// The kinds of changes, in their order.
    private func kinds(_ changes: [Store.Change]?) -> String {
        (changes ?? []).map { change in
            switch change {
            case .beginInstance: "begin"
            case .save: "save"
            case .skip: "skip"
            case .erase: "note"
            default: "?"
            }
        }.joined(separator: " ")
    }

    @Test func theFirstDurableWriteContainsTheOpeningAndTheHistory() {
        var decision = Decision(
            [skipped()], at: now, written: now.wall, opening: [.beginInstance(now)])
        let note = JobNote(job: job, change: .erase(job))
        let first = decision.takeDurable(.save([record()], durable: true), [note]) { _ in [] }
        #expect(kinds(first) == "begin save skip note")
        let openings = [decision.takeOpening(), decision.takeOpening()]
        #expect(openings == [true, false])
        let second = decision.takeDurable(.save([record()], durable: true), []) { _ in [] }
        #expect(kinds(second) == "save")
    }

    @Test func otherActionsLeaveTheHistoryToTheirOwnWrites() {
        var decision = Decision([skipped()], at: now, written: now.wall)
        for action in [Action.save([record()], durable: false), .answer(.done)] {
            let changes = decision.takeDurable(action, []) { _ in [] }
            #expect(changes == nil)
        }
        let counts = [decision.takeHistory().count, decision.takeHistory().count]
        #expect(counts == [1, 0])
    }

    @Test func theOutputIsThatOfTheRunThatEnded() {
        let run = Run.ID(firing: Firing.ID(job: job, scheduled: now.wall), attempt: 1)
        let other = Run.ID(firing: run.firing, attempt: 2)
        let end = RunEnd(.exited(0), at: now.wall, tail: [65])
        let decision = Decision([], at: now, written: now.wall, end: (run, end))
        #expect(decision.tail == [65] && decision.tail(of: run) == [65])
        #expect(decision.tail(of: other).isEmpty)
        #expect(Decision([], at: now, written: now.wall).tail.isEmpty)
    }

    /// Only the first write that waits is reported.
    @Test func aDelayIsReportedOnce() {
        var decision = Decision([], at: now, written: now.wall, onDelayed: { _ in })
        let reports = [decision.takeDelayed() != nil, decision.takeDelayed() != nil]
        #expect(reports == [true, false])
    }
}
