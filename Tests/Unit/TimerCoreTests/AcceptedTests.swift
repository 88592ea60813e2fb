// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Testing

@testable import TimerCore

/// Calculations with any accepted number do not overflow, which would end the daemon.
@Suite struct AcceptedTests {
    @Test func numbersOutsideTheirRangesAreRefused() {
        let wall = Accepted.wallMicroseconds
        #expect(WallInstant(kept: wall.lowerBound)?.basicISO8601 == "00010101T000000.000000Z")
        #expect(WallInstant(kept: wall.upperBound)?.basicISO8601 == "99991231T235959.999999Z")
        #expect(WallInstant(kept: wall.lowerBound - 1) == nil)
        #expect(WallInstant(kept: wall.upperBound + 1) == nil)
        #expect(WallInstant(kept: .max) == nil && WallInstant(kept: .min) == nil)
        #expect(AwakeInstant(kept: -1) == nil && AwakeInstant(kept: 1 << 62) != nil)
        #expect(BootInstant(kept: (1 << 62) + 1) == nil)
        #expect(Duration(keptNanoseconds: -1) == nil && Duration(keptNanoseconds: .max) != nil)
        #expect(Int(kept: -1) == nil && Int(kept: .max) == nil && Int(kept: 7) == 7)
    }

    /// The result of a calculation with accepted numbers is written so that it is accepted when it
    /// is read again.
    @Test func writtenNumbersAreAcceptedWhenTheyAreRead() {
        for microseconds in [Int64.min, -1, 0, 1, .max] {
            let instant = WallInstant(microsecondsSinceEpoch: microseconds).keepable
            #expect(WallInstant(kept: instant.microsecondsSinceEpoch) == instant)
        }
        for count in [Int.min, 0, 5, .max] { #expect(Int(kept: count.keepable) != nil) }
    }

    @Test(arguments: [
        (Int64.min, "19700101T000000.000000Z"), (-1, "19700101T000000.000000Z"),
        (0, "19700101T000000.000005Z"), (9_214_646_399, "22611231T235959.000005Z"),
        (9_214_646_400, "22611231T235959.999999Z"), (.max, "22611231T235959.999999Z"),
    ])
    func aClockOutsideItsRangeReadsAsTheNearestInstant(seconds: Int64, text: String) {
        #expect(WallInstant(clockSeconds: seconds, nanoseconds: 5000).basicISO8601 == text)
    }

    @Test func arithmeticBeyondTheRangeGivesTheNearestInstant() {
        let (first, last) = (Int64.min, Int64.max)
        let spans: [Duration] = [.seconds(last), .seconds(first), .nanoseconds(last), .zero]
        for number in [first, first + 1, -1, 0, 1, last - 1, last] {
            for span in spans {
                _ = WallInstant(microsecondsSinceEpoch: number) + span
                _ = WallInstant(microsecondsSinceEpoch: number) - span
                _ = AwakeInstant(nanoseconds: number) + span
                _ = CountedInstant(nanoseconds: number) + span
            }
            for other in [first, 0, last] {
                let gap =
                    WallInstant(microsecondsSinceEpoch: number)
                    - WallInstant(microsecondsSinceEpoch: other)
                #expect((gap < .zero) == (number < other))
                _ = AwakeInstant(nanoseconds: number) - AwakeInstant(nanoseconds: other)
                _ = BootInstant(nanoseconds: number) - BootInstant(nanoseconds: other)
                _ = CountedInstant(nanoseconds: number) - CountedInstant(nanoseconds: other)
            }
        }
        #expect(
            (WallInstant(microsecondsSinceEpoch: .max) + .seconds(1)).microsecondsSinceEpoch == .max
        )
        #expect(
            (WallInstant(microsecondsSinceEpoch: .min) - .seconds(1)).microsecondsSinceEpoch == .min
        )
    }

    /// Loads all kinds of accepted rows with all kinds of configurations and runs them with all
    /// kinds of clocks. A trap ends the test.
    @Test func noAcceptedRowsOverflowInAnAgenda() throws {
        var random = SeededRandom()
        let asked =
            ProcessInfo.processInfo.environment["TIMERD_TEST_CASES"].flatMap { Int($0) }
        // Unless the environment sets the number of cases, the test runs as many as fit into its
        // time.
        let deadline = ContinuousClock.now + .seconds(4)
        for _ in 0..<(asked ?? 1000) where asked != nil || ContinuousClock.now < deadline {
            var draw = AcceptedDraw(random: random)
            try draw.drive()
            random = draw.random
        }
    }

    /// At the end of the clock's range two firings have the same instant. Of two runs with one identity
    /// the second was started again and again, until the memory was full.
    @Test func twoRunsOfOneIdentityEndTheSearchForThoseThatMayStart() throws {
        var job = Job(name: "a", command: .shell("true"), schedule: .every(.seconds(60)))
        job.policy.concurrency = .queue
        let last = WallInstant(microsecondsSinceEpoch: Accepted.scheduledMicroseconds.upperBound)
        let firing = Firing(id: Firing.ID(job: "a", scheduled: last), missed: 0, active: .zero)
        let runs = [true, false].map { isReleased in
            RecoveredState.OpenRun(
                id: Run.ID(firing: firing.id, attempt: 1), firing: firing, bootID: World.bootID(1),
                isReleased: isReleased, isLive: isReleased)
        }
        var past = RecoveredState(instance: 2, records: [])
        past.openRuns = runs
        let world = World()
        var (agenda, _) = Agenda.load(
            JobSet([job]), past, concurrentRunsMax: 4, seed: 1, at: world.now)
        #expect(agenda.liveRuns > 0)
        job.policy.concurrency = .allow
        _ = agenda.handle(.reload(JobSet([job])), at: world.now)
        #expect(!agenda.isReloading)
    }

    /// These rows led to a second retry of one identity, which was due again and again in one
    /// wake-up, until the memory was full.
    @Test func aRunHasOneRetryOfEachIdentity() throws {
        var draw = AcceptedDraw(random: SeededRandom(seed: 11_619_716_780_685_394_578))
        for _ in 0..<30 { try draw.drive() }
    }
}

