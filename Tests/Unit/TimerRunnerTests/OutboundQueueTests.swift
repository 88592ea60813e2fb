// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// What is stored for a scheduler, and in which order it is sent.
@Suite struct OutboundQueueTests {
    func run(_ number: Int, of job: String = "probe") -> Run.ID {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        return Run.ID(firing: Firing.ID(job: Job.Name(job)!, scheduled: scheduled))
    }

    let end = RunEnd(.exited(0), at: WallInstant(microsecondsSinceEpoch: 1))
    /// An instant of CLOCK_MONOTONIC.
    let now: Int64 = 1_000_000_000_000

    /// A run writes this many lines of this many bytes.
    func write(
        _ lines: Int, of bytes: Int = 100, by run: Run.ID, to outbound: OutboundQueue
    ) {
        let line = [UInt8](repeating: 120, count: bytes)
        for _ in 0..<lines {
            _ = outbound.enqueue(.output(run, .stdout, line: line, isCut: false), at: now)
        }
    }

    /// A sent event, with its number and whether it is output.
    struct Told {
        var number: UInt64
        var event: RunnerEvent
        var isOutput: Bool
    }

    func told(_ replies: [WireReply]) -> [Told] {
        replies.compactMap { reply in
            guard case .event(let number, let event) = reply else { return nil }
            switch event {
            case .began, .ended: return Told(number: number, event: event, isOutput: false)
            case .output, .unfinished, .dropped, .limited, .slowed, .leftBehind:
                return Told(number: number, event: event, isOutput: true)
            }
        }
    }

    /// Everything that can be sent at this instant.
    func sent(_ outbound: OutboundQueue, at instant: Int64? = nil) -> [WireReply] {
        var all: [WireReply] = []
        while true {
            let portion = outbound.nextBatch(at: instant ?? now)
            all += portion.replies
            if !portion.hasMore { return all }
        }
    }

    /// Sends everything and acknowledges it, until nothing remains.
    func drained(_ outbound: OutboundQueue) -> [Told] {
        var all: [Told] = []
        while case let more = told(sent(outbound)), !more.isEmpty {
            all += more
            outbound.seen(
                more.last { !$0.isOutput }?.number ?? 0,
                output: more.last { $0.isOutput }?.number ?? 0)
        }
        return all
    }

    func lines(_ told: [Told], of run: Run.ID) -> Int {
        told.count { if case .output(run, _, _, _) = $0.event { true } else { false } }
    }

    func place(ofEndOf run: Run.ID, in told: [Told]) -> Int? {
        told.firstIndex { if case .ended(run, _) = $0.event { true } else { false } }
    }

    @Test func unacknowledgedEventsAreSentAgain_inTheirOrder_andNothingElse() {
        let outbound = OutboundQueue()
        _ = outbound.connect(at: now)
        for number in 0..<10 {
            _ = outbound.enqueue(
                .output(run(1), .stdout, line: [UInt8(number)], isCut: false), at: now)
        }
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        let first = told(sent(outbound))
        #expect(first.map(\.number) == Array(1...10) + [1])
        #expect(first.map(\.isOutput) == Array(repeating: true, count: 10) + [false])
        #expect(sent(outbound).isEmpty)
        outbound.seen(0, output: 4)
        #expect(outbound.connect(at: now).count == 1)
        let again = told(sent(outbound))
        #expect(again.map(\.number) == Array(5...10) + [2])
        #expect(again.last?.event == .ended(run(1), end))
        outbound.seen(2, output: 10)
        // Acknowledged and not forgotten: its end is sent again on each new connection.
        for number in 3...4 {
            _ = outbound.connect(at: now)
            let told = told(sent(outbound))
            #expect(told.count == 1 && told[0].number == UInt64(number))
            #expect(told[0].event == .ended(run(1), end))
            outbound.seen(UInt64(number), output: 0)
        }
        outbound.forget([run(1)])
        #expect(outbound.connect(at: now).isEmpty && sent(outbound).isEmpty && outbound.isEmpty)
    }

