// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The values of the server's loop, from scripts.
@Suite struct ServerValueTests {
    // MARK: - Readings of the configuration

    private enum Step {
        case reload, read, check, readUnlessUnderWay, readOnceMore
        /// Forgets the previous definitions, at once or with a later reading.
        case forgetFormer(now: Bool)
        /// Begins the reading that is needed.
        case begin(isCheck: Bool?)
        case apply(forgetsFormer: Bool)
        case didApply
        /// The numbers of the reading that covers all changes, and of the last that is over.
        case numbers(covering: UInt64, over: UInt64)
        case mayDiffer(Bool)

        func perform(on readings: inout ConfigReadings) {
            switch self {
            case .reload: readings.reload()
            case .read: readings.read()
            case .check: readings.check()
            case .readUnlessUnderWay: readings.readUnlessUnderWay()
            case .readOnceMore: readings.readOnceMore()
            case .forgetFormer(let now):
                let isNow = readings.forgetFormer()
                #expect(isNow == now)
            case .begin(let isCheck):
                let begun = readings.begin()
                #expect(begun == isCheck)
            case .apply(let forgetsFormer):
                let forgets = readings.apply()
                #expect(forgets == forgetsFormer && !readings.isReading)
            case .didApply: readings.didApply()
            case .numbers(let covering, let over):
                #expect(readings.covering == covering && readings.over == over)
            case .mayDiffer(let mayDiffer): #expect(readings.mayDiffer == mayDiffer)
            }
        }
    }

    @Test(
        arguments: [
            // One after the other. What comes while one is in progress needs another one.
            [
                .numbers(covering: 0, over: 0), .begin(isCheck: nil), .read,
                .numbers(covering: 1, over: 0), .begin(isCheck: false), .begin(isCheck: nil),
                .numbers(covering: 1, over: 0), .check, .numbers(covering: 2, over: 0),
                .begin(isCheck: nil), .apply(forgetsFormer: false),
                .numbers(covering: 2, over: 1), .didApply, .begin(isCheck: true),
                .apply(forgetsFormer: false), .didApply, .begin(isCheck: nil),
            ],
            // A reload includes a check.
            [.check, .reload, .mayDiffer(true), .begin(isCheck: false), .mayDiffer(false)],
            // The definitions may differ from the files from their change to the end of the check.
            [
                .mayDiffer(false), .check, .mayDiffer(true), .begin(isCheck: true),
                .mayDiffer(true), .apply(forgetsFormer: false), .mayDiffer(true), .didApply,
                .mayDiffer(false),
            ],
            // What a reading in progress may have, and what a check covers, needs no other one.
            [
                .read, .begin(isCheck: false), .readUnlessUnderWay, .apply(forgetsFormer: false),
                .didApply, .begin(isCheck: nil), .check, .readUnlessUnderWay, .begin(isCheck: true),
                .apply(forgetsFormer: false), .didApply, .readUnlessUnderWay,
                .begin(isCheck: false),
            ],
            // What was only checked is checked again.
            [
                .check, .begin(isCheck: true), .apply(forgetsFormer: false), .readOnceMore,
                .didApply, .begin(isCheck: true), .apply(forgetsFormer: false), .didApply,
                .read, .begin(isCheck: false), .apply(forgetsFormer: false), .readOnceMore,
                .didApply, .begin(isCheck: false),
            ],
            // The previous definitions are forgotten once the new ones are read.
            [
                .forgetFormer(now: true), .reload, .forgetFormer(now: false),
                .begin(isCheck: false), .apply(forgetsFormer: true), .didApply,
                .forgetFormer(now: true),
            ],
            // Those of a reload that came while a check was in progress, with the reload.
            [
                .check, .begin(isCheck: true), .reload, .forgetFormer(now: false),
                .apply(forgetsFormer: false), .didApply, .begin(isCheck: false),
                .apply(forgetsFormer: true),
            ],
            // Another reload needs them again.
            [
                .reload, .begin(isCheck: false), .forgetFormer(now: false), .reload,
                .apply(forgetsFormer: false),
            ],
        ] as [[Step]])
    private func readings(steps: [Step]) {
        var readings = ConfigReadings()
        for step in steps { step.perform(on: &readings) }
    }

    // MARK: - Orders that wait

    private static func request(_ number: Int) -> StartRequest {
        StartRequest(run: ScriptedRuns.run(number), fingerprint: 0, missed: 0, active: .zero)
    }

    @Test func ordersAreTakenInTheirOrder_withTheirCommands() {
        var waiting = WaitingRequests()
        for number in [3, 1, 2] { waiting.append(Self.request(number), until: 1) }
        let isHeld = waiting.hold(.suspend(ScriptedRuns.run(1)), for: ScriptedRuns.run(1))
        let isUnknown = waiting.hold(.suspend(ScriptedRuns.run(4)), for: ScriptedRuns.run(4))
        #expect(isHeld && !isUnknown && waiting.commands == 1 && waiting.count == 3)
        let taken = waiting.drain()
        #expect(taken.map(\.request.run) == [3, 1, 2].map { ScriptedRuns.run($0) })
        #expect(taken.map(\.commands.count) == [0, 1, 0])
        #expect(waiting.isEmpty && waiting.commands == 0)
        waiting.keep(taken[1])
        #expect(waiting.commands == 1 && waiting.drain().count == 1)
    }