/// Random rows, configurations and readings of the clocks, mostly at the ends of their ranges.
private struct AcceptedDraw {
    var random: SeededRandom

    private mutating func any(_ range: ClosedRange<Int64>) -> Int64 {
        let near = Int64(random.int(below: 3))
        switch random.int(below: 6) {
        case 0: return range.lowerBound + near
        case 1: return range.upperBound - near
        case 2: return max(range.lowerBound, min(range.upperBound, near))
        default:
            // The shift produces numbers of all orders of magnitude.
            let number = Int64(bitPattern: random.next()) >> Int64(random.int(below: 63))
            return max(range.lowerBound, min(range.upperBound, number))
        }
    }

    private mutating func chance(_ one: Int) -> Bool { random.int(below: one) == 0 }

    private mutating func wall() -> WallInstant {
        WallInstant(microsecondsSinceEpoch: any(Accepted.wallMicroseconds))
    }

    private mutating func scheduled() -> WallInstant {
        WallInstant(microsecondsSinceEpoch: any(Accepted.scheduledMicroseconds))
    }

    private mutating func span() -> Duration { .nanoseconds(any(Accepted.spanNanoseconds)) }

    private mutating func count() -> Int { Int(any(Accepted.count)) }

    private mutating func boot() -> BootID { World.bootID(random.int(below: 2)) }

    private mutating func reading() -> Now {
        Now(
            wall: wall(), awake: AwakeInstant(nanoseconds: any(Accepted.bootNanoseconds)),
            boot: BootInstant(nanoseconds: any(Accepted.bootNanoseconds)), bootID: boot())
    }

    /// A span of up to a hundred years, the maximum in the configuration.
    private mutating func configured() -> Duration {
        chance(3)
            ? .seconds(100 * 365 * 86_400)
            : .milliseconds(1 + abs(any(0...3_153_600_000_000)) % 3_153_600_000_000)
    }

    private mutating func job(_ name: Job.Name) throws -> Job {
        let schedule: Schedule =
            switch random.int(below: 5) {
            case 0: .after(configured())
            case 1: .wall(WallSchedule([.cron(try CronSpec("*/20 3 * * *"), .utc)]))
            case 2: .wall(WallSchedule([.calendar(try CalendarSpec("*-02-29 02:30"), .utc)]))
            default: .every(configured())
            }
        var job = Job(name: name, command: .shell("true"), schedule: schedule)
        if chance(3) { job.first = chance(2) ? .zero : configured() }
        job.count = TimeBasis.allCases[random.int(below: 4)]
        job.paused = chance(6)
        var policy = Policy()
        policy.onMissed = Policy.Missed.allCases[random.int(below: 3)]
        policy.concurrency = Policy.Concurrency.allCases[random.int(below: 4)]
        if chance(3) { policy.onResume = Policy.Resume.allCases[random.int(below: 4)] }
        if chance(4) { policy.startingDeadline = configured() }
        if chance(4) { policy.accuracy = configured() }
        if chance(4) { policy.randomDelay = configured() }
        if chance(4) { policy.randomOffset = configured() }
        policy.retry.retries = random.int(below: 3)
        policy.retry.delay = configured()
        policy.retry.delayMax = configured()
        job.policy = policy
        return job
    }

    private mutating func record(_ name: Job.Name) -> JobRecord {
        let pause = Pause(
            since: wall(), by: chance(2) ? .configuration : .user("ada"),
            until: chance(2) ? wall() : nil, withRun: chance(2))
        let phase: Phase = [.armed, .armed, .stopped, .finished, .paused(pause)][
            random.int(below: 5)]
        return JobRecord(
            job: name, phase: phase, active: span(), accrued: span(), isCounting: chance(2),
            firings: count(), lastScheduled: chance(2) ? scheduled() : nil,
            configuredPaused: chance(2), removed: chance(4) ? wall() : nil, at: reading(),
            instance: any(Accepted.instance), basis: TimeBasis.allCases[random.int(below: 4)],
            maxLoss: span(), skips: count(), processedThrough: chance(2) ? wall() : nil,
            clockEpoch: count(), isDueThisBoot: random.int(below: 2) == 0)
    }

