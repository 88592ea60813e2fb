// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Incidents across restarts and reloads.
extension IncidentTests {
    @Test func anIncidentContinuesOverAKill() {
        var world = world([job()], [mail(after: 2)])
        world.end(world.started[0], .exited(1))
        world.kill()
        world.load([job()])
        world.pass(.seconds(3600))
        world.end(world.started[1], .exited(1))
        #expect(world.kinds == [.failure] && world.outbox[0].failedInARow == 2)
        world.stopCleanly()
        world.load([job()])
        world.pass(.seconds(3600))
        world.end(world.started[2], .exited(1))
        #expect(world.kinds == [.failure])
        world.reboot(away: .seconds(60))
        world.load([job()])
        world.pass(.seconds(3600))
        world.end(world.started[3])
        #expect(world.kinds == [.failure, .recovery])
    }

    @Test func aRunThatIsLostIsAFailure_orIsToldAsLost() {
        for (on, kind) in [(Self.every, NotificationKind.failure), ([.lost], .lost)] {
            var world = world([job()], [mail(on)])
            world.reboot(away: .seconds(60))
            world.load([job()])
            #expect(world.kinds == [kind] && world.outbox[0].outcome == .lost(.reboot))
            world.reboot(away: .seconds(60))
            world.load([job()])
            #expect(world.kinds == [kind])
        }
    }

    @Test func aRemovedJobHasNoIncidents_andARenamedOneKeepsThem() {
        var world = world([job()], [mail()])
        world.end(world.started[0], .exited(1))
        var renamed = Job.every(.seconds(3600), "copy").with { $0.notify = ["ops"] }
        renamed.renamedFrom = "backup"
        world.handle(.reload(JobSet([renamed], notifiers: world.notifiers)))
        #expect(world.incidents.keys.map(\.job) == ["copy"])
        world.kill()
        world.load([renamed])
        #expect(world.show("copy").incidents.count == 1)
        world.pass(.seconds(3600))
        world.endRuns(.exited(1))
        #expect(world.kinds == [.failure])
        world.handle(.reload(JobSet([], notifiers: world.notifiers)))
        #expect(world.incidents.isEmpty && world.kinds == [.failure])
    }

    @Test func aJobThatIsRenamedWhileNoDaemonRunsKeepsItsIncidents_ifItStillNamesTheNotifier() {
        for notify in [["ops"], []] as [[Notifier.Name]] {
            var world = world([job()], [mail()])
            world.end(world.started[0], .exited(1))
            world.kill()
            var renamed = Job.every(.seconds(3600), "copy").with { $0.notify = notify }
            renamed.renamedFrom = "backup"
            world.load([renamed])
            #expect(world.incidents.keys.map(\.job) == (notify.isEmpty ? [] : ["copy"]))
        }
    }

    @Test func aJobThatIsRemovedWhileNoDaemonRunsHasNoIncidents() {
        var world = world([job()], [mail()])
        world.end(world.started[0], .exited(1))
        world.kill()
        world.load([])
        #expect(world.incidents.isEmpty && world.kinds == [.failure])
    }

    @Test func aNotifierThatIsRemoved_orAsksForLess_endsItsIncidentsWithoutAMessage() {
        for notifiers in [[], [mail([.recovery, .late])]] {
            var world = world([job()], [mail()])
            world.end(world.started[0], .exited(1))
            world.handle(.reload(JobSet([job()], notifiers: notifiers)))
            #expect(world.incidents.isEmpty)
            world.pass(.seconds(3600))
            world.endRuns()
            #expect(world.kinds == [.failure])
        }
    }

    @Test func aNotifierWithAnotherAddressKeepsItsIncidents() {
        var world = world([job()], [mail()])
        world.end(world.started[0], .exited(1))
        let other = Notifier(
            name: "ops", transport: .webhook(.credential("x"), .slack), on: Self.every)
        world.handle(.reload(JobSet([job()], notifiers: [other])))
        world.pass(.seconds(3600))
        world.endRuns(.exited(1))
        world.pass(.seconds(3600))
        world.endRuns()
        #expect(world.kinds == [.failure, .recovery])
    }
}
