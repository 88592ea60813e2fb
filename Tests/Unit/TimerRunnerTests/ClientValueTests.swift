// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerRunnerClient
@testable import TimerRunnerProtocol

/// The values of the client's loop, from scripts.
@Suite struct ClientValueTests {
    // MARK: - Known runs

    private static func run(_ number: Int) -> Run.ID { ScriptedRuns.run(number) }

    private static func request(_ number: Int) -> StartRequest {
        StartRequest(run: run(number), fingerprint: 0, missed: 0, active: .zero)
    }

    private static func holding(_ run: Run.ID, isOver: Bool = false) -> RunnerClient.Holding {
        RunnerClient.Holding(run: run, began: nil, isOver: isOver)
    }

    @Test func anEndIsReportedOnce_andAnUnknownRunIsForgotten() {
        var runs = KnownRuns()
        runs.add([Self.request(1)])
        let actions = [1, 1, 2].map { runs.end(Self.run($0)) }
        #expect(actions == [.report, .ignore, .forget])
        runs.forget(Self.run(1))
        #expect(runs.end(Self.run(1)) == .forget)
        let isForgotten = [
            runs.add(Self.holding(Self.run(3)), isKnown: true),
            runs.add(Self.holding(Self.run(4)), isKnown: false),
            runs.add(Self.holding(Self.run(5), isOver: true), isKnown: false),
            runs.add(Self.holding(ScriptedRuns.message(1), isOver: true), isKnown: false),
        ]
        #expect(isForgotten == [false, false, true, false])
        #expect(runs.end(Self.run(3)) == .report && runs.end(Self.run(4)) == .forget)
        #expect(runs.room == RunnerClient.waitingMax - 2)
    }

    @Test func whatWasNeverSentIsUnsent() {
        var runs = KnownRuns()
        runs.add([Self.request(1), Self.request(2), Self.request(3)])
        runs.add([Self.request(4)], sentTo: 7)
        runs.send([Self.request(1)], to: 7)
        _ = runs.end(Self.run(2))
        #expect(runs.unsent == [Self.run(3)])
    }

    /// Each start on the new connection is one that cannot have happened, or that the runner would
    /// know.
    @Test func aStartIsSentAgainOnlyToTheSameMemory() {
        for (memory, starts, lost) in [(7, [1, 2], [3]), (8, [1], [2, 3])] {
            var runs = KnownRuns()
            runs.add(
                [Self.request(2), Self.request(3), Self.request(4), Self.request(5)], sentTo: 7)
            runs.add([Self.request(1)])
            // This one has started, this one is held by the runner, and this one is over.
            runs.begin(Self.run(3))
            _ = runs.end(Self.run(5))
            let result = runs.reconcile(
                with: [Self.holding(Self.run(4))], memory: UInt64(memory))
            #expect(result.starts.map(\.run) == starts.map(Self.run))
            #expect(Set(result.lost) == Set(lost.map(Self.run)) && result.requests.isEmpty)
            // What is lost is not lost again.
            let later = runs.reconcile(with: [], memory: 9).lost
            #expect(Set(later).isDisjoint(with: result.lost))
        }
    }

    @Test func whatWasRequestedForARunIsSentAgain() throws {
        var runs = KnownRuns()
        runs.add([Self.request(1), Self.request(2)], sentTo: 7)
        let isEnded = [
            runs.end(Self.run(1), grace: .seconds(5)), runs.end(Self.run(1), grace: .seconds(9)),
            runs.end(Self.run(3), grace: .zero),
        ]
        #expect(isEnded == [true, true, false])
        runs.setSuspended(Self.run(2), true)
        let message = MessageRequest(
            run: ScriptedRuns.message(1), notifier: try #require(Notifier.Name("mail")),
            content: .mail([]))
        runs.add(message)
        let held = [1, 2, 4].map { Self.holding(Self.run($0), isOver: $0 == 4) }
        let requests = Set(runs.reconcile(with: held, memory: 7).requests.map(\.bytes))
        let expected: [WireRequest] = [
            .end(Self.run(1), grace: .seconds(5)), .suspend(Self.run(2)), .send(message),
            .forget([Self.run(4)]),
        ]
        #expect(requests == Set(expected.map(\.bytes)))
        runs.setSuspended(Self.run(2), false)
        let again = runs.reconcile(with: held, memory: 7).requests.map(\.bytes)
        #expect(!again.contains(WireRequest.suspend(Self.run(2)).bytes))
    }

