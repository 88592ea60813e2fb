// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Changes of the terms of a pause, and the next firing after it.
extension PauseTests {
    func pause(
        _ world: inout World, by initiator: String = "bob", note: String? = nil,
        until: JobCommand.PauseEnd? = nil, withRun: Bool = false
    ) -> Answer? {
        world.handle(
            .command(
                JobCommand(
                    .pause, "backup", by: .user(initiator), note: note, until: until,
                    withRun: withRun)
            ))
        return world.answers.last
    }

    @Test func pauseChangesTheNamedTerms_andKeepsTheOthers() {
        var world = World()
        world.load([.every(.seconds(60), first: .zero)])
        world.pass(.seconds(10))
        let since = world.now.wall
        #expect(pause(&world, by: "ada", note: "disk swap") == .done)
        var was = Pause(since: since, by: .user("ada"), note: "disk swap")
        world.pass(.seconds(10))
        let end = world.now.wall + .seconds(100)
        for (command, change) in [
            (
                { self.pause(&$0, until: .at(end)) } as (inout World) -> Answer?,
                { $0.until = end } as (inout Pause) -> Void
            ), ({ self.pause(&$0, note: "another") }, { $0.note = "another" }),
            ({ self.pause(&$0, withRun: true) }, { $0.withRun = true }),
            (
                { self.pause(&$0, until: .after(.seconds(50))) },
                { $0.until = since + .seconds(60) }
            ),
        ] {
            var now = was
            change(&now)
            now.by = .user("bob")
            #expect(command(&world) == .pauseChanged(from: was))
            #expect(world.show("backup").phase == .paused(now))
            #expect(world.records["backup"]?.phase == .paused(now))
            #expect(world.notices.last == .pauseChanged("backup", from: was, to: now))
            #expect(command(&world) == .unchanged("already paused by bob"), "the same again")
            was = now
        }
        #expect(world.suspended == [world.started[0].id])
        world.pass(.seconds(50))
        #expect(world.show("backup").phase == .armed, "the new end counts")
        #expect(world.show("backup").accrued == .seconds(10), "nothing of its time is lost")
    }

    @Test func pauseWithoutTermsIsIdempotent() {
        var world = World()
        world.load([.every(.seconds(60))])
        _ = pause(&world, by: "ada", note: "disk swap", until: .after(.seconds(100)))
        let before = world.show("backup").phase
        #expect(pause(&world) == .unchanged("already paused by ada"))
        #expect(world.show("backup").phase == before)
    }

    @Test(arguments: ["armed", "paused", "stopped"])
    func anEndInThePastIsRefused_andTheAnswerNamesTheInstant(phase: String) {
        var world = World()
        world.load([.every(.seconds(60))])
        if phase == "paused" { _ = pause(&world) }
        if phase == "stopped" { _ = world.command(.stop, "backup") }
        let before = world.show("backup").phase
        let past = world.now.wall - .seconds(1)
        guard case .refused(let why) = pause(&world, until: .at(past)) else {
            Issue.record("a pause that is over was taken")
            return
        }
        #expect(why.contains(past.rfc3339) && why.contains("past"))
        #expect(world.show("backup").phase == before)
    }

    @Test func aConfiguredPauseWithChangedTermsBelongsToTheUser() {
        var world = World()
        world.load([.every(.seconds(60), paused: true)])
        _ = pause(&world, note: "not yet")
        world.handle(.reload(JobSet([.every(.seconds(60))])))
        #expect(world.show("backup").phase.word == "paused")
    }

    @Test func aPauseAfterAnEndedPauseIsNew_evenBeforeTheTimerExpires() {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = .fireIfDue }])
        _ = pause(&world, by: "ada", until: .after(.seconds(100)))
        world.block(.seconds(100))
        #expect(pause(&world) == .done)
        #expect(world.started.count == 1, "it fired when the first pause was over")
        #expect(
            world.show("backup").phase == .paused(Pause(since: world.now.wall, by: .user("bob"))))
    }

    /// For a job whose pause has an end, the next firing that is shown is the one that then
    /// happens.
    @Test(
        arguments: [
            (nil, 40, 140), (.keepRemaining, 40, 140), (.restart, 40, 160), (.fireIfDue, 40, 100),
            (.fireIfDue, -20, 80), (.keepRemaining, -20, 80),
        ] as [(Policy.Resume?, Int64, Int64)])
    func theNextFiringOfAPausedJobIsThatAfterItsEnd(
        policy: Policy.Resume?, later: Int64, due: Int64
    ) {
        var world = World()
        world.load([Job.every(.seconds(60)).with { $0.onResume = policy }])
        let begin = world.now.wall
        world.pass(.seconds(20))
        // 40 s remain; the pause ends at 100 s, or at 40 s.
        let end = begin + .seconds(60 + later)
        world.handle(
            .command(JobCommand(.pause, "backup", by: .user("ada"), until: .at(end))))
        let expected = begin + .seconds(due)
        #expect(world.show("backup").next == expected)
        #expect(world.agenda.next(at: world.now)?.instant == expected)
        world.pass(.seconds(due) - .seconds(20))
        #expect(world.started.count == 1)
    }

    @Test(arguments: [(nil, 200), (.fireIfDue, 150)] as [(Policy.Resume?, Int64)])
    func theNextOccurrenceOfAPausedJobIsThatAfterItsEnd(policy: Policy.Resume?, due: Int64) throws {
        var world = World()
        // The test starts at 11:06:40; the next full minute is 20 s later.
        let job = try Job.cron("* * * * *").with { $0.onResume = policy }
        world.load([job, .every(.seconds(900), "b")])
        let begin = world.now.wall
        world.handle(
            .command(
                JobCommand(.pause, "backup", by: .user("ada"), until: .at(begin + .seconds(150)))))
        #expect(world.show("backup").next == begin + .seconds(due))
        #expect(world.agenda.next(at: world.now)?.job == "backup")
        world.pass(.seconds(due))
        #expect(world.started.count == 1)
    }

    @Test func aPausedJobWithoutAnEndHasNoNextFiring() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(90), "b")])
        _ = world.command(.pause, "backup")
        #expect(world.show("backup").next == nil && world.show("backup").remaining == .seconds(60))
        #expect(world.agenda.next(at: world.now)?.job == "b")
    }
}
