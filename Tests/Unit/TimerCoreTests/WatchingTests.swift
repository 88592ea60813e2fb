// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Which jobs must be checked for notifications, and when.
@Suite struct WatchingTests {
    private static func wall(_ second: Int64) -> WallInstant {
        WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
    }

    @Test func withoutAWatchThereIsNothingToDo() {
        var watching = Watching()
        #expect(watching.isIdle && !watching.hasJobs && watching.takeChanged().isEmpty)
        watching.begin()
        #expect(!watching.isIdle && watching.hasJobs)
        watching.setDue(3, Self.wall(10))
        #expect(watching.setTimer(isUnset: false) == .armIncidents(Self.wall(10)))
        // The timer must still be cancelled.
        watching.end(3)
        #expect(!watching.hasJobs && !watching.isIdle)
        #expect(watching.setTimer(isUnset: false) == .armIncidents(nil))
        #expect(watching.isIdle && watching.armed == nil)
    }

    @Test func aJobThatChangedIsCheckedOnce() {
        var watching = Watching()
        for slot in [5, 2, 5, 3] { watching.noteChange(slot) }
        #expect(watching.takeChanged() == [2, 3, 5])
        #expect(watching.takeChanged().isEmpty)
    }

    @Test func aJobIsCheckedWhenItsTimeHasCome_andNotForEver() {
        var watching = Watching()
        watching.setDue(1, Self.wall(10))
        watching.setDue(2, Self.wall(20))
        #expect(watching.nextDue(at: Self.wall(9)) == nil)
        #expect(watching.nextDue(at: Self.wall(10)) == 1)
        // A check that changes nothing ends too.
        watching.noteChecked(1, at: Self.wall(10))
        #expect(watching.nextDue(at: Self.wall(10)) == nil)
        #expect(watching.nextDue(at: Self.wall(11)) == 1)
        watching.setDue(1, Self.wall(30))
        watching.noteChecked(1, at: Self.wall(12))
        #expect(watching.nextDue(at: Self.wall(29)) == 2)
        watching.setDue(2, nil)
        #expect(watching.nextDue(at: Self.wall(29)) == nil)
    }

    @Test func theTimerIsSetOnce_unlessItFiredOrTheClockWasSet() {
        var watching = Watching()
        #expect(watching.setTimer(isUnset: true) == nil)
        watching.setDue(1, Self.wall(10))
        #expect(watching.setTimer(isUnset: false) == .armIncidents(Self.wall(10)))
        #expect(watching.setTimer(isUnset: false) == nil && watching.armed == Self.wall(10))
        #expect(watching.setTimer(isUnset: true) == .armIncidents(Self.wall(10)))
        watching.setDue(2, Self.wall(5))
        #expect(watching.setTimer(isUnset: false) == .armIncidents(Self.wall(5)))
    }

    @Test func storedIncidentsWaitForTheirJobs() {
        func incident(_ job: Job.Name) -> IncidentRecord {
            IncidentRecord(
                id: .init(job: job, notifier: "ops", kind: .failure), since: Self.wall(0), count: 1)
        }
        var watching = Watching()
        watching.recover([incident("old"), incident("gone"), incident("old")])
        let found = watching.takeRecovered(of: ["old", "new"], for: "new")
        #expect(found == [incident("new"), incident("new")])
        #expect(watching.takeRecovered(of: ["old"], for: "old").isEmpty)
        #expect(watching.takeOtherRecovered() == [incident("gone")])
        #expect(watching.takeOtherRecovered().isEmpty)
    }

    @Test func aJobGetsTheNotifiersThatExist() {
        let mail = Notifier(
            name: "ops", transport: .mail(to: ["root@localhost"], from: nil, contentType: nil))
        var watching = Watching()
        #expect(watching.use([mail]) && !watching.use([mail]))
        let job = Job.every(.seconds(60)).with { $0.notify = ["boss", "ops"] }
        #expect(watching.notifiers(of: job) == [mail])
        #expect(watching.use([]) && watching.notifiers(of: job).isEmpty)
    }
}