    @Test func aRunWaitsForFilesThatJustChanged_andNoLongerThanItMay() {
        let ms: Int64 = 1_000_000
        var waiting = WaitingRequests()
        waiting.append(Self.request(1), until: 1)
        /// Keeps the run if it may still wait at this time, and says when to look at the files.
        func keep(rest: Int, at now: Int64) -> Int64? {
            let one = waiting.drain()[0]
            let isKept = waiting.keep(
                one, until: 2, rest: .milliseconds(rest), longest: .milliseconds(500),
                step: .milliseconds(50), at: now)
            if !isKept { waiting.keep(one) }
            return isKept ? waiting.recheckAt : nil
        }
        /// Whether the files must be read at this time.
        func mustRecheck(at now: Int64, _ hasChanged: Bool) -> Bool {
            waiting.mustRecheck(at: now, step: .milliseconds(50)) { hasChanged }
        }
        #expect(keep(rest: 0, at: 0) == nil)
        #expect(keep(rest: 80, at: 0) == 50 * ms)
        #expect(!mustRecheck(at: 49 * ms, true))
        // They have not changed, and will be settled soon.
        #expect(!mustRecheck(at: 50 * ms, false) && waiting.recheckAt == 80 * ms)
        #expect(mustRecheck(at: 80 * ms, false) && waiting.recheckAt == nil)
        // They have changed again.
        #expect(keep(rest: 80, at: 100 * ms) == 150 * ms)
        #expect(mustRecheck(at: 150 * ms, true))
        #expect(keep(rest: 80, at: 500 * ms - 1) == 550 * ms - 1)
        #expect(keep(rest: 80, at: 500 * ms) == nil)
        _ = waiting.drain()
        #expect(waiting.recheckAt == nil)
    }

    @Test func messagesWaitForTheirReading() throws {
        func message(_ number: Int) throws -> MessageRequest {
            MessageRequest(
                run: ScriptedRuns.message(number), notifier: try #require(Notifier.Name("mail")),
                content: .mail([]))
        }
        var waiting = WaitingRequests()
        #expect(waiting.takeMessages(through: .max).isEmpty)
        let messages = try (1...3).map(message)
        for (request, reading) in zip(messages, [2, 0, 1]) {
            waiting.append(request, until: UInt64(reading))
        }
        #expect(waiting.messageCount == 3)
        #expect(waiting.takeMessages(through: 1) == [messages[1], messages[2]])
        #expect(waiting.takeMessages(through: 2) == [messages[0]] && waiting.messageCount == 0)
    }

    // MARK: - Rules

    @Test func aLimitThatIsTooHighIsWarnedOfOnce() {
        var rules = ConfigRules()
        func warning(_ activeMax: Int) -> Bool {
            var read = RunnerServer.RunRules()
            read.activeMax = activeMax
            return rules.apply(read, placesMax: 100, openFiles: 1024) != nil
        }
        #expect(!warning(100) && warning(101) && !warning(101) && warning(102))
        #expect(!warning(.max) && warning(102))
    }

    @Test func theReasonForARefusalIsTheLastFailure_untilAReadingTakesEffect() {
        var rules = ConfigRules()
        #expect(rules.refusal(isKnown: false).code == ENOENT)
        #expect(rules.refusal(isKnown: true).code == ESTALE)
        rules.fail("no bracket")
        let reason = "spawn-failed(EINVAL, read the configuration: no bracket)"
        #expect(rules.refusal(isKnown: true).outcome.description == reason)
        #expect(throws: Spawner.Failure.self) { try rules.notifier(Notifier.Name("mail")!) }
        _ = rules.apply(RunnerServer.RunRules(), placesMax: 1, openFiles: 1)
        #expect(rules.refusal(isKnown: false).code == ENOENT)
    }

    // MARK: - The end, and the connection

    @Test func eachReasonToEndIsTakenOnce() {
        var departure = Departure()
        #expect(departure.takeRequest() == nil && !departure.isRequested)
        departure.request(grace: .seconds(3))
        #expect(departure.isRequested && departure.takeRequest() == .seconds(3))
        #expect(departure.takeRequest() == nil)
        departure.yield()
        let isTooEarly = departure.takeYield(hasLiveRun: true)
        #expect(!isTooEarly && departure.mustYield)
        let isTime = departure.takeYield(hasLiveRun: false)
        let isAgain = departure.takeYield(hasLiveRun: false)
        #expect(isTime && !isAgain && !departure.mustYield)
    }

    @Test func aSchedulerIsToldOnceThatItsRunsStartAtOnce() throws {
        let pair = try FramePair(frameBytesMax: Wire.replyBytesMax) { try WireReply($0) }
        let connection = ServerConnection(dup(pair.ours))
        connection.ask()
        #expect(!connection.isGreeted && !connection.mustAnswer(after: 9))
        connection.greet(reading: 2)
        #expect(connection.isGreeted && !connection.mustAnswer(after: 2))
        connection.ask()
        #expect(!connection.mustAnswer(after: 1))
        let isAnswered = connection.mustAnswer(after: 2)
        connection.ask()
        #expect(isAnswered && !connection.mustAnswer(after: 3))
    }

    @Test func anotherThreadMayWriteOnceEverythingIsSent() throws {
        let pair = try FramePair(frameBytesMax: Wire.replyBytesMax) { try WireReply($0) }
        let connection = ServerConnection(dup(pair.ours))
        let outbound = OutboundQueue()
        #expect(connection.queue(from: outbound).isEmpty && !connection.isIdle)
        connection.greet(reading: 0)
        _ = outbound.connect()
        outbound.barrierReached(1)
        #expect(connection.queue(from: outbound).isEmpty)
        #expect(!connection.isIdle && connection.socket.backlog > 0)
        let isThere = connection.socket.flush()
        #expect(isThere && connection.queue(from: outbound).isEmpty && connection.isIdle)
        #expect(!connection.canSendMore && connection.sendAt == nil)
    }
}
