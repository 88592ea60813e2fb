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

@Suite struct ServerTests {
    func job(_ line: String, _ name: String = "probe") -> Job {
        Job(name: Job.Name(name)!, command: .shell(line), schedule: .every(.seconds(1)))
    }

    func run(_ job: Job, _ number: Int = 0) -> Run {
        let scheduled = WallInstant(microsecondsSinceEpoch: 1_795_000_000_000_000 + Int64(number))
        let firing = Firing.ID(job: job.name, scheduled: scheduled)
        return Run(firing: Firing(id: firing, missed: 0, active: .zero), job: job)
    }

    func outcome(_ event: RunnerEvent?) -> String {
        if case .ended(_, let end) = event { end.outcome.description } else { "\(event as Any)" }
    }

    /// Another client replaces one that has ended, and gets all events that that one had not
    /// acknowledged.
    @Test func theNextSchedulerGetsTheUnacknowledgedEvents_andStartsNothingTwice() throws {
        let fixture = try ServerFixture()
        let job = job("echo $$; exit 3")
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let deaf = ReceivedEvents(seesAll: false)
        let first = try fixture.client { deaf.take($0, $1) }
        first.start([run(job)])
        let told = deaf.end(of: run(job))
        first.close()

        let events = ReceivedEvents()
        let second = try fixture.client { events.take($0, $1) }
        #expect(second.holdings.map(\.run) == [run(job).id] && second.holdings[0].isOver)
        #expect(events.end(of: run(job)) == told)
        #expect(events.events == deaf.events)
        second.start([run(job)])
        second.forget(run(job).id)
        second.close()
        try expectNothingHeld(at: fixture)
        fixture.stop()
    }

    /// Expects that the next client gets no run.
    private func expectNothingHeld(at fixture: ServerFixture) throws {
        let next = try fixture.client { _, _ in }
        #expect(next.holdings.isEmpty)
        next.close()
    }

    /// The server notices the lost connection by sending to it, while the last request is still to
    /// be read.
    @Test func theLastRequestOfALostConnectionIsExecuted() throws {
        let fixture = try ServerFixture()
        let client = try fixture.client { _, _ in }
        // The first reading must have ended: it needs the lock that the test takes.
        let isPrepared = DispatchSemaphore(value: 0)
        client.prepare { isPrepared.signal() }
        #expect(isPrepared.wait(timeout: .now() + 60) == .success)
        let job = job("true")
        fixture.configuration.jobs.withLock { _ in
            client.start([run(job)])
            // It is reading the configuration now, and waits for the lock that the test holds.
            fixture.waitForReadings(2)
            client.forget(run(job).id)
            client.close()
        }
        try expectNothingHeld(at: fixture)
        fixture.stop()
    }

    /// The existing connection is closed when another is opened, repeatedly: each of the clients
    /// reconnects.
    @Test func aBrokenConnectionIsRestored_andNothingIsLostOrReportedTwice() throws {
        let fixture = try ServerFixture()
        let job = job("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; done")
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        client.start([run(job)])
        for _ in 0..<5 {
            usleep(150_000)
            // The latest connection replaces the previous one.
            let other = fixture.connect()
            close(other)
        }
        #expect(outcome(events.end(of: run(job))) == "exited(0)")
        let lines = events.events.compactMap { event -> String? in
            guard case .output(_, _, let line, _) = event else { return nil }
            return String(decoding: line, as: UTF8.self)
        }
        #expect(lines == ["1", "2", "3", "4", "5", "6", "7", "8", "9"])
        #expect(events.events.count { if case .ended = $0 { true } else { false } } == 1)
        client.close()
        fixture.stop()
    }

    @Test func aShutdownEndsActiveRuns_andReportsIt() throws {
        let fixture = try ServerFixture()
        let job = job("echo up; exec sleep 300")
        fixture.configuration.jobs.withLock { $0 = [job.name: Definition(job)] }
        let events = ReceivedEvents()
        let client = try fixture.client { events.take($0, $1) }
        client.start([run(job)])
        events.wait { $0.contains { if case .output = $0 { true } else { false } } }
        client.shutdown(grace: .seconds(30))
        #expect(fixture.connect() < 0, "a process still listens")
        #expect(outcome(events.end(of: run(job))) == "stopped")
        client.forget(run(job).id)
        client.close()
        fixture.stop()
    }

    /// Expects that the runner closes this connection within 10 s, and answers nothing before.
    private static func expectClosed(_ socket: Int32, _ comment: Comment? = nil) {
        var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wanted, 1, 10_000) == 1)
        var byte: UInt8 = 0
        #expect(recv(socket, &byte, 1, 0) <= 0, comment)
    }

    @Test func anInvalidMessageClosesTheConnection_andTheRunnerContinues() throws {
        let fixture = try ServerFixture()
        for bytes: [UInt8] in [
            [255, 255, 255, 255, 0], [1, 0, 0, 0, 99], [0, 0, 0, 0],
            [9, 0, 0, 0] + [UInt8](repeating: 9, count: 9),
        ] {
            let socket = fixture.connect()
            _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            Self.expectClosed(socket, "\(bytes) was answered")
            close(socket)
        }
        let client = try fixture.client { _, _ in }
        #expect(client.holdings.isEmpty)
        client.close()
        fixture.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func otherUsersAreRefused() async {
        await #expect(processExitsWith: .success) {
            let fixture = try ServerFixture()
            // The kernel records the user of the peer when it connects.
            seteuid(65_534)
            let socket = fixture.connect()
            seteuid(0)
            #expect(socket >= 0)
            let hello = WireRequest.hello(version: Wire.version).bytes
            let frame = [UInt8(hello.count), 0, 0, 0] + hello
            _ = send(socket, frame, frame.count, Int32(MSG_NOSIGNAL))
            Self.expectClosed(socket)
            #expect(
                fixture.configuration.said.withLock { $0 } == [
                    "refused a connection of uid 65534; only root and the scheduler's user may connect"
                ])
            fixture.stop()
        }
    }
}
