// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Ends are sent by the runner's thread while the server's thread waits.
extension OutboundQueueTests {
    private func connected() throws -> FramePair<WireReply> {
        try FramePair(frameBytesMax: Wire.replyBytesMax) { try WireReply($0) }
    }

    private func ended(_ number: UInt64, _ run: Run.ID, tail: [UInt8] = []) -> WireReply {
        .event(number, .ended(run, RunEnd(.exited(0), at: end.at, tail: tail)))
    }

    @Test func endsAreWrittenWhileTheServersThreadWaits_andOnlyThen() throws {
        let outbound = OutboundQueue()
        let connection = try connected()
        _ = outbound.connect(at: now)
        _ = outbound.enqueue(.began(run(1), pid: 7, at: end.at), at: now)
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        #expect(!outbound.sendDirectly())
        #expect(try connection.received().isEmpty)

        outbound.openLine(connection.ours)
        #expect(outbound.sendDirectly())
        #expect(
            try connection.received()
                == [.event(1, .began(run(1), pid: 7, at: end.at)), ended(2, run(1))])
        #expect(sent(outbound).isEmpty)
        #expect(outbound.sendDirectly())
        #expect(try connection.received().isEmpty)

        #expect(outbound.closeLine().isEmpty)
        _ = outbound.enqueue(.ended(run(2), end), at: now)
        #expect(!outbound.sendDirectly())
        #expect(sent(outbound) == [ended(3, run(2))])
        #expect(try connection.received().isEmpty)
    }

    @Test func whatWasSentDirectlyIsSentAgain_untilItIsAcknowledged() throws {
        let outbound = OutboundQueue()
        let connection = try connected()
        _ = outbound.connect(at: now)
        outbound.openLine(connection.ours)
        for number in 1...3 { _ = outbound.enqueue(.ended(run(number), end), at: now) }
        #expect(outbound.sendDirectly())
        _ = outbound.closeLine()
        outbound.seen(2, output: 0)
        #expect(outbound.forget([run(1), run(2)]) == [run(1), run(2)])
        outbound.disconnect()
        _ = outbound.connect(at: now)
        #expect(told(sent(outbound)).map(\.event) == [.ended(run(3), end)])
    }

    @Test func outputIsLeftToTheServersThread_andSoIsAnEndThatWaitsForIt() throws {
        let outbound = OutboundQueue()
        let connection = try connected()
        _ = outbound.connect(at: now)
        outbound.openLine(connection.ours)
        write(1, by: run(1), to: outbound)
        // The end of another run waits with it: the server's thread is awake then.
        _ = outbound.enqueue(.ended(run(2), end), at: now)
        #expect(!outbound.sendDirectly())
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        #expect(!outbound.sendDirectly())
        #expect(try connection.received().isEmpty)
        _ = outbound.closeLine()
        #expect(sent(outbound).count == 3)
        outbound.openLine(connection.ours)
        #expect(outbound.sendDirectly())
    }

    @Test func whatDoesNotFitIsLeftToTheServersThread_inItsOrder() throws {
        let outbound = OutboundQueue()
        let connection = try connected()
        connection.shrinkSendBuffer()
        _ = outbound.connect(at: now)
        outbound.openLine(connection.ours)
        let tail = [UInt8](repeating: 120, count: 8000)
        let runs = (1...12).map { run($0) }
        for run in runs {
            _ = outbound.enqueue(.ended(run, RunEnd(.exited(0), at: end.at, tail: tail)), at: now)
        }
        #expect(!outbound.sendDirectly())
        // The line is closed now: nothing may get between.
        #expect(!outbound.sendDirectly())
        let rest = outbound.closeLine()
        #expect(!rest.isEmpty)
        let received = try connection.finish(rest, then: sent(outbound).map(\.bytes)) {
            $0.count >= runs.count
        }
        #expect(received == zip(1..., runs).map { ended($0, $1, tail: tail) })
    }

    @Test func aBrokenConnectionIsLeftToTheServersThread() throws {
        let outbound = OutboundQueue()
        let connection = try connected()
        _ = outbound.connect(at: now)
        outbound.openLine(connection.ours)
        shutdown(connection.ours, Int32(SHUT_WR))
        _ = outbound.enqueue(.ended(run(1), end), at: now)
        #expect(!outbound.sendDirectly())
        #expect(!outbound.closeLine().isEmpty)
    }
}