    // MARK: - Acknowledgements

    @Test func anotherRunnerBeginsItsNumbersAnew() {
        var received = ReceivedMessages(instance: 1, memory: 7)
        let first = [received.receiveEvent(1), received.receiveOutput(1)]
        // The same runner sends them again.
        let isSame = received.reconnect(instance: 1, memory: 7)
        let again = [received.receiveEvent(1), received.receiveOutput(1)]
        let isOther = received.reconnect(instance: 2, memory: 8)
        let other = [received.receiveEvent(1), received.receiveOutput(1)]
        #expect(first == [true, true] && again == [false, false] && other == [true, true])
        #expect(isSame && !isOther && received.instance == 2 && received.memory == 8)
    }

    @Test func whatIsHandledIsAcknowledgedOnce() {
        var received = ReceivedMessages(instance: 1, memory: 7)
        // A start, which is handled at once and not urgent, and an end and output.
        _ = received.receiveEvent(1)
        _ = received.receiveEvent(2)
        received.expectAcknowledgement(ofEvent: 2)
        _ = received.receiveOutput(1)
        #expect(received.acknowledge(nil) == nil)
        #expect(
            received.acknowledge(ClientMailbox.Seen(events: 2, output: 0))
                == ClientMailbox.Seen(events: 2, output: 0))
        #expect(received.acknowledge(ClientMailbox.Seen(events: 2, output: 0)) == nil)
        #expect(
            received.acknowledge(ClientMailbox.Seen(events: 0, output: 1))
                == ClientMailbox.Seen(events: 2, output: 1))
        // An event that is not passed on.
        _ = received.receiveEvent(3)
        received.acknowledgeSoon()
        #expect(received.acknowledge(nil) == ClientMailbox.Seen(events: 3, output: 1))
        // On a new connection, everything is acknowledged again.
        _ = received.reconnect(instance: 1, memory: 7)
        #expect(received.acknowledge(nil) == ClientMailbox.Seen(events: 3, output: 1))
    }

    // MARK: - Replies

    @Test func aResponseAnswersAllBarriersBeforeIt() {
        var replies = PendingReplies<String>()
        let tokens = ["a", "b", "c"].map { replies.addBarrier($0) }
        #expect(tokens == tokens.sorted() && Set(tokens).count == 3)
        #expect(!tokens.contains(Wire.preparedToken))
        #expect(replies.take(through: Wire.preparedToken).isEmpty)
        replies.awaitPreparation("prepared")
        #expect(replies.take(through: tokens[1]) == ["a", "b"])
        #expect(replies.awaitsPreparation)
        #expect(replies.take(through: Wire.preparedToken) == ["prepared"])
        #expect(!replies.awaitsPreparation && replies.takeShutdown() == nil)
    }

    @Test func aLostConnectionAnswersAllButThePreparation() {
        var replies = PendingReplies<String>()
        _ = replies.addBarrier("a")
        replies.awaitPreparation("prepared")
        replies.awaitShutdown("down")
        #expect(replies.takeFailed() == ["a", "down"] && replies.takeFailed().isEmpty)
        #expect(replies.awaitsPreparation)
        replies.awaitShutdown("down")
        #expect(replies.takeShutdown() == "down" && replies.takeShutdown() == nil)
    }

    private enum Step { case endRunner, close, announceEnd }

    /// Each row: what happens before the connection is lost, and what is reported then.
    @Test(
        arguments: [
            ([], false, true), ([.announceEnd], true, true), ([.endRunner], nil, false),
            ([.announceEnd, .endRunner], nil, false), ([.close], nil, false),
            ([.close, .endRunner, .announceEnd], nil, false),
        ] as [([Step], Bool?, Bool)])
    private func theCourse(steps: [Step], announced: Bool?, reconnects: Bool) {
        var course = ClientCourse()
        for step in steps {
            switch step {
            case .endRunner: course.endRunner()
            case .close: course.close()
            case .announceEnd: course.announceEnd()
            }
        }
        #expect(course.takeAnnouncement() == announced && course.mayReconnect == reconnects)
        #expect(course.takeAnnouncement() == (reconnects ? false : nil))
        let isClosing = steps.contains { if case .close = $0 { true } else { false } }
        #expect(course.isClosing == isClosing)
    }
}
