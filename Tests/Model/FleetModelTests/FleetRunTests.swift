// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import Testing
import TimerCore
import TimerFleet

/// Which runs one member makes of firings that were missed, that failed, and of claims whose fate
/// is not known.
@Suite struct FleetRunTests {
    private static func formed(_ jobs: [FleetJob]) -> FleetScript {
        var script = FleetScript(jobs)
        script.form()
        return script
    }

    /// The instant that is this many seconds after the script began.
    private func second(_ seconds: Int64) -> WallInstant {
        WallInstant(microsecondsSinceEpoch: Simulation.wallStart + seconds * 1_000_000)
    }

    /// The first claim that was sent, which is then on its way.
    private func takeClaim(_ script: inout FleetScript) throws -> (Int, FleetTransaction) {
        let index = try #require(
            script.sent.firstIndex { sent in
                sent.transaction.compares.contains {
                    if case .lease = $0 { true } else { false }
                }
            })
        let (id, transaction) = script.sent.remove(at: index)
        return (id, transaction)
    }

    // MARK: - Claims whose fate is not known

    @Test func theClaimOfAnotherMachineIsNotTakenForTheOwnOne() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        script.pass(.seconds(3))
        script.handle(.tick)
        let (id, transaction) = try takeClaim(&script)
        // Another machine claims the same slot, and the answer to this machine is lost.
        var changes: [FleetKey: String] = [:]
        for case .put(let key, let text, _) in transaction.branches[0].changes {
            changes[key] = text
            if case .run = key {
                var value = try RunValue(text: text)
                value.machine = FleetScript.web2
                value.nonce = "other"
                changes[key] = value.text
            }
        }
        script.write(changes)
        script.handle(.unknown(id))
        script.settle()
        #expect(script.started.isEmpty && script.recorded.isEmpty)
        #expect(try script.runs().map(\.value.machine) == [FleetScript.web2])
    }

    @Test func aClaimThatWasAppliedAndNotAnsweredIsStartedOnce() throws {
        var script = Self.formed([try FleetScript.calendarJob()])
        script.pass(.seconds(3))
        script.handle(.tick)
        let (id, transaction) = try takeClaim(&script)
        _ = script.store.apply(transaction)
        script.handle(.unknown(id))
        script.settle()
        #expect(script.started == (try script.runs().map(\.id)) && script.started.count == 1)
    }

    /// After a claim without a start the daemon ends, and starts in this boot.
    @Test(arguments: [1, 2]) func aClaimIsStartedAgainOnlyInItsBoot(boot: Int) throws {
        var job = try FleetScript.calendarJob()
        job.schedule = .wall(WallSchedule([.at(second(10))]))
        var script = Self.formed([job])
        script.records = false
        script.run(.seconds(4))
        let run = try #require(try script.runs().first)
        #expect(run.value.state == .claimed && script.started.isEmpty)
        // The record was not on the disk when the power failed, or it was.
        for rows in [[:], script.rows] {
            script.rows = rows
            var next = script.restarted([job], boot: boot, start: 2)
            next.settle()
            next.run(.seconds(12))
            let value = try #require(try next.runs().first { $0.id == run.id }?.value)
            #expect(next.started == (boot == 1 ? [run.id] : []))
            #expect(value.state == (boot == 1 ? .claimed : .lost))
        }
    }

    @Test func nothingIsStartedInACopyThatWasRestored() throws {
        let job = try FleetScript.calendarJob()
        var script = Self.formed([job])
        script.run(.seconds(30))
        #expect(!script.started.isEmpty)
        var copy = SimulatedStore()
        copy.restore(script.store, cluster: "c2")
        script.store = copy
        // A machine that knows the fleet, and one that never saw it.
        var known = script.restarted([job], boot: 1, start: 2)
        var new = FleetScript([job], store: copy, at: script.now.wall, boot: 2)
        for _ in 0..<2 {
            known.run(.seconds(20))
            new.run(.seconds(20))
        }
        #expect(known.started.isEmpty && new.started.isEmpty)
        #expect(known.notices == [.guarded(.foreign)] && new.notices == [.guarded(.foreign)])
        // A user accepts it. Nothing that was due before that is started, and nothing at all until the
        // hold ends that says that no machine remembers what was paused.
        let adopted = new.now.wall
        new.handle(.command(1, .adopt))
        new.run(.seconds(30))
        #expect(new.started.isEmpty)
        new.handle(.command(2, .release(by: "ops")))
        new.run(.seconds(30))
        #expect(!new.started.isEmpty)
        #expect(new.started.allSatisfy { $0.firing.scheduled > adopted })
    }

    @Test func whatWasMissedBeforeAnAdoptionIsOnOneRecord() throws {
        var job = try FleetScript.calendarJob()
        job.policy.onMissed = .runAll
        var script = Self.formed([job])
        script.handle(.command(1, .drain))
        script.run(.seconds(1100))
        var identity = try IdentityValue(
            text: try #require(script.store.keys[.identity]).value)
        identity.epoch += 1
        identity.adopted = script.now.wall
        script.write([.identity: identity.text])
        script.settle()
        script.handle(.command(2, .undrain))
        script.run(.seconds(30))
        let runs = try script.runs()
        #expect(runs.filter { $0.value.reason == .adopted }.count == 1)
        #expect((runs.first?.value.missed ?? 0) >= 105 && runs.first?.value.reason == .adopted)
        #expect(!script.started.isEmpty)
        #expect(script.started.allSatisfy { $0.firing.scheduled > identity.adopted })
    }

    // MARK: - Retries

    /// Which attempts are made of a firing, if each of them ends so: (outcomes, retries, attempts).
    @Test(
        arguments: [
            ([.exited(0)], 2, 1), ([.exited(1), .exited(0)], 2, 2),
            ([.exited(1), .exited(1), .exited(1), .exited(1)], 2, 3), ([.exited(1)], 0, 1),
            ([.exited(4)], 2, 1), ([.stopped], 2, 1), ([.timedOut, .exited(0)], 1, 2),
            ([.signalled("SIGTERM")], 2, 1), ([.signalled("SIGKILL"), .exited(0)], 1, 2),
            ([.exited(75)], 2, 1), ([.skipped(.exit(75))], 2, 1),
            ([.exited(1), .skipped(.condition("ac-power"))], 2, 2),
        ] as [([RunOutcome], Int, Int)])
    func aFailedRunIsRetried(outcomes: [RunOutcome], retries: Int, attempts: Int) throws {
        var job = try FleetScript.calendarJob()
        job.schedule = .wall(WallSchedule([.at(second(20))]))
        job.policy.retry.retries = retries
        job.success = SuccessExitStatus(exitCodes: [0, 4], signals: ["SIGTERM"])
        job.skipExitCodes = [75]
        var script = Self.formed([job])
        script.run(.seconds(15))
        for index in 0..<attempts {
            #expect(script.started.count == index + 1)
            script.end(script.started[index], outcomes[index])
            // The delays are 10 s and 20 s.
            script.run(.seconds(index == 0 ? 9 : 19))
            #expect(script.started.count == index + 1)
            script.run(.seconds(2))
        }
        script.run(.seconds(60))
        #expect(script.started.map(\.attempt) == Array(1...attempts))
        #expect(Set(script.started.map(\.firing)).count == 1)
    }

    @Test(arguments: [0, 1, 2]) func aLostRunIsRetriedAsOftenAsTheJobSays(retries: Int) throws {
        var job = try FleetScript.calendarJob()
        job.schedule = .wall(WallSchedule([.at(second(20))]))
        job.retriesOfLost = retries
        var script = Self.formed([job])
        script.run(.seconds(15))
        for attempt in 1...4 where script.started.count == attempt {
            // The machine loses power, and nothing is known of the run.
            let started = script.started
            script = script.restarted([job], boot: attempt + 1, start: Int64(attempt + 1))
            script.started = started
            script.run(.seconds(30))
        }
        #expect(script.started.map(\.attempt) == Array(1...(retries + 1)))
        #expect(try script.runs().allSatisfy { $0.value.state == .lost })
    }

    @Test func aPauseDelaysARetry_andANewerFiringTakesItsPlace() throws {
        var job = try FleetScript.calendarJob()
        let later = second(200)
        job.schedule = .wall(WallSchedule([.at(second(20)), .at(later)]))
        job.policy.retry.retries = 3
        var script = Self.formed([job])
        script.run(.seconds(15))
        script.end(script.started[0], .exited(1))
        script.handle(.command(1, .pause(job.name, PauseTerms(by: "ops"))))
        script.run(.seconds(30))
        #expect(script.started.count == 1)
        script.handle(.command(2, .resume(job.name)))
        script.run(.seconds(2))
        #expect(script.started.map(\.attempt) == [1, 2])
        script.end(script.started[1], .exited(1))
        job.policy.retry.delay = .seconds(600)
        script.handle(.configured([job], isReload: false))
        script.run(.seconds(200))
        #expect(script.started.map(\.firing.scheduled).last == later)
        #expect(script.started.map(\.attempt) == [1, 2, 1])
    }

    // MARK: - Missed firings

    /// Nothing is claimed for some seconds; each run ends 1 s after its start.
    private func catchUp(_ job: FleetJob, after away: Int64) throws -> FleetScript {
        var script = Self.formed([job])
        script.handle(.command(1, .drain))
        for _ in 0..<(away / 500) { script.run(.seconds(500)) }
        script.run(.seconds(away % 500))
        script.handle(.command(2, .undrain))
        var ended = script.started.count
        for _ in 0..<240 {
            script.run(.milliseconds(500))
            #expect(script.started.count <= ended + 1)
            if script.started.count > ended {
                script.end(script.started[ended], .exited(0))
                ended += 1
            }
        }
        return script
    }

    @Test(arguments: [true, false]) func eachMissedFiringHasARunOfItsOwn(forbids: Bool) throws {
        var job = try FleetScript.calendarJob()
        job.policy.concurrency = forbids ? .forbid : .allow
        job.policy.onMissed = .runAll
        let script = try catchUp(job, after: 60)
        let slots = script.started.map { $0.firing.scheduled.microsecondsSinceEpoch / 1_000_000 }
        let first = try #require(slots.first)
        #expect(
            slots == (0..<Int64(slots.count)).map { first + $0 * 10 } && slots.count >= 15,
            "\(slots.map { $0 - first })")
        #expect(try script.runs().allSatisfy { $0.value.missed == 0 })
    }

    @Test func eachMissedIntervalHasARunOfItsOwn() throws {
        var job = FleetJob(FleetScript.job, definition: "d1", schedule: .every(.seconds(10)))
        job.policy.onMissed = .runAll
        let script = try catchUp(job, after: 60)
        #expect((16...20).contains(script.started.count), "\(script.started.count)")
        let value = try #require(try script.jobValue())
        #expect(value.firings == script.started.count && value.accrued < .seconds(10))
        // No active time is lost or gained.
        #expect(value.active == value.accrued + .seconds(10) * Int(value.firings))
    }

    @Test func atMostAHundredMissedFiringsAreCaughtUp() throws {
        var job = try FleetScript.calendarJob()
        job.policy.onMissed = .runAll
        let script = try catchUp(job, after: 1500)
        let skipped = try script.runs().filter { $0.value.reason == .missed }
        #expect(skipped.isEmpty, "it is removed with the older runs")
        let slots = script.started.map { $0.firing.scheduled.microsecondsSinceEpoch / 1_000_000 }
        // 120 s of two runs a second; all that was due until now is accounted for in order.
        #expect(slots.count >= 100 && slots == slots.sorted())
        let span = try #require(slots.last) - (try #require(slots.first))
        #expect(span == Int64(slots.count - 1) * 10)
        let age = script.now.wall - (try #require(script.started.first)).firing.scheduled
        #expect(age >= .seconds(990) && age <= .seconds(1130), "\(age)")
    }

    /// What is skipped for another reason does not count as skipped on request.
    @Test func aFiringThatIsTooOldIsNotSkippedOnRequest() throws {
        var job = try FleetScript.calendarJob()
        job.policy.startingDeadline = .seconds(2)
        var script = Self.formed([job])
        for run in script.started { script.end(run, .exited(0)) }
        script.handle(.command(1, .skipNext(job.name, 1)))
        script.handle(.command(2, .drain))
        // All that is due is as old as the last of it, which is 5 s old or a little more.
        let last = script.now.wall.microsecondsSinceEpoch / 1_000_000 % 10
        script.run(.seconds(25 - last))
        script.handle(.command(3, .undrain))
        for _ in 0..<6 where try script.runs().isEmpty { script.run(.milliseconds(500)) }
        let skipped = try #require(try script.runs().last)
        #expect(skipped.value.reason == .deadline && skipped.value.missed == 1)
        #expect(try script.jobValue()?.skips == 1)
        let count = script.started.count
        script.run(.seconds(10))
        #expect(try script.runs().last?.value.reason == .byOrder)
        #expect(try script.jobValue()?.skips == 0 && script.started.count == count)
    }

    // MARK: - Forgetting

    @Test func aJobIsForgottenWhenNoMachineHasIt_andItsCursorStays() throws {
        let job = try FleetScript.calendarJob()
        var script = Self.formed([job])
        script.run(.seconds(10))
        script.handle(.command(1, .forget(job.name)))
        script.settle()
        let refusal = try #require(script.done[1] ?? nil)
        #expect(refusal == "report is configured on web1; remove it there, reload, and try again")
        script.handle(.configured([], isReload: true))
        script.settle()
        let run = try #require(script.started.first)
        script.handle(.command(2, .forget(job.name)))
        script.settle()
        #expect(
            (script.done[2] ?? nil)
                == "the run \(run) on web1 is not over; try again when it is")
        script.end(run, .exited(0))
        let cursor = try #require(try script.jobValue()).cursor
        script.handle(.command(3, .forget(job.name)))
        script.settle()
        #expect(script.done[3] == .some(nil))
        #expect(try script.runs().isEmpty)
        let forgotten = try #require(try script.jobValue())
        #expect(forgotten.isForgotten && forgotten.cursor == cursor)
        script.handle(.command(4, .forget(Job.Name("other")!)))
        #expect((script.done[4] ?? nil) == "the fleet has no job other")
        // The name comes back, also without a reload.
        script.handle(.configured([job], isReload: false))
        script.run(.seconds(15))
        #expect(try script.jobValue()?.definition == job.definition)
        #expect(script.started.count > 1)
        #expect(script.started.dropFirst().allSatisfy { $0.firing.scheduled > cursor })
    }
}
