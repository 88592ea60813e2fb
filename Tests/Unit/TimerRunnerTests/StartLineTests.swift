// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// Starts are written to the runner at once while the client's thread waits, and are left to it
/// otherwise.
@Suite struct StartLineTests {
    /// A mailbox, and both ends of a connection.
    private final class Setup {
        let mailbox: ClientMailbox
        let connection: FramePair<WireRequest>
        var ours: Int32 { connection.ours }

        init() throws {
            mailbox = try ClientMailbox()
            connection = try FramePair(frameBytesMax: Wire.requestBytesMax) { try WireRequest($0) }
        }

        var isSignalled: Bool {
            var wanted = pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&wanted, 1, 0) == 1
        }

        /// The runs that the thread must start, and those of which it is told that they are sent.
        func taken() -> (start: [StartRequest], started: [StartRequest], rest: [UInt8]) {
            let taken = mailbox.drain()
            var (start, started): ([StartRequest], [StartRequest]) = ([], [])
            for command in taken.commands {
                switch command {
                case .start(let requests): start += requests
                case .started(let requests): started += requests
                default: break
                }
            }
            return (start, started, taken.rest)
        }
    }

    private func requests(_ count: Int, variableBytes: Int = 0) -> [StartRequest] {
        (0..<count).map { number in
            let firing = Firing.ID(
                job: Job.Name("job-\(number)")!, scheduled: WallInstant(microsecondsSinceEpoch: 0))
            return StartRequest(
                run: Run.ID(firing: firing, attempt: 1), fingerprint: 7, missed: 0, active: .zero,
                variables: RunVariables(
                    variableBytes == 0
                        ? [:] : ["TEXT": String(repeating: "x", count: variableBytes)]))
        }
    }

    @Test func aStartIsWrittenWhileTheThreadWaits_andTheThreadSleepsOn() throws {
        let setup = try Setup()
        setup.mailbox.openLine(setup.ours, room: 10)
        setup.mailbox.start(requests(2))
        #expect(try setup.connection.received() == [.start(requests(2))])
        #expect(!setup.isSignalled)
        let taken = setup.taken()
        #expect(taken.started == requests(2) && taken.start.isEmpty && taken.rest.isEmpty)
    }

    @Test func nothingIsWrittenWhileTheThreadWorks() throws {
        let setup = try Setup()
        setup.mailbox.start(requests(1))
        #expect(setup.isSignalled)
        #expect(setup.taken().start == requests(1))
        setup.mailbox.openLine(setup.ours, room: 10)
        _ = setup.mailbox.drain()
        setup.mailbox.start(requests(1))
        #expect(setup.isSignalled)
        #expect(setup.taken().start == requests(1))
        // There is something left to write, so the thread did not lend its socket.
        setup.mailbox.start(requests(1))
        #expect(setup.taken().start == requests(1))
        #expect(try setup.connection.received().isEmpty)
    }

    @Test func aStartDoesNotOvertakeAnUrgentCommand() throws {
        let setup = try Setup()
        setup.mailbox.openLine(setup.ours, room: 10)
        setup.mailbox.post(.refresh)
        setup.mailbox.start(requests(1))
        #expect(try setup.connection.received().isEmpty)
        #expect(setup.taken().start == requests(1))
    }

    @Test func manyRuns_orMoreThanThereIsRoomFor_areLeftToTheThread() throws {
        let setup = try Setup()
        setup.mailbox.openLine(setup.ours, room: 1000)
        setup.mailbox.start(requests(StartLine.runsMax + 1))
        #expect(setup.isSignalled)
        #expect(setup.taken().start.count == StartLine.runsMax + 1)
        setup.mailbox.openLine(setup.ours, room: 3)
        setup.mailbox.start(requests(2))
        #expect(!setup.isSignalled)
        setup.mailbox.start(requests(2))
        #expect(setup.isSignalled)
        let taken = setup.taken()
        #expect(taken.started.count == 2 && taken.start.count == 2)
        #expect(try setup.connection.received() == [.start(requests(2))])
    }

    @Test func whatDoesNotFitIsWrittenByTheThread_beforeAnythingElse() throws {
        let setup = try Setup()
        setup.connection.shrinkSendBuffer()
        let large = requests(8, variableBytes: 8000)
        setup.mailbox.openLine(setup.ours, room: 100)
        setup.mailbox.start(large)
        #expect(setup.isSignalled)
        // The line is closed now: the next start must not get between.
        setup.mailbox.start(requests(1))
        let taken = setup.taken()
        #expect(taken.started == large && taken.start == requests(1) && !taken.rest.isEmpty)
        let next = WireRequest.start(requests(1))
        let received = try setup.connection.finish(taken.rest, then: [next.bytes]) {
            $0.last == next
        }
        let runs = received.flatMap { request -> [StartRequest] in
            if case .start(let requests) = request { requests } else { [] }
        }
        #expect(runs == large + requests(1))
    }

    @Test func aBrokenConnectionIsLeftToTheThread_whichKnowsTheRun() throws {
        let setup = try Setup()
        setup.mailbox.openLine(setup.ours, room: 100)
        shutdown(setup.ours, Int32(SHUT_WR))
        setup.mailbox.start(requests(1))
        #expect(setup.isSignalled)
        #expect(setup.taken().started == requests(1))
    }
}
