// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner

@Suite struct WireTests {
    private static let run = Run.ID("backup:20261121T043852.000000Z:1")!
    private static let end = RunEnd(
        .spawnFailed(errno: "ENOENT", what: "exec /no, such"),
        RunUsage(
            elapsed: .milliseconds(1500), user: .microseconds(7), system: .nanoseconds(9),
            peakResidentBytes: 1 << 40),
        at: WallInstant(microsecondsSinceEpoch: -5), tail: [0, 255, 10])

    private static let requests: [WireRequest] = [
        .hello(version: 1), .start([]),
        .start(
            (1...3).map {
                RunOrder(
                    run: Run.ID(firing: run.firing, attempt: $0), fingerprint: .max - UInt64($0),
                    missed: $0, active: .seconds(90))
            }),
        .end(run, grace: .milliseconds(10)), .suspend(run), .resume(run), .signal(run, SIGHUP),
        .settle(.max), .forget([run, run]), .seen(7), .shutDown(grace: .zero), .refresh,
    ]
    private static let replies: [WireReply] = [
        .welcome(version: 1, instance: .max),
        .holds(run, began: WallInstant(microsecondsSinceEpoch: 1), isOver: false),
        .holds(run, began: nil, isOver: true), .complete,
        .event(1, .began(run, pid: 4_194_304, at: WallInstant(microsecondsSinceEpoch: 2))),
        .event(2, .output(run, .stderr, line: Array("line".utf8), isCut: true)),
        .event(3, .output(run, .stdout, line: [], isCut: false)),
        .event(4, .dropped(run, lines: 10)), .event(5, .ended(run, end)), .settled(6, token: 7),
        .down,
    ]

    @Test(arguments: requests)
    func aRequestIsReadAsItWasWritten(request: WireRequest) throws {
        #expect(try WireRequest(request.bytes[...]) == request)
    }

    @Test(arguments: replies)
    func aReplyIsReadAsItWasWritten(reply: WireReply) throws {
        #expect(try WireReply(reply.bytes[...]) == reply)
    }

    /// Cut off, changed in any byte, or anything at all: an error at most, never a trap, and what is read is
    /// no larger than what was there.
    @Test func nothingThatIsSentTraps() {
        let seed = UInt64.random(in: 0 ... .max)
        print("wire: seed \(seed)")
        var state = seed
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let all = Self.requests.map(\.bytes) + Self.replies.map(\.bytes)
        for bytes in all {
            for length in bytes.indices {
                _ = try? WireRequest(bytes[..<length])
                _ = try? WireReply(bytes[..<length])
            }
            for _ in 0..<500 {
                var bytes = bytes
                for _ in 0...random(3) where !bytes.isEmpty {
                    bytes[random(bytes.count)] = UInt8(random(256))
                }
                _ = try? WireRequest(bytes[...])
                _ = try? WireReply(bytes[...])
            }
        }
        for _ in 0..<5000 {
            let bytes = (0..<random(60)).map { _ in UInt8(random(256)) }
            _ = try? WireRequest(bytes[...])
            _ = try? WireReply(bytes[...])
        }
    }

    @Test func aFingerprintIsTheSameInEveryProcess_andAnotherForEveryChange() {
        var definition = Definition(.shell("true"))
        definition.environment = ["B": "2", "A": "1"]
        // Written down once: a change of it lets no scheduler start a run with a runner of before.
        #expect(String(definition.fingerprint, radix: 16) == "5a12eb76515130dc")
        let changes: [(inout Definition) -> Void] = [
            { $0.command = .arguments(["true"]) }, { $0.command = .arguments(["true", ""]) },
            { $0.environment["A"] = "2" }, { $0.environment = ["A1": "", "B": "2"] },
            { $0.workingDirectory = "/" }, { $0.execution.user = "a" },
            { $0.execution.group = "a" }, { $0.execution.environmentFile = "a" },
            { $0.execution.passEnvironment = ["a"] },
            { $0.execution.passEnvironment = ["a", "b"] },
            { $0.execution.umask = 0 }, { $0.execution.nice = 1 },
            { $0.execution.limits = [.core: nil] }, { $0.execution.limits = [.core: 0] },
            { $0.execution.limits = [.cpu: 0] }, { $0.execution.timeout = .seconds(1) },
            { $0.execution.killTimeout = .seconds(1) }, { $0.execution.outputTail = 1 },
        ]
        var seen: Set<UInt64> = [definition.fingerprint]
        for (index, change) in changes.enumerated() {
            var changed = definition
            change(&changed)
            #expect(seen.insert(changed.fingerprint).inserted, "change \(index)")
        }
        // What a runner does not act on is no change of it.
        definition.execution.log = .none
        definition.execution.successExitCodes = [3]
        #expect(seen.contains(definition.fingerprint))
    }
}

