// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Dispatch
import Foundation
import Glibc
import SeededRandom
import Synchronization
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// Arbitrary messages in both directions must not crash either side or make its memory grow without
/// limit. Each test runs for a few seconds by default; TIMERD_FUZZ_SECONDS sets the time, and
/// TIMERD_TEST_SEED the seed.
@Suite struct WireFuzzTests {
    /// This process's memory in KiB.
    private func memory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return try #require(line?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }

    /// A message that can be decoded is encoded to the same bytes.
    @Test func aDecodedMessageIsEncodedToTheSameBytes() throws {
        var fuzzing = try Fuzzing("wire")
        var read = 0
        let count = fuzzing.run { bytes, _ in
            if let request = try? WireRequest(bytes[...]) {
                read += 1
                #expect((try? WireRequest(request.bytes[...])) == request)
            }
            if let reply = try? WireReply(bytes[...]) {
                read += 1
                #expect((try? WireReply(reply.bytes[...])) == reply)
            }
            return true
        }
        print("fuzzed the wire: \(count) frames, \(read) could be read")
        #expect(read > 0)
    }

    /// A stream of frames, some of them complete, cut into pieces at random positions.
    private func stream(_ frames: [[UInt8]], _ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        for frame in frames {
            let isWrong = random.int(below: 200) == 0
            let length = UInt32(isWrong ? Int(random.next() >> 40) : frame.count)
            bytes += withUnsafeBytes(of: length.littleEndian, Array.init) + frame
        }
        return bytes
    }

    /// Sends everything, and reads all replies, until the other end closes the connection or
    /// everything is sent.
    private func send(_ bytes: [UInt8], on socket: Int32, _ random: inout SeededRandom) {
        var rest = bytes[...]
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let end = RunnerClock.awake() + 20_000_000_000
        while !rest.isEmpty, RunnerClock.awake() < end {
            let piece = Array(rest.prefix(1 + random.int(below: 20_000)))
            let count = Glibc.send(socket, piece, piece.count, Int32(MSG_NOSIGNAL))
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var wanted = pollfd(fd: socket, events: Int16(POLLIN | POLLOUT), revents: 0)
                _ = poll(&wanted, 1, 1000)
            } else {
                return
            }
            while recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
    }

    @Test func aRunnerSurvivesAnyScheduler() throws {
        let fixture = try ServerFixture()
        let job = Job(
            name: Job.Name("probe")!, command: .shell("exit 0"), schedule: .every(.seconds(1)))
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        var fuzzing = try Fuzzing("wire")
        let before = try memory()
        var frames: [[UInt8]] = []
        var connections = 0
        let count = fuzzing.run { bytes, random in
            // A request that ends the runner is not a failure.
            if case .shutDown = try? WireRequest(bytes[...]) { return true }
            frames.append(bytes)
            guard frames.count >= 1 + random.int(below: 400) else { return true }
            let socket = fixture.connect()
            defer { close(socket) }
            guard socket >= 0 else {
                Issue.record("no process listens")
                return false
            }
            connections += 1
            let hello = WireRequest.hello(version: Wire.version).bytes
            let isPolite = random.int(below: 10) > 0
            send(stream((isPolite ? [hello] : []) + frames, &random), on: socket, &random)
            frames = []
            return true
        }
        print("fuzzed a runner: \(count) frames on \(connections) connections")
        let client = try fixture.client { _, _ in }
        client.close()
        #expect(try memory() - before < 400_000)
        fixture.stop()
    }

    /// Two nonblocking ends of a connection.
    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// The scheduler does not trust the messages of a runner either: they may be wrong in any way.
    @Test func aSchedulerSurvivesAnyRunner() throws {
        var fuzzing = try Fuzzing("wire")
        let before = try memory()
        let told = Mutex(0)
        let run = try #require(Run.ID("backup:20261121T043852.000000Z:1"))
        let job = Job(
            name: run.firing.job, command: .shell("exit 0"), schedule: .every(.seconds(1)))
        var frames: [[UInt8]] = []
        let count = try fuzzing.run { bytes, random in
            // Messages that end a connection are rare, so that others are received before.
            switch try? WireReply(bytes[...]) {
            case .welcome, .memory, .holds, .complete, nil:
                guard random.int(below: 40) == 0 else { return true }
            case .event, .barrierReached, .down, .checked, .machineChanged: break
            }
            frames.append(bytes)
            guard frames.count >= 1 + random.int(below: 100) else { return true }
            defer { frames = [] }
            let (ours, theirs) = try pair()
            let greeting = [WireReply.welcome(version: Wire.version, instance: 7), .complete]
            for reply in greeting {
                let frame = [UInt8(reply.bytes.count), 0, 0, 0] + reply.bytes
                _ = Glibc.send(theirs, frame, frame.count, Int32(MSG_NOSIGNAL))
            }
            let first = Mutex<Int32?>(ours)
            let client = try RunnerClient(timeout: .seconds(5)) {
                first.withLock { $0.take() }.map { .success($0) } ?? .failure(.init("no other"))
            }
            let gone = DispatchSemaphore(value: 0)
            client.begin(adopting: []) { news, seen in
                switch news {
                case .event: told.withLock { $0 += 1 }
                case .away: gone.signal()
                case .back, .checked, .machineChanged: break
                }
                seen()
            }
            client.start([Run(firing: Firing(id: run.firing, missed: 0, active: .zero), job: job)])
            send(stream(frames, &random), on: theirs, &random)
            close(theirs)
            #expect(gone.wait(timeout: .now() + 20) == .success, "it did not notice the end")
            client.close()
            return true
        }
        print("fuzzed a scheduler: \(count) frames, \(told.withLock { $0 }) events told")
        #expect(told.withLock { $0 } > 0)
        #expect(try memory() - before < 400_000)
    }
}
