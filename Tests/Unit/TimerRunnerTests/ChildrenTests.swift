// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunner

/// What the runner knows about its children, without any process.
@Suite struct ChildrenTests {
    private static func child(_ run: Run.ID, _ pid: Int32) -> Child {
        Child(
            id: run, began: 0, beganAt: WallInstant(microsecondsSinceEpoch: 0), killTimeout: .zero,
            controlGroup: nil, process: ChildProcess(pid: pid, pidfd: nil, isOwn: true),
            setUp: .done, output: ChildOutput(), timeLimit: TimeLimit(until: nil))
    }

    @discardableResult
    private static func add(_ run: Run.ID, _ pid: Int32, to children: inout Children) -> UInt64 {
        let serial = children.nextSerial()
        children.add(child(run, pid), serial)
        return serial
    }

    @Test func aChildIsFoundByItsRunUntilThatEnds_andByItsProcessUntilThatIsReaped() {
        var children = Children(orphanedMax: 2)
        let run = ScriptedRuns.run(1)
        let serial = Self.add(run, 10, to: &children)
        #expect(serial == 1 && children.serial(of: run) == 1 && children.hasActive)
        #expect(children.serial(ofProcess: 10) == 1 && children.active(1)?.id == run)
        #expect(!children.isDone(1))
        children.didReap(10)
        #expect(children.serial(ofProcess: 10) == nil && children.serial(of: run) == 1)
        // Another process may have the same id now.
        let next = Self.add(ScriptedRuns.run(2), 10, to: &children)
        children.endRun(of: serial)
        #expect(children.serial(of: run) == nil && children.active(serial) == nil)
        #expect(children.serial(ofProcess: 10) == next)
        #expect(children[serial] != nil && children.isDone(serial))
        #expect(children.remove(serial)?.id == run && children[serial] == nil)
        #expect(children.remove(serial) == nil)
        #expect(children.activeSerials == [next] && children.serials == [next])
    }

    @Test func runsAndMessagesAreCountedByThemselves() {
        var children = Children(orphanedMax: 2)
        let run = Self.add(ScriptedRuns.run(1), 1, to: &children)
        let message = Self.add(ScriptedRuns.message(1), 2, to: &children)
        #expect(children.occupancy == StartQueue.Occupancy(runs: 1, messages: 1, places: 2))
        children.endRun(of: message)
        #expect(children.occupancy == StartQueue.Occupancy(runs: 1, messages: 0, places: 2))
        children.endRun(of: run)
        #expect(!children.hasActive && children.occupancy.places == 2)
    }

    @Test func theOldestOfTooManyEndedOnesIsToBeRemoved() {
        var children = Children(orphanedMax: 2)
        let serials = (1...4).map { Self.add(ScriptedRuns.run($0), Int32($0), to: &children) }
        for serial in serials { children.endRun(of: serial) }
        #expect(children.keepOrphaned(serials[0]) == nil)
        #expect(children.keepOrphaned(serials[1]) == nil)
        _ = children.remove(serials[0])
        #expect(children.keepOrphaned(serials[2]) == nil)
        #expect(children.keepOrphaned(serials[3]) == serials[1])
    }

    // MARK: - Termination

    private enum Step {
        case begin(RunOutcome, Int64, Termination.Step)
        case setKill(Int64)
        case kill(Int64)
    }

    @Test(
        arguments: [
            // The first reason counts, and the grace period can only become shorter.
            (
                [
                    .begin(.timedOut, 100, .terminate(killAt: 100)),
                    .begin(.stopped, 200, .nothing), .begin(.stopped, 100, .nothing),
                    .begin(.stopped, 50, .wait(until: 50)),
                ], .timedOut, "ending 50"
            ),
            // After SIGKILL only its abandonment follows.
            (
                [
                    .begin(.stopped, 100, .terminate(killAt: 100)), .kill(500),
                    .begin(.timedOut, 50, .wait(until: 500)), .setKill(1),
                ], .stopped, "killed 500"
            ),
            // The program of a session is killed first.
            (
                [
                    .begin(.stopped, 100, .terminate(killAt: 100)), .setKill(300),
                    .begin(.stopped, 200, .wait(until: 200)),
                ], .stopped, "ending 200"
            ),
            // A run that nothing terminates cannot be killed.
            ([.setKill(1), .kill(2)], nil, "running"),
        ] as [([Step], RunOutcome?, String)])
    private func termination(steps: [Step], outcome: RunOutcome?, end: String) {
        var termination = Termination()
        #expect(termination.isRunning && termination.outcome == nil)
        for (number, step) in steps.enumerated() {
            switch step {
            case .begin(let outcome, let killAt, let expected):
                let next = termination.begin(outcome, killAt: killAt)
                #expect(next == expected, "step \(number)")
            case .setKill(let instant): termination.setKill(at: instant)
            case .kill(let instant): termination.kill(abandonAt: instant)
            }
        }
        #expect(termination.outcome == outcome && termination.isRunning == (outcome == nil))
        let stage =
            switch termination.stage {
            case .running: "running"
            case .ending(_, let killAt): "ending \(killAt)"
            case .killed(_, let abandonAt): "killed \(abandonAt)"
            }
        #expect(stage == end)
    }

    @Test func theTimeLimitDoesNotPassWhileTheRunIsSuspended() {
        var limit = TimeLimit(until: 100)
        #expect(limit.deadline == 100 && !limit.isOver(at: 99) && limit.isOver(at: 100))
        limit.suspend(at: 70)
        limit.suspend(at: 90)
        #expect(limit.deadline == nil && !limit.isOver(at: 1000))
        #expect(limit.resume(at: 500) == 530 && limit.resume(at: 501) == nil)
        #expect(limit.deadline == 530)
        // It was over when the run was suspended, and is so at once when it is resumed.
        limit.suspend(at: 600)
        #expect(limit.resume(at: 700) == 700 && limit.isOver(at: 700))
        limit.suspend(at: 650)
        limit.remove()
        #expect(limit.resume(at: 800) == nil && limit.deadline == nil)
        var none = TimeLimit(until: nil)
        none.suspend(at: 1)
        #expect(none.resume(at: 2) == nil && !none.isOver(at: .max))
    }
}
