// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Names that change.
@Suite struct RenameTests {
    private var heir: Job {
        Job(
            name: "vault", command: .arguments(["true"]), schedule: .every(.seconds(60)),
            formerly: "backup")
    }

    @Test func aRenamedJobTakesItsAccountAlong_atAReload() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        let preview = world.agenda.preview(Roster([heir]), at: world.now)
        #expect(preview.added == [.init(job: "vault", accrued: .seconds(20))])
        #expect(preview.removed == [.init(job: "backup", accrued: .seconds(20))])
        world.handle(.reload(Roster([heir])))
        #expect(world.show("vault").accrued == .seconds(20))
        #expect(world.records["backup"] == nil && world.records["vault"]?.accrued == .seconds(20))
        #expect(world.notices.contains(.renamed("vault", from: "backup")))
        world.pass(.seconds(40))
        #expect(world.started.count == 1)
    }

    @Test func aRenamedJobTakesItsAccountAlong_overARestart() {
        var world = World()
        world.load([.every(.seconds(60))])
        world.pass(.seconds(20))
        world.stopCleanly()
        world.load([heir])
        #expect(world.show("vault").accrued == .seconds(20) && world.records["backup"] == nil)
    }

    @Test func anAccountOfItsOwnIsNotGivenUpForAnOldOne() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(60), "vault")])
        world.pass(.seconds(20))
        _ = world.order(.stop, "backup")
        world.handle(.reload(Roster([heir])))
        #expect(world.show("vault").accrued == .seconds(20) && world.show("vault").phase == .armed)
    }

    @Test func aPreviewChangesNothing() {
        var world = World()
        world.load([.every(.seconds(60)), .every(.seconds(90), "other")])
        world.pass(.seconds(20))
        let before = world.agenda.snapshot(at: world.now)
        let preview = world.agenda.preview(
            Roster([.every(.seconds(60)), .every(.seconds(91), "other")]), at: world.now)
        #expect(preview.kept.map(\.job) == ["backup"] && preview.changed.map(\.job) == ["other"])
        #expect(world.agenda.snapshot(at: world.now) == before)
    }
}
