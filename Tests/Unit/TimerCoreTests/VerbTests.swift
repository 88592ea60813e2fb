// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

@Suite struct VerbTests {
    @Test func resumeSetsTheTimerToTheRemainingTime() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        #expect(world.command(.pause, "backup", note: "disk swap") == .done)
        #expect(world.timers.isEmpty && !world.agenda.isCounting)
        world.pass(.seconds(3600))
        #expect(world.started.isEmpty)
        #expect(world.show("backup").remaining == .seconds(40))
        #expect(world.command(.resume, "backup") == .done)
        world.pass(.seconds(40) - .nanoseconds(1))
        #expect(world.started.isEmpty)
        world.pass(.nanoseconds(1))
        #expect(world.started.count == 1)
    }

    @Test func pauseSaysWhoAndWhy() {
        var world = World()
        world.load([.every(.seconds(60))])
        let since = world.now.wall
        _ = world.command(.pause, "backup", note: "disk swap")
        let pause = Pause(since: since, by: .user("ada"), note: "disk swap")
        #expect(world.show("backup").phase == .paused(pause))
        #expect(world.records["backup"]?.phase == .paused(pause))
    }

    /// A user who ends a pause means the pause that was shown: another pause, or one with other
    /// terms, continues.
    @Test func onlyTheNamedPauseIsEnded() {
        var world = World()
        world.load([.every(.seconds(60))])
        _ = world.command(.pause, "backup", note: "disk swap")
        func resume(_ change: (inout SeenPause) -> Void) -> JobCommand {
            var seen = SeenPause(Pause(since: world.now.wall, by: .user("ada"), note: "disk swap"))
            change(&seen)
            var command = JobCommand(.resume, "backup", by: .user("eve"))
            command.onlyPause = seen
            return command
        }
        for command in [
            resume { $0.by = "bob" }, resume { $0.note = nil }, resume { $0.withRun = true },
            resume { $0.until = world.now.wall + .seconds(60) },
            resume { $0.since = $0.since + .microseconds(1) },
        ] {
            world.handle(.command(command))
            guard case .refused(let why) = world.answers.last else {
                Issue.record("not refused: \(command)")
                continue
            }
            #expect(why.hasPrefix("its pause has changed: it is paused by ada since "))
            guard case .paused = world.show("backup").phase else {
                Issue.record("resumed")
                return
            }
        }
        let same = resume { _ in }
        world.handle(.command(same))
        #expect(world.answers.last == .done && world.show("backup").phase == .armed)
        world.handle(.command(same))
        #expect(world.answers.last == .unchanged("not paused"))
    }

    @Test func stopDiscardsTheElapsedTime_andStartRestartsTheTimer() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(59))
        #expect(world.command(.stop, "backup") == .done)
        #expect(world.show("backup").accrued == .zero)
        #expect(world.show("backup").remaining == nil)
        world.pass(.seconds(600))
        #expect(world.started.isEmpty)
        #expect(world.command(.start, "backup") == .done)
        world.pass(.seconds(59))
        #expect(world.started.isEmpty)
        world.pass(.seconds(1))
        #expect(world.started.count == 1)
    }

    @Test func aStoppedJobStaysStoppedAcrossRestarts() {
        var world = World()
        world.load([.every(.seconds(60))])
        _ = world.command(.stop, "backup")
        world.stopCleanly()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(600))
        #expect(world.started.isEmpty && world.show("backup").phase == .stopped)
    }

    /// The effect of each verb in each phase: the new phase, and whether anything changed.
    @Test(arguments: [
        ("armed", JobCommand.Verb.pause, "paused", true), ("armed", .resume, "armed", false),
        ("armed", .start, "armed", false), ("armed", .stop, "stopped", true),
        ("paused", .pause, "paused", false), ("paused", .resume, "armed", true),
        ("paused", .start, "paused", false), ("paused", .stop, "stopped", true),
        ("stopped", .pause, "stopped", false), ("stopped", .resume, "stopped", false),
        ("stopped", .start, "armed", true), ("stopped", .stop, "stopped", false),
        ("finished", .pause, "finished", false), ("finished", .resume, "finished", false),
        ("finished", .start, "armed", true), ("finished", .stop, "stopped", true),
    ])
    func leads(from phase: String, verb: JobCommand.Verb, to expected: String, changes: Bool) {
        var world = World()
        world.load([.after(.seconds(60))])
        switch phase {
        case "paused": _ = world.command(.pause, "once")
        case "stopped": _ = world.command(.stop, "once")
        case "finished": world.pass(.seconds(60))
        default: break
        }
        #expect(world.show("once").phase.word == phase)
        let answer = world.command(verb, "once")
        #expect((answer == .done) == changes)
        #expect(world.show("once").phase.word == expected)
        let again = world.command(verb, "once")
        #expect(again != .done, "\(verb) twice is \(verb) once")
        #expect(world.show("once").phase.word == expected)
        #expect((world.timers["once"] != nil) == (expected == "armed"))
    }

    @Test func aCommandIsOnTheDiskBeforeItIsAnswered_andTheTimerDoesNotWaitForIt() throws {
        var world = World()
        world.load([.every(.seconds(60))])
        let command = JobCommand(.pause, "backup", by: .user("ada"))
        let actions = world.agenda.handle(.command(command), at: world.now)
        let save = actions.firstIndex {
            if case .save(_, durable: true) = $0 { true } else { false }
        }
        let answer = actions.firstIndex { if case .answer = $0 { true } else { false } }
        let disarm = actions.firstIndex(of: .disarm("backup"))
        #expect(try #require(disarm) < #require(save))
        #expect(try #require(save) < #require(answer))
    }

    @Test func runNowChangesNeitherLedgerNorTimer() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(10))
        let before = world.timers
        #expect(world.command(.run, "backup")?.run != nil)
        #expect(world.started.count == 1 && world.timers == before)
        #expect(world.show("backup").remaining == .seconds(50))
        guard case .refused = world.command(.run, "backup") else {
            Issue.record("a second run beside the first")
            return
        }
        world.endRuns()
        _ = world.command(.pause, "backup")
        #expect(world.command(.run, "backup")?.run != nil, "a paused job runs when told to")
    }

    @Test func anUnknownJobIsReported() {
        var world = World()
        world.load([])
        #expect(world.command(.pause, "nosuch") == .noSuchJob)
    }

    @Test func aDaemonThatStopsRefusesCommands() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.handle(.shutdown)
        guard case .refused = world.command(.pause, "backup") else {
            Issue.record("an order was taken after the shutdown")
            return
        }
        #expect(world.handle(.wake("backup")).isEmpty && world.handle(.shutdown).isEmpty)
    }
}
