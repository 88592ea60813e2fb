// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerCore

/// Jobs that a command creates, that run once, and that are then removed.
@Suite struct OneOffTests {
    private static let start = WallInstant(rfc3339: "2026-11-22T12:00:00Z")!
    private static let name: Job.Name = "restic-1"
    private static let configured = Job(
        name: "backup", command: .shell("true"), schedule: .every(.seconds(3600)))

    private static func now(_ seconds: Int64) -> Now {
        Now(
            wall: start + .seconds(seconds),
            awake: AwakeInstant(nanoseconds: (1000 + seconds) * 1_000_000_000),
            boot: BootInstant(nanoseconds: (1000 + seconds) * 1_000_000_000),
            bootID: BootID(String(repeating: "0", count: 32))!)
    }

    private static func job(at seconds: Int64, named name: Job.Name = name) -> Job {
        var job = Job(
            name: name, command: .arguments(["restic", "prune"]),
            schedule: .wall(WallSchedule([.at(start + .seconds(seconds))])))
        job.isOneOff = true
        return job
    }

    private static func agenda(
        _ jobs: [Job] = [configured], records: [JobRecord] = [], instance: Int64 = 1, at now: Now
    ) -> (Agenda, [Action]) {
        Agenda.load(
            JobSet(jobs), RecoveredState(instance: instance, records: records),
            concurrentRunsMax: 8,
            seed: 0, at: now)
    }

    private func runs(_ actions: [Action]) -> [Run] {
        actions.flatMap { action -> [Run] in
            if case .begin(let runs, _, _) = action { runs } else { [] }
        }
    }

    private func records(_ actions: [Action]) -> [JobRecord] {
        actions.flatMap { action -> [JobRecord] in
            switch action {
            case .storeJobSet(let change, _): change.records
            case .save(let records, _): records
            case .begin(_, _, let records): records
            default: []
            }
        }
    }

