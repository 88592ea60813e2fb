// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import Testing
import TimerCore

@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// While many runs end, the client reports their ends together, which here takes an hour unless
/// something makes it report them before.
@Suite struct GatheredEndsTests {
    /// A client, and the runner that the test plays.
    private final class Scene: Sendable {
        private struct Peer: ~Copyable {
            var socket: FrameSocket
            var sent: UInt64 = 0
            var lines: UInt64 = 0
            var ended = 0
        }

        let client: RunnerClient
        private let peer: Mutex<Peer>
        private let reported: Counter
        let isAway = DispatchSemaphore(value: 0)

        private final class Counter: Sendable {
            let ends = Mutex(0)
            let waiting = Mutex(Waiting())
        }

        /// In a structure: see `MutexTests` for the reason.
        private struct Waiting {
            var handled: (@Sendable () -> Void)?
        }

        /// The scheduler has handled what was reported.
        func handle() { reported.waiting.withLock { $0.handled.take() }?() }

        static func run(_ number: Int) -> Run.ID {
            let scheduled = WallInstant(microsecondsSinceEpoch: Int64(number))
            return Run.ID(
                firing: Firing.ID(job: Job.Name("probe")!, scheduled: scheduled), attempt: 1)
        }

        init() throws {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
            var socket = FrameSocket(ends[1], frameBytesMax: Wire.requestBytesMax)
            let greeting = [WireReply.welcome(version: Wire.version, instance: 7), .complete]
            for reply in greeting { socket.send(reply.bytes) }
            let isGreeted = socket.flush()
            try #require(isGreeted)
            peer = Mutex(Peer(socket: socket))
            let ours = Mutex<Int32?>(ends[0])
            client = try RunnerClient(timeout: .seconds(5), gathering: .seconds(3600)) {
                ours.withLock { $0.take() }.map { .success($0) } ?? .failure(.init("no other"))
            }
            let counter = Counter()
            reported = counter
            client.begin(adopting: []) { [isAway] news, seen in
                switch news {
                case .gathered: return counter.waiting.withLock { $0.handled = seen }
                case .event(.ended): counter.ends.withLock { $0 += 1 }
                case .away: isAway.signal()
                default: break
                }
                seen()
            }
        }

        /// Starts runs, which end in one message, after lines of output.
        func end(_ count: Int, lines: Int = 0) {
            peer.withLock { peer in
                let runs = (peer.ended..<peer.ended + count).map { Self.run($0) }
                peer.ended += count
                client.start(
                    runs.map {
                        Run(firing: Firing(id: $0.firing, missed: 0, active: .zero), job: job)
                    }
                )
                // The client must know them before they end.
                receive(&peer) { if case .start = $0 { true } else { false } }
                for _ in 0..<lines {
                    peer.lines += 1
                    let line = RunnerEvent.output(
                        runs[0], .stdout, line: Array("a line".utf8), isCut: false)
                    peer.socket.send(WireReply.event(peer.lines, line).bytes)
                }
                for run in runs {
                    peer.sent += 1
                    let end = RunEnd(.exited(0), at: WallInstant(microsecondsSinceEpoch: 0))
                    peer.socket.send(WireReply.event(peer.sent, .ended(run, end)).bytes)
                }
                _ = peer.socket.flush()
            }
        }

        private var job: Job {
            Job(name: Job.Name("probe")!, command: .shell("true"), schedule: .every(.seconds(1)))
        }

        /// Reads requests up to this one.
        private func receive(_ peer: inout Peer, until isIt: (WireRequest) -> Bool) {
            let end = RunnerClock.awake() + 60_000_000_000
            while RunnerClock.awake() < end {
                while let frame = peer.socket.next() {
                    if let request = try? WireRequest(frame), isIt(request) { return }
                }
                peer.socket.fill()
            }
            Issue.record("the request did not arrive")
        }

        /// Answers the barrier that the client asks for.
        func answerBarrier() {
            peer.withLock { peer in
                var token: UInt64 = 0
                receive(&peer) { request in
                    guard case .barrier(let number) = request else { return false }
                    token = number
                    return true
                }
                peer.sent += 1
                peer.socket.send(WireReply.barrierReached(peer.sent, token: token).bytes)
                _ = peer.socket.flush()
            }
        }

        func leave() { peer.withLock { _ = shutdown($0.socket.descriptor, Int32(SHUT_RDWR)) } }

        var ends: Int { reported.ends.withLock { $0 } }
        var sent: Int { peer.withLock { $0.ended } }

        /// A scene in which so many runs ended that the client keeps further ends.
        static func gathering() throws -> Scene {
            let scene = try Scene()
            scene.client.gatherEnds(true)
            wait {
                if !scene.client.gathersEnds { scene.end(20) }
                wait { scene.client.gathersEnds || scene.ends == scene.sent }
                return scene.client.gathersEnds
            }
            return scene
        }

        /// How many ends were reported when the client calls what `ask` passes to it.
        func ends(when ask: (@escaping @Sendable () -> Void) -> Void) -> Int? {
            let found = Mutex<Int?>(nil)
            ask { [reported] in found.withLock { $0 = reported.ends.withLock { $0 } } }
            wait { found.withLock { $0 != nil } }
            return found.withLock { $0 }
        }
    }

    @Test func aBarrierReportsThemBeforeItsAnswer() throws {
        let scene = try Scene.gathering()
        let known = scene.ends
        scene.end(1)
        #expect(scene.client.gathersEnds && scene.ends == known)
        let reported = scene.ends { done in
            scene.client.barrier(done)
            scene.answerBarrier()
        }
        #expect(reported == scene.sent)
        // They are reported, but until they are handled, a decision must not rely on that.
        #expect(scene.client.gathersEnds)
        scene.client.gatherEnds(false)
        wait {
            scene.handle()
            return !scene.client.gathersEnds
        }
        scene.client.close()
    }

    /// For that, the runner need not answer: it may hang.
    @Test func theyAreReportedWhenTheSchedulerAsks() throws {
        let scene = try Scene.gathering()
        scene.end(1)
        let reported = scene.ends { scene.client.reportEnds($0) }
        #expect(reported == scene.sent && scene.client.gathersEnds)
        scene.client.close()
    }

    @Test func theyAreReportedAtOnceWhenTheyMayNotWaitAnyMore() throws {
        let scene = try Scene.gathering()
        scene.end(1)
        scene.client.gatherEnds(false)
        wait {
            scene.handle()
            return scene.ends == scene.sent && !scene.client.gathersEnds
        }
        // It does not begin again by itself.
        scene.end(40)
        wait { scene.ends == scene.sent }
        #expect(!scene.client.gathersEnds)
        scene.client.close()
    }

    @Test func aRunnerThatIsGoneIsNoticed() throws {
        let scene = try Scene.gathering()
        scene.end(1)
        scene.leave()
        #expect(scene.isAway.wait(timeout: .now() + 60) == .success)
        #expect(scene.ends == scene.sent)
        scene.client.close()
    }

    /// If few runs end, or there is much output, nothing waits.
    @Test func aSingleEndAndOutputDoNotWait() throws {
        let scene = try Scene()
        scene.client.gatherEnds(true)
        for _ in 0..<3 {
            scene.end(1)
            wait { scene.ends == scene.sent }
        }
        scene.end(30, lines: 100)
        wait { scene.ends == scene.sent }
        scene.end(1)
        wait { scene.ends == scene.sent }
        scene.client.close()
    }
}
