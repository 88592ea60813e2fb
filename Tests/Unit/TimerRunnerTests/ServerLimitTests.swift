// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// What a scheduler that an attacker controls can request, and what happens then.
@Suite struct ServerLimitTests {
    /// A connection that can send anything.
    final class Intruder {
        let socket: Int32
        private(set) var replies: [WireReply] = []
        private var frames: FrameSocket

        init(_ fixture: ServerFixture) {
            socket = fixture.connect()
            frames = FrameSocket(socket, frameBytesMax: Wire.replyBytesMax)
            frames.send(WireRequest.hello(version: Wire.version).bytes)
        }

        func say(_ request: WireRequest) { frames.send(request.bytes) }

        func say(_ frame: [UInt8]) { frames.send(frame) }

        /// Reads replies until the other end closes the connection, or until they are enough.
        /// - Returns: whether it was closed.
        func isClosed(unless isEnough: ([WireReply]) -> Bool = { _ in false }) -> Bool {
            let deadline = RunnerClock.awake() + 30_000_000_000
            while RunnerClock.awake() < deadline {
                guard frames.flush(), frames.isOpen else { return true }
                if isEnough(replies) { return false }
                var wanted = pollfd(
                    fd: socket, events: Int16(frames.backlog > 0 ? POLLIN | POLLOUT : POLLIN),
                    revents: 0)
                _ = poll(&wanted, 1, 1000)
                frames.fill()
                while let frame = frames.next() {
                    if let reply = try? WireReply(frame) { replies.append(reply) }
                }
            }
            Issue.record("neither closed nor answered")
            return false
        }
    }

    static let job = Job(
        name: Job.Name("probe")!, command: .shell("printf 0123456789; exit 0"),
        schedule: .every(.seconds(1)))

    static func request(_ number: Int) -> StartRequest {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        let firing = Firing(
            id: Firing.ID(job: job.name, scheduled: scheduled), missed: 0, active: .zero)
        return StartRequest(Run(firing: firing, job: job))
    }

    private static func requests(_ numbers: Range<Int>) -> WireRequest {
        .start(numbers.map { request($0) })
    }

    static func ends(_ replies: [WireReply]) -> Int {
        replies.count { if case .event(_, .ended) = $0 { true } else { false } }
    }

    /// Expects that the runner closes the connection, logs why, and serves the next one.
    private func expectClosed(
        _ why: String, limits: RunnerLimits = RunnerLimits(), by body: (Intruder) -> Void
    ) throws {
        let fixture = try ServerFixture { $0.limits = limits }
        fixture.configuration.jobs.withLock { $0 = [Self.job.name: Definition(Self.job)] }
        let intruder = Intruder(fixture)
        body(intruder)
        #expect(intruder.isClosed())
        let said = fixture.configuration.said.withLock { $0 }
        #expect(said.count == 1 && said[0].hasPrefix("closed a connection that \(why)"), "\(said)")
        let client = try fixture.client { _, _ in }
        client.close()
        fixture.stop()
    }

    @Test func aFrameThatIsTooLongIsNotRead() throws {
        let fixture = try ServerFixture()
        let intruder = Intruder(fixture)
        intruder.say([UInt8](repeating: 2, count: Wire.requestBytesMax + 1))
        #expect(intruder.isClosed())
        fixture.stop()
    }

    @Test func tooManyRunsInAFrameAreAnInvalidRequest() throws {
        try expectClosed("sent an invalid request") {
            $0.say(.forget((0...Wire.runsPerFrame).map { Self.request($0).run }))
        }
    }

    @Test func tooManyRunsThatWaitCloseTheConnection() throws {
        var limits = RunnerLimits()
        limits.starts = 30
        try expectClosed(
            "exceeded a limit: 31 runs that wait to start, at most 30", limits: limits
        ) { $0.say(Self.requests(0..<31)) }
    }

    @Test func tooManyBytesForThemCloseTheConnection_andEarlierOnesRun() throws {
        var limits = RunnerLimits()
        limits.startBytes = -1
        try expectClosed("exceeded a limit: 0 bytes for runs that wait", limits: limits) {
            $0.say(Self.requests(0..<1))
        }
    }

