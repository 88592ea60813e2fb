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

/// A start is sent again only to a runner that would know whether it was received before.
@Suite struct RunnerMemoryTests {
    /// The end of a connection that the test plays.
    private final class Peer {
        var socket: FrameSocket
        /// The end of the client.
        let ours: Int32

        /// A runner with this memory that has no run.
        init(instance: UInt64, memory: UInt64) throws {
            var ends: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
            ours = ends[0]
            socket = FrameSocket(ends[1], frameBytesMax: Wire.requestBytesMax)
            let greeting: [WireReply] = [
                .welcome(version: Wire.version, instance: instance), .memory(memory), .complete,
            ]
            for reply in greeting { socket.send(reply.bytes) }
            let isGreeted = socket.flush()
            try #require(isGreeted)
        }

        func leave() { _ = shutdown(socket.descriptor, Int32(SHUT_RDWR)) }

        /// The requests until one of this kind; the test fails if it does not come.
        func requests(until isLast: (WireRequest) -> Bool) throws -> [WireRequest] {
            var received: [WireRequest] = []
            let end = RunnerClock.awake() + 60_000_000_000
            while RunnerClock.awake() < end {
                while let frame = socket.next() {
                    let request = try WireRequest(frame)
                    received.append(request)
                    if isLast(request) { return received }
                }
                var wanted = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&wanted, 1, 1000)
                socket.fill()
            }
            throw Missing()
        }

        struct Missing: Error {}
    }

    /// A client, the runners that it finds one after the other, and what it reports.
    private final class Scene: Sendable {
        let client: RunnerClient
        private let outcomes = Mutex<[RunOutcome]>([])
        let ended = DispatchSemaphore(value: 0)
        let isAway = DispatchSemaphore(value: 0)

        init(_ first: Int32) throws {
            let offers = Offers(first)
            self.offers = offers
            client = try RunnerClient(timeout: .seconds(5)) {
                offers.next().map { .success($0) } ?? .failure(.init("no runner"))
            }
            client.begin(adopting: []) { [self] news, seen in
                switch news {
                case .event(.ended(_, let end)):
                    outcomes.withLock { $0.append(end.outcome) }
                    ended.signal()
                case .away: isAway.signal()
                case .event, .back, .checked, .machineChanged: break
                }
                seen()
            }
        }

        private let offers: Offers
        func offer(_ descriptor: Int32) { offers.add(descriptor) }
        var reported: [RunOutcome] { outcomes.withLock { $0 } }
        func start() { client.start([RunnerMemoryTests.run]) }
    }

    private final class Offers: Sendable {
        private let descriptors: Mutex<[Int32]>
        init(_ first: Int32) { descriptors = Mutex([first]) }
        func add(_ descriptor: Int32) { descriptors.withLock { $0.append(descriptor) } }
        func next() -> Int32? {
            descriptors.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    private static let job = Job(
        name: Job.Name("probe")!, command: .shell("true"), schedule: .every(.seconds(1)))
    private static let run = Run(
        firing: Firing(
            id: Firing.ID(job: job.name, scheduled: WallInstant(microsecondsSinceEpoch: 7)),
            missed: 0, active: .zero),
        job: job)

    private func isStart(_ request: WireRequest) -> Bool {
        if case .start = request { true } else { false }
    }

    private func isBarrier(_ request: WireRequest) -> Bool {
        if case .barrier = request { true } else { false }
    }

    /// The runner died after it was asked to start a run. If its registry is gone as well, the next
    /// one cannot tell whether the run started.
    @Test(arguments: [true, false]) func aStartIsRepeatedOnlyIfItsReceiptIsKnown(isKnown: Bool)
        throws
    {
        let first = try Peer(instance: 7, memory: 1)
        let scene = try Scene(first.ours)
        scene.start()
        _ = try first.requests(until: isStart)
        let second = try Peer(instance: 8, memory: isKnown ? 1 : 2)
        scene.offer(second.ours)
        first.leave()
        scene.isAway.wait()
        if isKnown {
            _ = try second.requests(until: isStart)
            #expect(scene.reported.isEmpty)
        } else {
            scene.ended.wait()
            #expect(scene.reported == [.lost(.runner)])
            scene.client.barrier {}
            let requests = try second.requests(until: isBarrier)
            #expect(!requests.contains(where: isStart))
        }
        #expect(scene.client.close() == [])
    }

    /// There was no runner to send it to: the first one that comes gets it.
    @Test func aStartThatWasNeverSentIsSentToAnyRunner() throws {
        let first = try Peer(instance: 7, memory: 1)
        let scene = try Scene(first.ours)
        first.leave()
        scene.isAway.wait()
        scene.start()
        let second = try Peer(instance: 8, memory: 2)
        scene.offer(second.ours)
        _ = try second.requests(until: isStart)
        #expect(scene.reported.isEmpty && scene.client.close() == [])
    }

    @Test func aClientThatClosesReturnsWhatItNeverSent() throws {
        let first = try Peer(instance: 7, memory: 1)
        let scene = try Scene(first.ours)
        first.leave()
        scene.isAway.wait()
        scene.start()
        #expect(scene.client.close() == [Self.run.id])
    }

    @Test func aRegistryKeepsItsIdentity_andANewOneHasAnother() throws {
        let folder = "/tmp/timerd-memory-\(UUID().uuidString)"
        mkdir(folder, 0o700)
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer {
            close(directory)
            _ = try? FileManager.default.removeItem(atPath: folder)
        }
        let made = try RunRegistry(in: directory).memory
        #expect(try RunRegistry(in: directory).memory == made)
        unlink("\(folder)/\(RunRegistry.fileName)")
        let other = try RunRegistry(in: directory)
        #expect(other.memory != made && other.recover().isEmpty)
    }
}
