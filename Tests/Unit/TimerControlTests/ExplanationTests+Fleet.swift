// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// The explanation of `why` for a job that a fleet shares.
extension ExplanationTests {
    private func shared(
        _ basis: TimeBasis = .active, _ change: (inout FleetJobView) -> Void
    ) throws -> WhyReply {
        var job = Job(
            name: Job.Name("backup")!, command: .shell("x"), schedule: .every(.seconds(3600)))
        job.fleet = FleetPolicy()
        job.count = basis
        let machine = Machine([job])
        var snapshot = try #require(machine.agenda.snapshot(of: job.name, at: machine.now))
        var view = FleetJobView(
            next: machine.now.wall + .seconds(60), active: .zero, accrued: .zero, firings: 0,
            skips: 0)
        view.machines = [MachineName("web2")!, MachineName("web1")!]
        change(&view)
        snapshot.show(view)
        return WhyReply(
            job: "backup", now: machine.now.wall.rfc3339Micros, status: JobStatus(snapshot),
            rejection: nil, activeRuns: 0, maxConcurrent: 64
        ).explained
    }

    private func codes(_ reply: WhyReply) -> [String] { reply.reasons.map(\.code) }

    @Test func itNamesTheMachineOfTheNextRun() throws {
        let reply = try shared { _ in }
        // How long it is until then would soon be wrong: whoever shows it computes it from `at`.
        let next = try #require(reply.reasons.first { $0.code == "next-run" })
        let at = try #require(next.at)
        #expect(next.text == "It runs next at \(at), counting active time.")
        #expect(codes(reply).prefix(2) == ["fleet-machines", "next-run"])
        #expect(
            reply.reasons[0].text
                == "Its next run starts on web2; if that fails, the next in this order takes over: web1."
        )
        let none = try shared { $0.machines = [] }
        #expect(none.reasons[0].text.hasPrefix("No machine that is connected may start it"))
    }

    @Test func itSaysWhichTimeCounts() throws {
        let reasons = try shared { _ in }.reasons
        #expect(
            reasons.first { $0.code == "time-basis" }?.text
                == "Its time does not count while timerd runs on no machine of the fleet.")
        #expect(reasons[1].text.contains("counting active time"))
        let all = try shared(.wall) { _ in }.reasons
        #expect(!all.contains { $0.code == "time-basis" })
        #expect(all[1].text.contains("counting wall-clock time"))
    }

    @Test func itSaysWhatKeepsTheFleetFromRunningIt() throws {
        let reply = try shared { view in
            (view.isStale, view.isDrifted) = (true, true)
            view.hold = Pause(
                since: WallInstant(secondsSinceEpoch: 1_795_000_000), by: .user("ada"))
        }
        #expect(codes(reply).prefix(3) == ["fleet-away", "fleet-held", "fleet-drifted"])
        #expect(reply.reasons[1].text.contains(" by ada; `timerctl fleet release`"))
        #expect(reply.reasons[2].text.contains("`timerctl fleet define backup`"))
        // What was due next may be past when the connection is back.
        #expect(reply.status?.next == nil)
    }

    @Test func itSaysWhatOtherVersionsAndWrongClocksDo() throws {
        let reply = try shared { view in
            view.fault = "job/backup: unknown member 'zzz'"
            view.accountedUntil = WallInstant(secondsSinceEpoch: 1_795_000_000)
        }
        #expect(codes(reply).prefix(2) == ["fleet-unreadable", "fleet-clock-ahead"])
        #expect(reply.reasons[0].text.contains("job/backup: unknown member 'zzz'"))
        #expect(reply.reasons[1].at?.hasPrefix("2026-11-18T") == true)
        #expect(reply.status?.fleet?.problem == "job/backup: unknown member 'zzz'")
    }

    @Test func itShowsTheRunsOfOtherMachines() throws {
        func run(_ second: Int64, _ state: String) -> FleetJobView.MachineRun {
            var run = FleetJobView.MachineRun(
                run: Run.ID(
                    firing: Firing.ID(
                        job: Job.Name("backup")!,
                        scheduled: WallInstant(secondsSinceEpoch: 1_795_000_000 + second))),
                machine: MachineName("web2")!, state: state)
            run.began = WallInstant(secondsSinceEpoch: 1_795_000_000 + second)
            return run
        }
        let reply = try shared { view in
            var last = run(0, "lost")
            (last.outcome, last.hasFailed) = (.lost(.machine), true)
            last.ended = WallInstant(secondsSinceEpoch: 1_795_000_005)
            view.last = last
            view.live = [run(10, "began")]
        }
        let texts = reply.reasons.map(\.text)
        #expect(texts.contains { $0.contains("has been running on web2 since") })
        #expect(
            texts.contains {
                $0.contains("was on web2 lost: its machine disappeared from the fleet")
            })
        #expect(reply.status?.last?.failed == true && reply.status?.running.count == 1)
    }

    /// Before the fleet was reached for the first time.
    @Test func ofAJobOfWhichNothingIsKnownItSaysThat() throws {
        var job = Job(
            name: Job.Name("backup")!, command: .shell("x"), schedule: .every(.seconds(3600)))
        job.fleet = FleetPolicy()
        let machine = Machine([job])
        var snapshot = try #require(machine.agenda.snapshot(of: job.name, at: machine.now))
        snapshot.show(nil)
        let reply = WhyReply(
            job: "backup", now: machine.now.wall.rfc3339Micros, status: JobStatus(snapshot),
            rejection: nil, activeRuns: 0, maxConcurrent: 64
        ).explained
        #expect(codes(reply).first == "fleet-away")
    }
}