    private mutating func openRun(_ name: Job.Name) -> RecoveredState.OpenRun {
        let id = Run.ID(
            firing: Firing.ID(job: name, scheduled: scheduled()), attempt: max(1, count()))
        return RecoveredState.OpenRun(
            id: id, firing: Firing(id: id.firing, missed: count(), active: span()), bootID: boot(),
            isReleased: chance(2), recorded: wall(), isLive: chance(3))
    }

    /// Advances the clocks of one boot: the two monotonic clocks never decrease, and the wall clock
    /// is sometimes set.
    private mutating func move(_ now: inout Now) {
        let most = Accepted.bootNanoseconds.upperBound
        let passed = any(0...most) % (most - max(now.awake.nanoseconds, now.boot.nanoseconds) + 1)
        now.awake.nanoseconds += passed
        now.boot.nanoseconds += passed
        now.wall =
            chance(2)
            ? WallInstant(microsecondsSinceEpoch: any(Accepted.clockMicroseconds))
            : WallInstant(
                microsecondsSinceEpoch: min(
                    now.wall.microsecondsSinceEpoch + passed / 1000,
                    Accepted.clockMicroseconds.upperBound))
    }

    private mutating func event(_ jobs: [Job], _ started: [Run.ID]) throws -> Event {
        let name = jobs[random.int(below: jobs.count)].name
        switch random.int(below: 8) {
        case 0, 1: return .wake(name)
        case 2: return .clockChanged
        case 3: return .checkpoint()
        case 4:
            return .reload(JobSet(try jobs.map { chance(2) ? $0 : try job($0.name) }))
        case 5:
            guard let run = started.last else { return .wake(name) }
            return .ended(run, .exited(1), RunUsage())
        default:
            let verb = JobCommand.Verb.allCases[random.int(below: JobCommand.Verb.allCases.count)]
            let end: JobCommand.PauseEnd = chance(2) ? .at(wall()) : .after(span())
            return .command(
                JobCommand(
                    verb, name, by: .user("ada"), until: chance(2) ? end : nil,
                    withRun: chance(2), count: count()))
        }
    }

    mutating func drive() throws {
        let names: [Job.Name] = ["a", "b", "c"]
        let jobs = try names.map { try job($0) }
        let began = reading()
        var past = RecoveredState(
            instance: any(Accepted.instance), records: names.map { record($0) })
        past.openRuns = names.filter { _ in chance(3) }.map { openRun($0) }
        if chance(2) {
            past.previous = .init(
                instance: any(Accepted.instance), began: began, ended: chance(2) ? reading() : nil)
        }
        if chance(2) { past.heartbeat = Heartbeat(instance: any(Accepted.instance), at: reading()) }
        var now = reading()
        now.wall = WallInstant(microsecondsSinceEpoch: any(Accepted.clockMicroseconds))
        now.bootID = World.bootID(1)
        var (agenda, actions) = Agenda.load(
            JobSet(jobs), past, concurrentRunsMax: 2, seed: random.next(), at: now)
        var started: [Run.ID] = []
        for _ in 0..<20 {
            take(actions, &started)
            look(at: agenda, now)
            move(&now)
            actions = agenda.handle(try event(jobs, started), at: now)
        }
        take(agenda.handle(.shutdown, at: now), &started)
    }

    /// Checks that the store can keep everything that would be written.
    private func take(_ actions: [Action], _ started: inout [Run.ID]) {
        for action in actions {
            switch action {
            case .begin(let runs, let start, let records):
                for run in runs { #expect(Run.ID(run.id.description) != nil, "\(run.id)") }
                started += start.map(\.id)
                check(records)
            case .start(let runs): started += runs.map(\.id)
            case .save(let records, _): check(records)
            default: break
            }
        }
    }

    private func check(_ records: [JobRecord]) {
        for record in records {
            #expect(record.active >= .zero && record.accrued >= .zero && record.maxLoss >= .zero)
            #expect(record.firings >= 0 && record.skips >= 0 && record.clockEpoch >= 0)
        }
    }

    /// Reads the state for display, because it contains calculations too.
    private func look(at agenda: Agenda, _ now: Now) {
        for job in agenda.snapshot(at: now).jobs {
            _ = (job.next?.rfc3339, job.remaining?.wholeMicroseconds)
            _ = (job.accrued.wholeMicroseconds, job.checkpoint.rfc3339)
        }
        _ = (agenda.next(at: now)?.instant.rfc3339, agenda.nextRing(at: now))
        _ = (agenda.lateness(at: now), agenda.accounts(at: now), agenda.clocksJumped(at: now))
    }
}