/// What is kept for a scheduler that is away.
@Suite struct BacklogTests {
    private func run(_ number: Int) -> Run.ID {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        return Run.ID(firing: Firing.ID(job: Job.Name("probe")!, scheduled: scheduled))
    }

    private let end = RunEnd(.exited(0), at: WallInstant(microsecondsSinceEpoch: 1))

    private func events(_ backlog: Backlog) -> [(UInt64, RunnerEvent)] {
        var all: [(UInt64, RunnerEvent)] = []
        while case let frames = backlog.nextFrames(), !frames.isEmpty {
            for frame in frames {
                if case .event(let number, let event) = try? WireReply(frame[...]) {
                    all.append((number, event))
                }
            }
        }
        return all
    }

    @Test func whatIsNotSeenIsToldAgain_inItsOrder_andNothingElse() {
        let backlog = Backlog()
        for number in 0..<10 {
            _ = backlog.take(.output(run(1), .stdout, line: [UInt8(number)], isCut: false))
        }
        _ = backlog.take(.ended(run(1), end))
        #expect(events(backlog).map(\.0) == Array(1...11))
        #expect(events(backlog).isEmpty)
        backlog.seen(4)
        #expect(backlog.connect().count == 1)
        #expect(events(backlog).map(\.0) == Array(5...11))
        backlog.seen(11)
        // Seen and not forgotten: its end is told again, as often as somebody comes.
        for number in 12...13 {
            _ = backlog.connect()
            let told = events(backlog)
            #expect(told.count == 1 && told[0].0 == UInt64(number))
            #expect(told[0].1 == .ended(run(1), end))
            backlog.seen(UInt64(number))
        }
        backlog.forget([run(1)])
        #expect(backlog.connect().isEmpty && events(backlog).isEmpty && backlog.isEmpty)
    }

    /// Asked for when the runner begins nothing any more: the next one's to begin, and nothing to wait for.
    @Test func aRunThatIsNotBegunHoldsUpNoFarewell() {
        let backlog = Backlog()
        #expect(backlog.isNew(run(1)) && backlog.isEmpty)
        _ = backlog.take(.ended(run(1), end))
        #expect(!backlog.isEmpty)
        _ = events(backlog)
        backlog.seen(1)
        #expect(!backlog.isEmpty)
        backlog.forget([run(1)])
        #expect(backlog.isEmpty)
    }

    @Test func aRunIsNewOnce() {
        let backlog = Backlog()
        #expect(backlog.isNew(run(1)) && !backlog.isNew(run(1)))
        _ = backlog.take(.began(run(1), pid: 7, at: end.at))
        #expect(backlog.connect() == [.holds(run(1), began: end.at, isOver: false)])
        #expect(!backlog.isNew(run(1)))
    }

    @Test func outputIsBounded_andWhatIsDroppedIsCountedWhereItIsMissing() {
        let backlog = Backlog()
        let line = [UInt8](repeating: 120, count: 8192)
        var kept = 0
        for number in 0..<4000 {
            _ = backlog.take(.output(run(number % 2), .stdout, line: line, isCut: false))
        }
        _ = backlog.take(.ended(run(0), end))
        var dropped = 0
        var ended = false
        while case let frames = backlog.nextFrames(), !frames.isEmpty {
            #expect(frames.reduce(0) { $0 + $1.count } <= Backlog.windowBytes + line.count + 100)
            for frame in frames {
                guard case .event(let number, let event) = try? WireReply(frame[...]) else {
                    continue
                }
                switch event {
                case .output: kept += 1
                case .dropped(let run, let lines):
                    #expect(run == self.run(0) && !ended)
                    dropped += lines
                case .ended: ended = true
                case .began: break
                }
                backlog.seen(number)
            }
        }
        #expect(kept * line.count <= Backlog.outputBytesMax && kept * line.count > 15 << 20)
        #expect(ended && abs(dropped - (4000 - kept) / 2) <= 1)
        // With room again the rest of what is missing is told where output goes on.
        _ = backlog.take(.output(run(1), .stdout, line: line, isCut: false))
        let told = events(backlog).map(\.1)
        #expect(told.count == 2)
        guard case .dropped(run(1), let lines) = told.first else {
            Issue.record("\(told)")
            return
        }
        #expect(dropped + lines == 4000 - kept)
    }
}