    /// It was requested when the runner starts no more runs: the next runner starts it, and nothing
    /// waits for it.
    @Test func aRunThatIsNotStartedDoesNotDelayTheShutdown() {
        let outbound = OutboundQueue()
        #expect(outbound.isNew(run(1)) && outbound.isEmpty)
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        #expect(!outbound.isEmpty)
        _ = sent(outbound)
        outbound.seen(1, output: 0)
        #expect(!outbound.isEmpty)
        outbound.forget([run(1)])
        #expect(outbound.isEmpty)
    }

    @Test func aRunIsNewOnlyOnce() {
        let outbound = OutboundQueue()
        #expect(outbound.isNew(run(1)) && !outbound.isNew(run(1)))
        _ = outbound.enqueue(.began(run(1), pid: 7, at: end.at), at: now)
        #expect(outbound.connect(at: now) == [.holds(run(1), began: end.at, isOver: false)])
        #expect(!outbound.isNew(run(1)))
    }

    /// A run that has ended is requested several times.
    @Test func anUnacknowledgedEndIsNotAddedAgain() {
        let outbound = OutboundQueue()
        _ = outbound.isNew(run(1))
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        for _ in 0..<100 { #expect(!outbound.isNew(run(1))) }
        #expect(told(sent(outbound)).count == 1)
        for _ in 0..<100 { #expect(!outbound.isNew(run(1))) }
        #expect(sent(outbound).isEmpty)
        outbound.seen(1, output: 0)
        for _ in 0..<100 { #expect(!outbound.isNew(run(1))) }
        #expect(told(sent(outbound)).count == 1)
    }

    // MARK: - Loud runs

    /// For any events in any order: each line is sent or counted, each end is sent once for each
    /// connection, and nothing remains.
    @Test func everyLineIsSentOrCounted() {
        var random = SeededRandom()
        /// Runs of a few jobs; one job has many.
        func pick(_ number: Int) -> Run.ID { run(number, of: "job\(min(number, 4))") }
        for _ in 0..<5 {
            let outbound = OutboundQueue()
            var written: [Run.ID: Int] = [:]
            var heard: [Run.ID: Int] = [:]
            var lastOutput: UInt64 = 0
            var lastEvent: UInt64 = 0
            func receive(_ told: [Told]) {
                for told in told where told.isOutput && told.number > lastOutput {
                    lastOutput = told.number
                    switch told.event {
                    case .output(let run, _, _, _): heard[run, default: 0] += 1
                    case .dropped(let run, let lines), .limited(let run, let lines):
                        heard[run, default: 0] += lines
                    default: break
                    }
                }
                lastEvent = told.last { !$0.isOutput }?.number ?? lastEvent
            }
            for _ in 0..<300 {
                let run = pick(random.int(below: 14))
                switch random.int(below: 6) {
                case 0...2:
                    let lines = random.int(below: 1000)
                    write(lines, of: random.int(below: 3000), by: run, to: outbound)
                    written[run, default: 0] += lines
                case 3:
                    let lines = 1 + random.int(below: 1000)
                    let isLimited = random.int(below: 2) == 0
                    _ = outbound.enqueue(
                        isLimited ? .limited(run, lines: lines) : .dropped(run, lines: lines),
                        at: now)
                    written[run, default: 0] += lines
                case 4: receive(told(outbound.nextBatch(at: now).replies))
                default:
                    switch random.int(below: 4) {
                    case 0: _ = outbound.connect(at: now)
                    case 1: _ = outbound.outputGate(of: run, at: now)
                    default: outbound.seen(lastEvent, output: lastOutput)
                    }
                }
            }
            let runs = (0..<14).map { pick($0) }
            for run in runs { _ = outbound.enqueue(.ended(run, end), at: now) }
            var ends = 0
            outbound.seen(lastEvent, output: lastOutput)
            while case let more = told(sent(outbound)), !more.isEmpty {
                receive(more)
                ends += more.count { !$0.isOutput }
                outbound.seen(lastEvent, output: lastOutput)
            }
            #expect(heard == written.filter { $0.value > 0 } && ends == 14)
            outbound.forget(runs)
            #expect(outbound.isEmpty && outbound.size == (0, 0))
        }
    }
}