    @Test func isSavedBeforeItIsAnswered_andRunsOnce() throws {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        let made = agenda.handle(.include(Self.job(at: 60)), at: Self.now(1))
        guard case .storeJobSet(let change, durable: true)? = made.first else {
            Issue.record("\(made)")
            return
        }
        #expect(change.records.map(\.job) == [Self.name])
        #expect(made.contains(.armAt(Self.name, Self.start + .seconds(60))))
        #expect(agenda.oneOffs == 1 && agenda.jobCount == 2)
        let fired = agenda.handle(.wake(Self.name), at: Self.now(60))
        let run = try #require(runs(fired).first)
        #expect(run.firing.missed == 0)
        _ = agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: Self.now(70))
        #expect(agenda.snapshot(of: Self.name, at: Self.now(70))?.phase == .finished)
        #expect(runs(agenda.handle(.wake(Self.name), at: Self.now(80))).isEmpty)
    }

    /// Loading took a moment, or the daemon was killed before it loaded the job.
    @Test func runsIfItsTimeHasPassedWhenItIsLoaded() throws {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        _ = agenda.handle(.include(Self.job(at: 10)), at: Self.now(11))
        #expect(runs(agenda.handle(.wake(Self.name), at: Self.now(11))).count == 1)
        var (later, actions) = Self.agenda([Self.job(at: 10)], at: Self.now(3600))
        actions += later.handle(.wake(Self.name), at: Self.now(3600))
        #expect(runs(actions).count == 1)
    }

    @Test func runsOnceLateIfTheDaemonWasDown() throws {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        let made = agenda.handle(.include(Self.job(at: 60)), at: Self.now(1))
        var (later, actions) = Self.agenda(
            [Self.configured, Self.job(at: 60)], records: records(made), instance: 2,
            at: Self.now(600))
        actions += later.handle(.wake(Self.name), at: Self.now(600))
        let late = runs(actions)
        #expect(late.count == 1)
        _ = later.handle(.ended(late[0].id, .exited(0), RunUsage()), at: Self.now(601))
        // It does not run a second time, whether its definition still exists or not.
        let saved = records(actions)
        var (last, more) = Self.agenda(
            [Self.job(at: 60)], records: saved, instance: 3, at: Self.now(700))
        more += last.handle(.wake(Self.name), at: Self.now(700))
        #expect(runs(more).isEmpty)
    }

    @Test func aNameCanBeUsedAgain() throws {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        _ = agenda.handle(.include(Self.job(at: 10)), at: Self.now(1))
        let run = try #require(runs(agenda.handle(.wake(Self.name), at: Self.now(10))).first)
        _ = agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: Self.now(11))
        #expect(agenda.handle(.include(Self.job(at: 30)), at: Self.now(12)).isEmpty)
        _ = agenda.handle(.exclude([Self.name]), at: Self.now(12))
        #expect(agenda.oneOffs == 0 && agenda.jobCount == 1)
        _ = agenda.handle(.include(Self.job(at: 30)), at: Self.now(13))
        #expect(runs(agenda.handle(.wake(Self.name), at: Self.now(30))).count == 1)
    }

    /// If a crash prevented the removal of the definition, it still exists when the daemon starts.
    @Test func aFinishedJobDoesNotRunAgainIfItsDefinitionStillExists() throws {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        _ = agenda.handle(.include(Self.job(at: 10)), at: Self.now(1))
        let run = try #require(runs(agenda.handle(.wake(Self.name), at: Self.now(10))).first)
        _ = agenda.handle(.ended(run.id, .exited(0), RunUsage()), at: Self.now(11))
        let gone = agenda.handle(.exclude([Self.name]), at: Self.now(12))
        var (later, actions) = Self.agenda(
            [Self.job(at: 10)], records: records(gone), instance: 2, at: Self.now(20))
        actions += later.handle(.wake(Self.name), at: Self.now(20))
        #expect(runs(actions).isEmpty)
        #expect(later.snapshot(of: Self.name, at: Self.now(20))?.phase == .finished)
    }

    @Test func onlyOneOffJobsAreRemoved_andOnlyThose() {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        let others = ["x-1", "x-2", "x-3"] as [Job.Name]
        for name in others {
            _ = agenda.handle(.include(Self.job(at: 60, named: name)), at: Self.now(1))
        }
        #expect(
            agenda.handle(.exclude([Self.configured.name, Self.name]), at: Self.now(2)).isEmpty)
        let actions = agenda.handle(.exclude([others[1]]), at: Self.now(2))
        #expect(actions.contains(.disarm(others[1])))
        #expect(agenda.names == [Self.configured.name, others[0], others[2]])
        // The slot is used again.
        _ = agenda.handle(.include(Self.job(at: 90, named: Self.name)), at: Self.now(3))
        #expect(agenda.names == [Self.configured.name, others[0], others[2], Self.name])
        #expect(runs(agenda.handle(.wake(others[0]), at: Self.now(60))).count == 2)
    }

    @Test func isShownForADayAfterItEnded() throws {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        _ = agenda.handle(.include(Self.job(at: 10)), at: Self.now(1))
        let day: Int64 = 86_400
        #expect(agenda.expiredOneOffs(at: Self.now(1).wall).next == Self.now(10 + day).wall)
        let run = try #require(runs(agenda.handle(.wake(Self.name), at: Self.now(10))).first)
        _ = agenda.handle(.began(run.id, at: Self.now(10).wall), at: Self.now(10))
        // Its run is active for two days.
        let end = 10 + 2 * day
        #expect(agenda.expiredOneOffs(at: Self.now(end).wall).jobs.isEmpty)
        _ = agenda.handle(
            .ended(run.id, .exited(0), RunUsage(elapsed: .seconds(2 * day))), at: Self.now(end))
        #expect(agenda.expiredOneOffs(at: Self.now(end + day - 1).wall).jobs.isEmpty)
        #expect(agenda.expiredOneOffs(at: Self.now(end + day).wall).jobs == [Self.name])
    }

    @Test func aNumberIsFoundForItsName() {
        var (agenda, _) = Self.agenda(at: Self.now(0))
        for number in 1...40 {
            let name = agenda.freeName("restic")
            #expect(name?.description == "restic-\(number)")
            guard let name else { return }
            _ = agenda.handle(.include(Self.job(at: 60, named: name)), at: Self.now(1))
        }
        // Its history still exists, so its number is not free.
        _ = agenda.handle(.exclude([Job.Name("restic-7")]), at: Self.now(2))
        #expect(agenda.freeName("restic") == Job.Name("restic-41"))
    }
}
