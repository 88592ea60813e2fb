// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// The explanation of `why` for a job in each of its states.
@Suite struct ExplanationTests {
    /// An agenda and its clocks. Runs start when the agenda starts them, and end when the test ends
    /// them.
    struct Machine {
        var agenda: Agenda
        var seconds: Int64 = 1_795_000_020
        var started: [Run] = []

        init(_ jobs: [Job], max: Int = 64) {
            let actions: [Action]
            (agenda, actions) = Agenda.load(
                JobSet(jobs), RecoveredState(instance: 1), concurrentRunsMax: max,
                at: Self.now(seconds))
            take(actions)
        }

        var now: Now { Self.now(seconds) }

        private static func now(_ seconds: Int64) -> Now {
            Now(
                wall: WallInstant(secondsSinceEpoch: seconds),
                awake: AwakeInstant(nanoseconds: seconds * 1_000_000_000),
                boot: BootInstant(nanoseconds: seconds * 1_000_000_000),
                bootID: BootID(String(repeating: "0", count: 32))!)
        }

        mutating func handle(_ event: Event) { take(agenda.handle(event, at: now)) }

        private mutating func take(_ actions: [Action]) {
            for action in actions {
                switch action {
                case .begin(_, let start, _): started += start
                case .start(let runs): started += runs
                default: break
                }
            }
        }

        /// Advances the clocks and fires the timer of the job then.
        mutating func pass(_ seconds: Int64, ring job: String = "backup") {
            self.seconds += seconds
            handle(.wake(Job.Name(job)!))
        }

        mutating func command(
            _ verb: JobCommand.Verb, note: String? = nil, until: JobCommand.PauseEnd? = nil,
            count: Int = 1
        ) {
            handle(
                .command(
                    JobCommand(
                        verb, Job.Name("backup")!, by: .user("ada"), note: note, until: until,
                        count: count)))
        }

        func why(_ job: String = "backup", rejected: Rejection? = nil) -> [String] {
            let snapshot = agenda.snapshot(of: Job.Name(job)!, at: now)
            let reply = WhyReply(
                job: job, now: now.wall.rfc3339, status: snapshot.map { JobStatus($0) },
                rejection: rejected, activeRuns: agenda.liveRuns,
                maxConcurrent: agenda.concurrentRunsMax)
            return Explanation(reply) { WallInstant(rfc3339: $0)?.rfc3339 ?? $0 }.sentences
        }
    }

    func job(
        _ schedule: Schedule = .every(.seconds(60)), _ name: String = "backup",
        _ change: (inout Policy) -> Void = { _ in }
    ) -> Job {
        var policy = Policy()
        change(&policy)
        return Job(
            name: Job.Name(name)!, command: .arguments(["true"]), schedule: schedule, policy: policy
        )
    }

    @Test func armed() {
        var machine = Machine([job()])
        machine.pass(20)
        #expect(
            machine.why()
                == [
                    "It runs next at 2026-11-18T11:08:00Z (in 40 s), after 40 s more of active time; "
                        + "20 s elapsed so far.",
                    "It has never run.",
                    "Its time does not count while the daemon is down or the machine is asleep or off.",
                ])
    }

    @Test func afterTheEndOfEachRun() throws {
        var fromEnd = job()
        fromEnd.from = .end
        var machine = Machine([fromEnd])
        machine.pass(20)
        #expect(machine.why()[0].hasPrefix("It runs next at 2026-11-18T11:08:00Z (in 40 s), after"))
        machine.pass(40)
        let run = try #require(machine.started.first)
        #expect(
            machine.why()
                == [
                    "It runs next 1 min after the end of run \(run.id).",
                    "Run \(run.id) is being started.",
                    "Its time does not count while the daemon is down or the machine is asleep or off.",
                ])
        machine.command(.pause)
        #expect(machine.why()[1] == "After it is resumed, it runs 1 min after the end of its run.")
        machine.command(.resume)
        machine.handle(.ended(run.id, .exited(0), RunUsage()))
        #expect(
            machine.why()[0].contains(" (in 1 min), after 1 min more of active time; 0 s elapsed"))
    }

    @Test func onceInEachBoot() throws {
        var machine = Machine([job(.onBoot(.seconds(1_795_000_080)))])
        machine.pass(20)
        #expect(
            machine.why()[0].hasPrefix(
                "It runs next at 2026-11-18T11:08:00Z (in 40 s), after 40 s more of boottime"))
        #expect(machine.why().last == "Its time starts again with each boot of the machine.")
        machine.command(.pause)
        #expect(machine.why()[1].hasSuffix("40 s will be left when it is resumed."))
        machine.command(.resume)
        machine.pass(40)
        machine.handle(.ended(machine.started[0].id, .exited(0), RunUsage()))
        #expect(
            machine.why()[0].contains(
                " after the next boot of the machine; `timerctl start backup` restarts"))
        let reboot = WallSchedule([.cron(try CronSpec("@reboot"), .utc)])
        machine = Machine([job(.wall(reboot))])
        machine.pass(0)
        #expect(machine.why()[0] == "It runs at the next boot of the machine.")
        var paused = job(.onBoot(.seconds(60)))
        paused.paused = true
        machine = Machine([])
        machine.handle(.reload(JobSet([paused])))
        #expect(
            machine.why()[1]
                == "No run is left in this boot of the machine: after it is resumed, it runs 1 min after the "
                + "next boot.")
    }

    @Test func paused() {
        var machine = Machine([job()])
        machine.pass(20)
        machine.command(.pause, note: "disk swap")
        machine.pass(100)
        let why = machine.why()
        #expect(
            why[0] == "It was paused at 2026-11-18T11:07:20Z by ada (disk swap); it has no end; "
                + "`timerctl resume backup` ends it.")
        #expect(why[1] == "It keeps 20 s of elapsed time; 40 s will be left when it is resumed.")
    }

    @Test func pausedForAWhile() {
        var machine = Machine([job()])
        machine.command(.pause, until: .after(.seconds(3600)))
        #expect(machine.why()[0].hasSuffix("the pause ends at 2026-11-18T12:07:00Z (in 1 h)."))
    }

    @Test func stoppedAndFinished() {
        var machine = Machine([job(.after(.seconds(10)))])
        machine.pass(10)
        #expect(
            machine.why()[0].hasPrefix("No more runs are scheduled; `timerctl start backup`"))
        machine.command(.stop)
        #expect(machine.why()[0] == "It is stopped; `timerctl start backup` restarts its timer.")
    }

    @Test func rejected() {
        let machine = Machine([])
        let why = machine.why(
            rejected: Rejection(name: "backup", errors: ["t.toml:3:1: unknown key"]))
        #expect(
            why == [
                "Its configuration has errors and is not loaded:", "t.toml:3:1: unknown key",
                "Correct it, then run `timerctl reload`.",
            ])
    }
}