    @Test func tooManyRunsThatAreNotForgottenCloseTheConnection() throws {
        var limits = RunnerLimits()
        limits.runs = 100
        let why = "exceeded a limit: 110 runs that are not forgotten"
        try expectClosed(why, limits: limits) { intruder in
            intruder.say(Self.requests(0..<50))
            // A run that has not ended yet could not be forgotten at once.
            #expect(!intruder.isClosed { Self.ends($0) == 50 })
            intruder.say(.forget((0..<20).map { Self.request($0).run }))
            intruder.say(Self.requests(50..<100))
            intruder.say(Self.requests(100..<130))
        }
    }

    @Test func aSchedulerThatMayNotEndEveryRunIsDisconnected() throws {
        let fixture = try ServerFixture { $0.allowsShutDown = false }
        let intruder = Intruder(fixture)
        intruder.say(.shutDown(grace: .zero))
        #expect(intruder.isClosed())
        #expect(!fixture.endsByItself(within: 0.2))
        fixture.stop()
    }

    /// If it were forgotten while it runs, it would start again when it is requested again.
    @Test func anActiveRunIsNotForgotten_andNotStartedTwice() throws {
        let fixture = try ServerFixture()
        let job = Job(
            name: Self.job.name, command: .shell("echo x >>\(fixture.folder)/runs; sleep 0.5"),
            schedule: .every(.seconds(1)))
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let intruder = Intruder(fixture)
        let firing = Firing(
            id: Firing.ID(
                job: job.name, scheduled: WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000)
            ),
            missed: 0, active: .zero)
        let request = StartRequest(Run(firing: firing, job: job))
        intruder.say(.start([request]))
        intruder.say(.forget([request.run]))
        intruder.say(.start([request]))
        #expect(!intruder.isClosed { Self.ends($0) == 1 })
        fixture.stop(keepsFolder: true)
        let runs = try String(contentsOfFile: "\(fixture.folder)/runs", encoding: .utf8)
        #expect(runs == "x\n")
        try FileManager.default.removeItem(atPath: fixture.folder)
    }

    @Test func tooMuchOutputThatIsNotForgottenClosesTheConnection() throws {
        var limits = RunnerLimits()
        limits.tailBytes = 99
        try expectClosed("exceeded a limit: 100 bytes of output", limits: limits) { intruder in
            intruder.say(Self.requests(0..<10))
            #expect(!intruder.isClosed { Self.ends($0) == 10 })
            intruder.say(Self.requests(10..<11))
        }
    }

    @Test func tooManyCommandsCloseTheConnection() throws {
        var limits = RunnerLimits()
        limits.commands = 0
        try expectClosed("exceeded a limit: ", limits: limits) { intruder in
            for _ in 0..<10_000 { intruder.say(.signal(Self.request(1).run, SIGWINCH)) }
        }
    }

    /// However many barriers are requested, only one is passed to the runner at a time.
    @Test func manyBarriersAreAnsweredTogether() throws {
        let fixture = try ServerFixture()
        do {
            let intruder = Intruder(fixture)
            let count: UInt64 = 100_000
            for token in 1...count { intruder.say(.barrier(token)) }
            #expect(
                !intruder.isClosed {
                    if case .barrierReached(_, token: count) = $0.last { true } else { false }
                })
            let tokens = intruder.replies.compactMap { reply -> UInt64? in
                if case .barrierReached(_, let token) = reply { token } else { nil }
            }
            #expect(tokens == tokens.sorted() && tokens.count < Int(count) / 4)
        }
        fixture.stop()
    }

    @Test func aClientRefusesMoreRunsThanMayWaitForARunner() throws {
        let fixture = try ServerFixture()
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        fixture.stop()
        let firing = Self.request(0).run.firing
        let runs = (1...RunnerClient.waitingMax + 2).map { attempt in
            Run(
                firing: Firing(id: firing, missed: 0, active: .zero), attempt: attempt,
                job: Self.job)
        }
        client.start(runs)
        events.wait { $0.count == 2 }
        for case .ended(let run, let end) in events.events {
            #expect(run.attempt > RunnerClient.waitingMax)
            #expect(end.outcome.description.hasPrefix("spawn-failed(EAGAIN, wait for the runner"))
        }
        client.close()
    }

    // MARK: - A runner that is not needed

    // MARK: - A runner that is restarted
}
