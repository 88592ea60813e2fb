// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerZones

@testable import TimerTools

/// The agenda over simulated time.
@Suite struct SimulationTests {
    private func instant(_ text: String) -> WallInstant { WallInstant(rfc3339: text)! }

    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func job(_ name: String, _ schedule: Schedule, _ change: (inout Job) -> Void = { _ in })
        -> Job
    {
        var job = Job(name: self.name(name), command: .arguments(["true"]), schedule: schedule)
        change(&job)
        return job
    }

    /// When each job fired, by the wall clock.
    private func firings(
        _ jobs: [Job], from start: String, to end: String,
        faults: [(String, Simulation.SimulatedEvent)] = [], runTime: Duration = .zero,
        fails: Set<Job.Name> = []
    ) -> [String] {
        var fired: [String] = []
        var simulation = Simulation(
            JobSet(jobs), from: instant(start), concurrentRunsMax: 64, seed: 1,
            runTime: { _ in runTime }, fails: fails
        ) { line in
            if case .logged(.fired(let run, _, _), let at) = line {
                let missed = run.firing.missed > 0 ? " +\(run.firing.missed)" : ""
                fired.append("\(at.rfc3339) \(run.id.firing.job)\(missed)")
            }
        }
        simulation.run(until: instant(end), faults: faults.map { (instant($0.0), $0.1) })
        return fired
    }

    @Test func aDayOfAnHourlyJob() {
        let fired = firings(
            [job("a", .every(.seconds(3600)))], from: "2027-01-01T00:00:00Z",
            to: "2027-01-02T00:00:00Z")
        #expect(fired.count == 24 && fired.last == "2027-01-02T00:00:00Z a")
    }

    @Test func aPausedIntervalGoesOnWithWhatWasLeft() {
        let fired = firings(
            [job("a", .every(.seconds(3600)))], from: "2027-01-01T00:00:00Z",
            to: "2027-01-01T04:00:00Z",
            faults: [
                ("2027-01-01T00:20:00Z", .pause(name("a"))),
                ("2027-01-01T02:00:00Z", .resume(name("a"))),
            ])
        #expect(fired == ["2027-01-01T02:40:00Z a", "2027-01-01T03:40:00Z a"])
    }

    @Test func timeInWhichTheMachineSleepsOrIsOff_byItsBasis() {
        let faults: [(String, Simulation.SimulatedEvent)] = [
            ("2027-01-01T00:10:00Z", .sleep(.seconds(1800))),
            ("2027-01-01T01:00:00Z", .reboot(.seconds(3600))),
        ]
        for (basis, expected) in [
            (TimeBasis.active, "2027-01-01T02:30:00Z a"), (.boottime, "2027-01-01T01:00:00Z a"),
            (.wall, "2027-01-01T01:00:00Z a"),
        ] {
            let fired = firings(
                [job("a", .every(.seconds(3600))) { $0.count = basis }],
                from: "2027-01-01T00:00:00Z",
                to: "2027-01-01T02:31:00Z", faults: faults)
            #expect(fired.first == expected, "\(basis)")
        }
    }

    @Test func onceInEachBoot() throws {
        let reboot = WallSchedule([.cron(try CronSpec("@reboot"), .utc)])
        let fired = firings(
            [job("a", .onBoot(.seconds(600))), job("b", .wall(reboot))],
            from: "2027-01-01T00:00:00Z", to: "2027-01-01T04:00:00Z",
            faults: [
                ("2027-01-01T01:00:00Z", .reboot(.seconds(3600))),
                ("2027-01-01T02:05:00Z", .reboot(.seconds(3600))),
            ])
        #expect(
            fired == [
                "2027-01-01T00:00:00Z b", "2027-01-01T00:10:00Z a", "2027-01-01T02:00:00Z b",
                "2027-01-01T03:05:00Z b", "2027-01-01T03:15:00Z a",
            ])
    }

    @Test func aClockThatIsSet() throws {
        let schedule = WallSchedule([.cron(try CronSpec("0 * * * *"), .utc)])
        let fired = firings(
            [job("a", .wall(schedule))], from: "2027-01-01T00:30:00Z", to: "2027-01-01T04:30:00Z",
            faults: [
                ("2027-01-01T00:40:00Z", .step(.seconds(7200))),
                ("2027-01-01T03:10:00Z", .step(.seconds(-7200))),
            ])
        #expect(
            fired == [
                "2027-01-01T02:40:00Z a +1", "2027-01-01T03:00:00Z a", "2027-01-01T04:00:00Z a",
            ])
    }

    @Test func slowAndFailingRuns() {
        let slow = job("a", .every(.seconds(60)))
        #expect(
            firings(
                [slow], from: "2027-01-01T00:00:00Z", to: "2027-01-01T00:10:00Z",
                runTime: .seconds(90)
            ).count == 5)
        var attempts = 0
        let failing = job("b", .after(.seconds(60))) { $0.policy.retry.retries = 2 }
        var simulation = Simulation(
            JobSet([failing]), from: instant("2027-01-01T00:00:00Z"), concurrentRunsMax: 64,
            seed: 1,
            runTime: { _ in .seconds(1) }, fails: [name("b")]
        ) { line in
            if case .logged(.retrying, _) = line { attempts += 1 }
        }
        simulation.run(until: instant("2027-01-01T00:10:00Z"), faults: [])
        #expect(attempts == 2)
    }

    @Test func twoSimulationsOfAYearOfAHundredJobsAreEqual() throws {
        let zone = try ZoneFiles().rules(named: "Europe/Berlin")
        let jobs = try (0..<100).map { index in
            index % 2 == 0
                ? job("j\(index)", .every(.seconds(6 * 3600 + index)))
                : job(
                    "j\(index)",
                    .wall(
                        WallSchedule([
                            .cron(try CronSpec("\(index % 60) \(index % 24) * * *"), zone)
                        ]))
                ) {
                    $0.policy.randomDelay = .seconds(600)
                }
        }
        func year() -> [String] {
            firings(jobs, from: "2027-01-01T00:00:00Z", to: "2028-01-01T00:00:00Z")
        }
        let fired = year()
        // 50 jobs run every six hours and a little, and 50 once a day.
        #expect((90_000...91_500).contains(fired.count), "\(fired.count)")
        #expect(fired == year())
    }
}
