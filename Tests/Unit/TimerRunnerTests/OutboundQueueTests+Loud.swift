// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Runs that write more than the log takes.
extension OutboundQueueTests {
    @Test func theEndOfARunWaitsForNoOutputOfAnother() throws {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        write(100_000, by: run(1), to: outbound)
        // The window is full now.
        #expect(!sent(outbound).isEmpty && sent(outbound).isEmpty)
        _ = outbound.enqueue(.began(run(2), pid: 7, at: end.at), at: now)
        _ = outbound.enqueue(.ended(run(2), end), at: now)
        #expect(
            told(sent(outbound)).map(\.event) == [
                .began(run(2), pid: 7, at: end.at), .ended(run(2), end),
            ])
    }

    @Test func theEndOfARunIsSentAfterItsOwnOutput() throws {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        write(100_000, by: run(1), to: outbound)
        write(30, by: run(2), to: outbound)
        _ = outbound.enqueue(.ended(run(2), end), at: now)
        let told = told(sent(outbound))
        #expect(lines(told, of: run(2)) == 30)
        let behind = try #require(place(ofEndOf: run(2), in: told))
        #expect(lines(Array(told[..<behind]), of: run(2)) == 30)
        // The runs were served in turn: no line waited for all lines of the other run.
        #expect(lines(Array(told[..<behind]), of: run(1)) < 100)
    }

    /// A log that hangs accepts no line, and the job must fire again nevertheless.
    @Test func theEndOfARunDoesNotWaitForALogThatAcceptsNoLine() {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        write(100_000, by: run(1), to: outbound)
        _ = sent(outbound)
        write(1, by: run(2), to: outbound)
        #expect(outbound.enqueue(.ended(run(2), end), at: now), "the sending thread must be woken")
        #expect(sent(outbound).isEmpty)
        let by = now + OutboundQueue.endDelayMax
        #expect(outbound.nextBatch(at: by - 1).nextAt == by)
        #expect(told(sent(outbound, at: by)).map(\.event) == [.ended(run(2), end)])
        #expect(outbound.nextBatch(at: by).nextAt == nil)
        // Its line is not lost.
        #expect(lines(drained(outbound), of: run(2)) == 0)
        outbound.seen(0, output: .max)
        #expect(lines(drained(outbound), of: run(2)) == 1)
    }

    @Test func aBarrierIsSentAfterTheEndsBeforeIt() {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        write(100_000, by: run(1), to: outbound)
        _ = sent(outbound)
        write(1, by: run(2), to: outbound)
        _ = outbound.enqueue(.ended(run(2), end), at: now)
        outbound.barrierReached(7)
        #expect(sent(outbound).isEmpty)
        let replies = sent(outbound, at: now + OutboundQueue.endDelayMax)
        #expect(replies == [.event(1, .ended(run(2), end)), .barrierReached(2, token: 7)])
        outbound.barrierReached(8)
        #expect(sent(outbound) == [.barrierReached(3, token: 8)])
    }

    @Test func aNewSchedulerGetsTheEndAfterTheUnacknowledgedOutput() throws {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        write(10, by: run(1), to: outbound)
        _ = sent(outbound)
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        #expect(told(sent(outbound)).count == 1)
        _ = outbound.connect(at: now)
        let told = told(sent(outbound))
        #expect(told.count == 11 && place(ofEndOf: run(1), in: told) == 10)
    }

    @Test func anEndWithoutASchedulerWaitsForItsOutputOnceOneConnects() throws {
        let outbound = OutboundQueue()
        write(10, by: run(1), to: outbound)
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        let later = now + 10 * OutboundQueue.endDelayMax
        _ = outbound.connect(at: later)
        let told = told(sent(outbound, at: later))
        #expect(told.count == 11 && place(ofEndOf: run(1), in: told) == 10)
    }

    @Test func aRunWithLittleOutputLosesNoLineToThoseWithMuch() {
        let outbound = OutboundQueue()
        for loud in 1...50 { write(20_000, by: run(loud), to: outbound) }
        write(100, by: run(99), to: outbound)
        let told = drained(outbound)
        #expect(lines(told, of: run(99)) == 100)
        let quiet = told.prefix {
            if case .output(run(99), _, _, _) = $0.event { false } else { true }
        }
        #expect(quiet.count < 50 * 40)
    }

    /// However many jobs with however many runs use all the room, and however long nothing is read:
    /// jobs that write less than half of an equal share lose no line.
    @Test(arguments: [1, 3, 30], [1, 10])
    func aJobWithLittleOutputLosesNoLineToThoseWithMuch(jobs: Int, runs: Int) {
        let outbound = OutboundQueue()
        let cost = 2000 + OutputQueue.lineCost
        let many = min(1200, 1 + 16_000 / (jobs * runs))
        let few = OutputQueue.bytesMax / (jobs + 5) / 2 / cost / 2
        func all(_ kind: String, _ jobs: Int, _ runs: Int) -> [Run.ID] {
            (0..<jobs).flatMap { job in (0..<runs).map { run($0, of: "\(kind)\(job)") } }
        }
        let loud = all("loud", jobs, runs)
        let quiet = all("quiet", 5, 2)
        for run in loud { write(many, of: 2000, by: run, to: outbound) }
        for run in quiet { write(few, of: 2000, by: run, to: outbound) }
        for run in loud { write(many / 5, of: 2000, by: run, to: outbound) }
        let told = drained(outbound)
        for run in quiet { #expect(lines(told, of: run) == few) }
        var dropped: [Run.ID: Int] = [:]
        for case .dropped(let run, let lines) in told.map(\.event) {
            dropped[run, default: 0] += lines
        }
        var kept = 0
        for run in loud {
            let lines = lines(told, of: run)
            #expect(lines + (dropped[run] ?? 0) == many + many / 5)
            kept += lines
        }
        #expect(kept * cost <= OutputQueue.bytesMax)
        if loud.count >= 10 { #expect(kept * cost > OutputQueue.bytesMax / 3) }
    }

    /// If the common room is full, a run has a second before its lines are dropped, as when its own
    /// room is full.
    @Test func aRunIsAlsoSlowedDownWhenOthersHaveFilledTheRoom() {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        for number in 1...100 { write(1000, by: run(number, of: "loud\(number)"), to: outbound) }
        let last = run(100, of: "loud100")
        #expect(outbound.outputGate(of: last, at: now) == .slow(until: now + OutputQueue.slowMax))
        #expect(outbound.outputGate(of: last, at: now + OutputQueue.slowMax) == .discard)
        outbound.disconnect()
        #expect(outbound.outputGate(of: last, at: now) == .discard)
    }

    @Test func outputIsBounded_andDroppedLinesAreCountedAtTheirPosition() {
        let outbound = OutboundQueue()
        write(4000, of: 8192, by: run(1), to: outbound)
        write(4000, of: 8192, by: run(2), to: outbound)
        _ = outbound.enqueue(.ended(run(2), end), at: now)
        let told = drained(outbound)
        for run in [run(1), run(2)] {
            let kept = lines(told, of: run)
            #expect(
                kept * 8192 <= OutputQueue.runBytesMax && kept * 8192 > OutputQueue.runBytesMax / 2)
            let drops = told.filter { if case .dropped(run, _) = $0.event { true } else { false } }
            #expect(drops.map(\.event) == [.dropped(run, lines: 4000 - kept)])
        }
        // After everything else of its run.
        #expect(told.last?.event == .ended(run(2), end))
    }

    @Test func aRunIsSlowedDown_thenDropped_andContinuesWhenThereIsRoom() {
        let outbound = OutboundQueue()
        _ = outbound.isNew(run(1))
        _ = outbound.connect(at: now)
        #expect(outbound.outputGate(of: run(1), at: now) == .open)
        write(100, by: run(1), to: outbound)
        #expect(outbound.outputGate(of: run(1), at: now) == .open)
        write(2000, by: run(1), to: outbound)
        let until = now + OutputQueue.slowMax
        #expect(outbound.outputGate(of: run(1), at: now) == .slow(until: until))
        #expect(outbound.outputGate(of: run(1), at: until - 1) == .slow(until: until))
        #expect(outbound.outputGate(of: run(1), at: until) == .discard)
        // No other run is slowed down.
        write(10, by: run(2), to: outbound)
        #expect(outbound.outputGate(of: run(2), at: until) == .open)
        var reopened: [Run.ID] = []
        var slowings = 0
        while case let portion = outbound.nextBatch(at: now), !portion.replies.isEmpty {
            reopened += portion.reopened
            let told = told(portion.replies)
            slowings += told.count { $0.event == .slowed(run(1)) }
            outbound.seen(0, output: told.last?.number ?? 0)
        }
        #expect(reopened == [run(1)] && slowings == 1)
        #expect(outbound.outputGate(of: run(1), at: until) == .open)
    }

    @Test func withoutASchedulerARunIsNotSlowedDown_butItsLinesAreDropped() {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        outbound.disconnect()
        write(2000, by: run(1), to: outbound)
        #expect(outbound.outputGate(of: run(1), at: now) == .open)
        write(20_000, by: run(1), to: outbound)
        #expect(outbound.outputGate(of: run(1), at: now) == .discard)
        _ = outbound.connect(at: now)
        #expect(!drained(outbound).contains { $0.event == .slowed(run(1)) })
    }
}
