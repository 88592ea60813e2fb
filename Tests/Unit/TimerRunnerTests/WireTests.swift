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
                RunOrder(
                    run: Run.ID(firing: run.firing, attempt: $0), fingerprint: .max - UInt64($0),
                    missed: $0, active: .seconds(90),
                    variables: RunVariables($0 == 2 ? ["A": "1", "B": ""] : [:]),
                    notBefore: AwakeInstant(nanoseconds: $0 == 3 ? .max : Int64($0)))
            }),
        .end(run, grace: .milliseconds(10)), .suspend(run), .resume(run), .signal(run, SIGHUP),
        .barrier(.max), .prepare, .forget([run, run]), .seen(events: 7, output: .max),
        .shutDown(grace: .zero),
        .refresh, .forgetFormer, .discard([Job.Name("restic-1")!, Job.Name("a")!]),
        .send(message(.mail(Array("To: a\n\nb".utf8)))),
        .send(
            message(
                .request(
                    MessageOrder.Request(
                        method: "GET", path: "/start", query: "rid=1",
                        headers: [.init("Title", "x"), .init("Tags", "")], body: [0, 255])))),
    ]

    private static func message(_ content: MessageOrder.Content) -> MessageOrder {
        MessageOrder(
            run: MessageOrder.run(created: run.firing.scheduled, attempt: 3),
            notifier: Notifier.Name("ops")!, content: content)
    }

    @Test func aMessageIsNeverOfAJob_andHasALimit() throws {
        let name = try #require(Job.Name(ofRun: "@message"))
        #expect(Job.Name("@message") == nil && name == .messages)
        let id = MessageOrder.run(created: Self.run.firing.scheduled, attempt: 2)
        #expect(Run.ID(id.description) == id && id.isMessage && !Self.run.isMessage)
        var order = Self.message(.mail([UInt8](repeating: 65, count: MessageOrder.bytesMax)))
        let bytes = WireRequest.send(order).bytes
        #expect(bytes.count < Wire.requestBytesMax)
        #expect(try WireRequest(bytes[...]) == .send(order))
        order.content = .mail([UInt8](repeating: 65, count: MessageOrder.bytesMax + 1))
        #expect(throws: WireReader.Fault.self) {
            _ = try WireRequest(WireRequest.send(order).bytes[...])
        }
        order = Self.message(.mail([]))
        order.run = Self.run
        #expect(throws: WireReader.Fault.self) {
            _ = try WireRequest(WireRequest.send(order).bytes[...])
        }
    }

    private static let replies: [WireReply] = [
        .welcome(version: 1, instance: .max), .memory(.max),
        .holds(run, began: WallInstant(microsecondsSinceEpoch: 1), isOver: false),
        .holds(run, began: nil, isOver: true), .complete,
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
        for (count, variables) in [(1, long), (40, long), (1200, RunVariables()), (0, long)] {
            let orders = (1...(max(1, count))).prefix(count).map { number in
                RunOrder(
                    run: Run.ID(
                        firing: Firing.ID(
                            job: Job.Name(name)!, scheduled: Self.run.firing.scheduled),
                        attempt: number),
                    fingerprint: .max, missed: 0, active: .zero, variables: variables)
            }
            let frames = Wire.frames(of: orders)
            #expect(frames.flatMap { $0 } == orders)
            for frame in frames {
                let bytes = WireRequest.start(Array(frame)).bytes
                #expect(bytes.count <= Wire.requestBytesMax)
                #expect(try WireRequest(bytes[...]) == .start(Array(frame)))
            }
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

    /// A change for each property of a definition and of its execution, by the property's name.
    private static let changes: [(property: String, change: @Sendable (inout Definition) -> Void)] =
        [
            ("command", { $0.command = .arguments(["true"]) }),
            ("command", { $0.command = .arguments(["true", ""]) }),
            ("environment", { $0.environment["A"] = "2" }),
            ("environment", { $0.environment = ["A1": "", "B": "2"] }),
            ("workingDirectory", { $0.workingDirectory = "/" }),
            ("execution.user", { $0.execution.user = "a" }),
            ("execution.group", { $0.execution.group = "a" }),
            ("execution.pamService", { $0.execution.pamService = "a" }),
            ("execution.pamService", { $0.execution.pamService = "" }),
            ("execution.environmentFile", { $0.execution.environmentFile = "a" }),
            ("execution.passEnvironment", { $0.execution.passEnvironment = ["a"] }),
            ("execution.runVariables", { $0.execution.runVariables = ["a"] }),
            ("execution.passEnvironment", { $0.execution.passEnvironment = ["a", "b"] }),
            ("execution.umask", { $0.execution.umask = 0 }),
            ("execution.nice", { $0.execution.nice = 1 }),
            ("execution.stdin", { $0.execution.stdin = "a" }),
            ("execution.stdin", { $0.execution.stdin = "a\n" }),
            ("execution.priorities.io", { $0.execution.priorities.io = .idle }),
            ("execution.priorities.io", { $0.execution.priorities.io = .bestEffort(0) }),
            ("execution.priorities.io", { $0.execution.priorities.io = .bestEffort(7) }),
            ("execution.priorities.io", { $0.execution.priorities.io = .realtime(7) }),
            ("execution.priorities.cpu", { $0.execution.priorities.cpu = .idle }),
            ("execution.priorities.cpu", { $0.execution.priorities.cpu = .batch }),
            ("execution.priorities.cpu", { $0.execution.priorities.cpu = .fifo(1) }),
            ("execution.priorities.cpu", { $0.execution.priorities.cpu = .rr(1) }),
            ("execution.priorities.cpu", { $0.execution.priorities.cpu = .rr(99) }),
            ("execution.priorities.oomScore", { $0.execution.priorities.oomScore = 0 }),
            ("execution.priorities.oomScore", { $0.execution.priorities.oomScore = -1000 }),
            ("execution.limits", { $0.execution.limits = [.core: nil] }),
            ("execution.limits", { $0.execution.limits = [.core: 0] }),
            ("execution.limits", { $0.execution.limits = [.cpu: 0] }),
            ("execution.timeout", { $0.execution.timeout = .seconds(1) }),
            ("execution.killTimeout", { $0.execution.killTimeout = .seconds(1) }),
            ("execution.killsLeftovers", { $0.execution.killsLeftovers = false }),
            ("execution.outputTail", { $0.execution.outputTail = 1 }),
            (
                "execution.logRateLimitInterval",
                { $0.execution.logRateLimitInterval = .seconds(1) }
            ),
            ("execution.logRateLimitInterval", { $0.execution.logRateLimitInterval = nil }),
            ("execution.logRateLimitBurst", { $0.execution.logRateLimitBurst = 1 }),
            ("execution.credentials", { $0.execution.credentials = ["a": "/b"] }),
            ("execution.credentials", { $0.execution.credentials = ["a": "/b", "c": "/d"] }),
            (
                "execution.confinement.noNewPrivileges",
                { $0.execution.confinement.noNewPrivileges = true }
            ),
            (
                "execution.confinement.capabilities",
                { $0.execution.confinement.capabilities = CapabilitySet() }
            ),
            (
                "execution.confinement.capabilities",
                {
                    var set = CapabilitySet()
                    _ = set.insert("CAP_KILL")
                    $0.execution.confinement.capabilities = set
                }
            ),
            (
                "execution.confinement.appArmorProfile",
                { $0.execution.confinement.appArmorProfile = "a" }
            ),
            (
                "execution.confinement.seLinuxContext",
                { $0.execution.confinement.seLinuxContext = "a" }
            ),
        ]

    /// Properties that do not affect a runner: changing them does not change the fingerprint.
    private static let others: [(property: String, change: @Sendable (inout Definition) -> Void)] =
        [
            ("execution.log", { $0.execution.log = .none }),
            ("execution.successExitCodes", { $0.execution.successExitCodes = [3] }),
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
        for (property, change) in Self.others {
            var changed = definition
            change(&changed)
            #expect(changed != definition, "\(property)")
            #expect(changed.fingerprint == definition.fingerprint, "\(property)")
        }
    }

    /// The names of the stored properties of a value, except for those that are examined separately.
    private static func properties(
        of value: Any, as prefix: String = "", but others: Set<String> = []
    ) -> [String] {
        Mirror(reflecting: value).children.compactMap(\.label).filter { !others.contains($0) }
            .map { prefix + $0 }
    }

    /// A new key of a job's execution must be added to the fingerprint or to the properties that do
    /// not affect a runner. If it were forgotten, a changed job would silently continue to run with
    /// its old definition.
    @Test func eachPropertyIsInTheFingerprintOrListedAsIrrelevant() {
        let execution = Definition(.shell("true")).execution
        let properties =
            Self.properties(of: Definition(.shell("true")), but: ["_execution"])
            + Self.properties(of: execution, as: "execution.", but: ["confinement", "priorities"])
            + Self.properties(of: execution.priorities, as: "execution.priorities.")
            + Self.properties(of: execution.confinement, as: "execution.confinement.")
        #expect(properties.count > 20)
        #expect(
            Set(properties) == Set(Self.changes.map(\.property) + Self.others.map(\.property)))
        #expect(Set(Self.changes.map(\.property)).isDisjoint(with: Self.others.map(\.property)))
    }
}
