// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// `stale-after` and `paused-after` at random times, compared with sums of spans.
@Suite struct IncidentTimeTests {
    /// The definition: the wall time in which the job was armed since its last success, and the wall
    /// time since it was paused.
    private struct Definition {
        static let stale: Int64 = 7000
        static let paused: Int64 = 5000
        var isArmed = true
        var isPaused = false
        var armed: Int64 = 0
        var pause: Int64 = 0
        var isStale = false
        var isPausedLong = false
        var told: [NotificationKind] = []

        mutating func pass(_ seconds: Int64) {
            if isArmed { armed += seconds }
            if isPaused { pause += seconds }
        }

        /// What a running daemon tells by now.
        mutating func look() {
            if isArmed, armed >= Self.stale, !isStale {
                isStale = true
                told.append(.stale)
            }
            if isPaused, pause >= Self.paused, !isPausedLong {
                isPausedLong = true
                told.append(.pausedLong)
            }
        }

        mutating func succeed() {
            armed = 0
            if isStale { told.append(.recovery) }
            isStale = false
        }

        mutating func leavePause() {
            if isPausedLong { told.append(.recovery) }
            (isPaused, isPausedLong, pause) = (false, false, 0)
        }
    }

    private let job = Job.every(.seconds(1800), first: .zero).with {
        $0.notify = ["ops"]
        $0.staleAfter = .seconds(Definition.stale)
        $0.pausedAfter = .seconds(Definition.paused)
    }

    @Test func randomTimesFollowTheDefinition() {
        var random = SeededRandom()
        for round in 0..<300 { check(&random, round) }
    }

    private func check(_ random: inout SeededRandom, _ round: Int) {
        var world = World()
        world.notifiers = [
            Notifier(
                name: "ops", transport: .mail(to: ["root"], from: nil, contentType: nil),
                on: [.stale, .pausedLong, .recovery])
        ]
        world.load([job])
        world.pass(.zero)
        var definition = Definition()
        var steps: [String] = []
        for _ in 0..<40 {
            let span = Int64(random.int(below: 4000))
            let choice = random.int(below: 10)
            steps.append("\(choice) \(span)")
            take(choice, span, &world, &definition)
            definition.look()
            #expect(
                world.outbox.map(\.kind) == definition.told,
                "round \(round): \(world.outbox.map(\.kind)), not \(definition.told): \(steps)")
            if world.outbox.map(\.kind) != definition.told { return }
        }
    }

    private func take(
        _ choice: Int, _ span: Int64, _ world: inout World, _ definition: inout Definition
    ) {
        switch choice {
        case 0...2:
            world.pass(.seconds(span))
            definition.pass(span)
        case 3:
            if world.openRuns.values.contains(where: \.begun) { definition.succeed() }
            world.endRuns()
        case 4: world.endRuns(.exited(1))
        case 5:
            guard definition.isArmed else { return }
            _ = world.command(.pause, "backup")
            (definition.isArmed, definition.isPaused) = (false, true)
        case 6:
            guard definition.isPaused else { return }
            _ = world.command(.resume, "backup")
            definition.leavePause()
            definition.isArmed = true
        case 7:
            _ = world.command(.stop, "backup")
            definition.leavePause()
            definition.isArmed = false
        case 8:
            guard !definition.isArmed, !definition.isPaused else { return }
            _ = world.command(.start, "backup")
            definition.isArmed = true
        default:
            if span % 2 == 0 { world.kill() } else { world.stopCleanly() }
            world.reboot(away: .seconds(span))
            world.load([job])
            definition.pass(span)
        }
    }
}
