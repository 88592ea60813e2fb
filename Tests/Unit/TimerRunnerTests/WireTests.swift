// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

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
                StartRequest(
                    run: Run.ID(firing: run.firing, attempt: $0), fingerprint: .max - UInt64($0),
                    missed: $0, active: .seconds(90),
                    variables: RunVariables($0 == 2 ? ["A": "1", "B": ""] : [:]),
                    arguments: RunArguments($0 == 1 ? ["full", "a b"] : []),
                    notBefore: AwakeInstant(nanoseconds: $0 == 3 ? .max : Int64($0)))
            }),
        .end(run, grace: .milliseconds(10)), .suspend(run), .resume(run), .signal(run, SIGHUP),
        .barrier(.max), .prepare, .forget([run, run]), .seen(events: 7, output: .max),
        .shutDown(grace: .zero),
        .check(CheckRequest(run: run, number: .max, fingerprint: 7)),
        .refresh, .forgetFormer, .discard([Job.Name("restic-1")!, Job.Name("a")!]),
        .send(message(.mail(Array("To: a\n\nb".utf8)))),
        .send(
            message(
                .request(
                    MessageRequest.Request(
                        method: "GET", path: "/start", query: "rid=1",
                        headers: [.init("Title", "x"), .init("Tags", "")], body: [0, 255])))),
    ]

    private static func message(_ content: MessageRequest.Content) -> MessageRequest {
        MessageRequest(
            run: MessageRequest.run(created: run.firing.scheduled, attempt: 3),
            notifier: Notifier.Name("ops")!, content: content)
    }

    @Test func aMessageIsNeverOfAJob_andHasALimit() throws {
        let name = try #require(Job.Name(ofRun: "@message"))
        #expect(Job.Name("@message") == nil && name == .messages)
        let id = MessageRequest.run(created: Self.run.firing.scheduled, attempt: 2)
        #expect(Run.ID(id.description) == id && id.isMessage && !Self.run.isMessage)
        var request = Self.message(.mail([UInt8](repeating: 65, count: MessageRequest.bytesMax)))
        let bytes = WireRequest.send(request).bytes
        #expect(bytes.count < Wire.requestBytesMax)
        #expect(try WireRequest(bytes[...]) == .send(request))
        request.content = .mail([UInt8](repeating: 65, count: MessageRequest.bytesMax + 1))
        #expect(throws: WireReader.Fault.self) {
            _ = try WireRequest(WireRequest.send(request).bytes[...])
        }
        request = Self.message(.mail([]))
        request.run = Self.run
        #expect(throws: WireReader.Fault.self) {
            _ = try WireRequest(WireRequest.send(request).bytes[...])
        }
    }

    private static let replies: [WireReply] = [
        .welcome(version: 1, instance: .max), .memory(.max),
        .holds(run, began: WallInstant(microsecondsSinceEpoch: 1), isOver: false),
        .holds(run, began: nil, isOver: true), .complete,
        .checked(run, number: 3, .yes), .checked(run, number: .max, .no("mounted /mnt")),
        .checked(run, number: 0, .failed(errno: "EIO", why: "path-exists /x")),
        .machineChanged(.network), .machineChanged(.all), .machineChanged([]),
        .event(1, .began(run, pid: 4_194_304, at: WallInstant(microsecondsSinceEpoch: 2))),
        .event(2, .output(run, .stderr, line: Array("line".utf8), isCut: true)),
        .event(3, .output(run, .stdout, line: [], isCut: false)),
        .event(4, .unfinished(run, .stderr, line: Array("Password: ".utf8))),
        .event(4, .dropped(run, lines: 10)), .event(7, .slowed(run)),
        .event(6, .limited(run, lines: 7)), .event(5, .ended(run, end)),
        .event(8, .leftBehind(run, count: 9, named: Array("sleep (1), …".utf8))),
        .barrierReached(6, token: 7),
        .down,
    ]

    /// However many runs have however many variables, each frame is as short as it must be.
    @Test func ordersAreSplitSoThatEachPartFitsAFrame() throws {
        let name = String(repeating: "j", count: Job.Name.lengthMax)
        let long = RunVariables(["A": String(repeating: "x", count: RunVariables.bytesMax - 1)])
        let words = RunArguments(
            Array(
                repeating: String(repeating: "w", count: RunArguments.wordBytesMax),
                count: RunArguments.countMax))
        for (count, variables) in [(1, long), (40, long), (1200, RunVariables()), (0, long)] {
            let requests = (1...(max(1, count))).prefix(count).map { number in
                StartRequest(
                    run: Run.ID(
                        firing: Firing.ID(
                            job: Job.Name(name)!, scheduled: Self.run.firing.scheduled),
                        attempt: number),
                    fingerprint: .max, missed: 0, active: .zero, variables: variables,
                    arguments: variables.isEmpty && number.isMultiple(of: 2)
                        ? RunArguments() : words)
            }
            let frames = Wire.frames(of: requests)
            #expect(frames.flatMap { $0 } == requests)
            for frame in frames {
                let bytes = WireRequest.start(Array(frame)).bytes
                #expect(bytes.count <= Wire.requestBytesMax)
                #expect(try WireRequest(bytes[...]) == .start(Array(frame)))
            }
        }
    }

    /// What no job can allow does not even arrive.
    @Test(arguments: [["a\n"], [""], [String](repeating: "a", count: RunArguments.countMax + 1)])
    func wordsThatNoJobAllowsAreAFault(words: [String]) {
        let request = StartRequest(
            run: Self.run, fingerprint: 1, missed: 0, active: .zero,
            arguments: RunArguments(words))
        #expect(throws: WireReader.Fault.self) {
            try WireRequest(WireRequest.start([request]).bytes[...])
        }
    }

    @Test(arguments: requests)
    func aRequestIsReadAsItWasWritten(request: WireRequest) throws {
        #expect(try WireRequest(request.bytes[...]) == request)
    }

    @Test(arguments: replies)
    func aReplyIsReadAsItWasWritten(reply: WireReply) throws {
        #expect(try WireReply(reply.bytes[...]) == reply)
    }

    /// Truncated, changed or random bytes cause at most an error and never a trap, and the decoded
    /// value is not larger than the input.
    @Test func noMessageTraps() {
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

    /// A change for each property of a definition, by the property's name. What changes an execution
    /// is tried with the keys of a configuration.
    private static let changes: [(property: String, change: @Sendable (inout Definition) -> Void)] =
        [
            ("command", { $0.command = .arguments(["true"]) }),
            ("command", { $0.command = .arguments(["true", ""]) }),
            ("environment", { $0.environment["A"] = "2" }),
            ("environment", { $0.environment = ["A1": "", "B": "2"] }),
            ("workingDirectory", { $0.workingDirectory = "/" }),
            ("_execution", { $0.execution.nice = 1 }),
        ]

    @Test func aFingerprintIsTheSameInEveryProcess_andDiffersForEveryChange() {
        var definition = Definition(.shell("true"))
        definition.environment = ["B": "2", "A": "1"]
        // This value must not change: otherwise a scheduler could not start a run with an older
        // runner.
        #expect(String(definition.fingerprint, radix: 16) == "d2a7879fbd7cbbd3")
        var seen: Set<UInt64> = [definition.fingerprint]
        for (property, change) in Self.changes {
            var changed = definition
            change(&changed)
            #expect(seen.insert(changed.fingerprint).inserted, "\(property)")
        }
    }

    /// A definition of which a part were forgotten would silently continue to run when that changes.
    @Test func eachPropertyOfADefinitionIsInTheFingerprint() {
        let properties = Mirror(reflecting: Definition(.shell("true"))).children.compactMap(\.label)
        #expect(Set(properties) == Set(Self.changes.map(\.property)))
    }
}
