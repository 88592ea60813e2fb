// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// The explanation of `why` for a job in each of its states.
@Suite struct ExplanationTests {
    /// An agenda and its clocks. Runs start when the agenda starts them, and end when the test ends
    /// them.
    private struct Machine {
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

        mutating func order(
            _ verb: Order.Verb, note: String? = nil, until: Order.PauseEnd? = nil, count: Int = 1
        ) {
            handle(
                .order(
                    Order(
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

    private func job(
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
                    "It runs next at 2026-11-18T11:08:00Z (in 40s), after 40s more of active time; "
                        + "20s elapsed so far.",
                    "It has never run.",
                    "Its time does not count while the daemon is down or the machine is asleep or off.",
                ])
    }

    @Test func afterTheEndOfEachRun() throws {
        var fromEnd = job()
        fromEnd.from = .end
        var machine = Machine([fromEnd])
        machine.pass(20)
        #expect(machine.why()[0].hasPrefix("It runs next at 2026-11-18T11:08:00Z (in 40s), after"))
        machine.pass(40)
        let run = try #require(machine.started.first)
        #expect(
            machine.why()
                == [
                    "It runs next 1min after the end of run \(run.id).",
                    "Run \(run.id) is being started.",
                    "Its time does not count while the daemon is down or the machine is asleep or off.",
                ])
        machine.order(.pause)
        #expect(machine.why()[1] == "After it is resumed, it runs 1min after the end of its run.")
        machine.order(.resume)
        machine.handle(.ended(run.id, .exited(0), RunUsage()))
        #expect(machine.why()[0].contains(" (in 1min), after 1min more of active time; 0 elapsed"))
    }

    @Test func onceInEachBoot() throws {
        var machine = Machine([job(.onBoot(.seconds(1_795_000_080)))])
        machine.pass(20)
        #expect(
            machine.why()[0].hasPrefix(
                "It runs next at 2026-11-18T11:08:00Z (in 40s), after 40s more of boottime"))
        #expect(machine.why().last == "Its time starts again with each boot of the machine.")
        machine.order(.pause)
        #expect(machine.why()[1].hasSuffix("40s will be left when it is resumed."))
        machine.order(.resume)
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
                == "No run is left in this boot of the machine: after it is resumed, it runs 1min after the "
                + "next boot.")
    }

    @Test func paused() {
        var machine = Machine([job()])
        machine.pass(20)
        machine.order(.pause, note: "disk swap")
        machine.pass(100)
        let why = machine.why()
        #expect(
            why[0] == "It was paused at 2026-11-18T11:07:20Z by ada (disk swap); it has no end; "
                + "`timerctl resume backup` ends it.")
        #expect(why[1] == "It keeps 20s of elapsed time; 40s will be left when it is resumed.")
    }

    @Test func pausedForAWhile() {
        var machine = Machine([job()])
        machine.order(.pause, until: .after(.seconds(3600)))
        #expect(machine.why()[0].hasSuffix("the pause ends at 2026-11-18T12:07:00Z (in 1h)."))
    }

    @Test func stoppedAndFinished() {
        var machine = Machine([job(.after(.seconds(10)))])
        machine.pass(10)
        #expect(
            machine.why()[0].hasPrefix("No more runs are scheduled; `timerctl start backup`"))
        machine.order(.stop)
        #expect(machine.why()[0] == "It is stopped; `timerctl start backup` restarts its timer.")
    }

    @Test func waitingForMaxConcurrent() {
        var machine = Machine([job(), job(.every(.seconds(60)), "other")], max: 1)
        machine.pass(60)
        let why = machine.why("other")
        #expect(
            why.contains {
                $0.hasSuffix(
                    "waits for max-concurrent: 1 of at most 1 runs are active.")
            }, "\(why)")
    }

    private var retrying: Machine {
        var machine = Machine([
            job {
                $0.retry.retries = 1
                $0.retry.delay = .seconds(10)
            }
        ])
        machine.pass(60)
        machine.handle(.ended(machine.started[0].id, .exited(1), RunUsage()))
        machine.pass(4)
        return machine
    }

    @Test func waitingForAFurtherAttempt() throws {
        let machine = retrying
        let snapshot = try #require(
            machine.agenda.snapshot(of: Job.Name("backup")!, at: machine.now))
        let status = JobStatus(snapshot)
        #expect(status.state == "retrying" && status.last?.failed == true)
        #expect(status.nextAttempt == (machine.now.wall + .seconds(6)).rfc3339Micros)
        #expect(status.nextAttemptUsec == 6_000_000)
        let why = machine.why()
        #expect(
            why.contains {
                $0.hasPrefix("Its last run failed; the next attempt, run backup:")
                    && $0.hasSuffix(
                        "(in 6s). `timerctl run backup` runs it now, and `timerctl kill backup` cancels "
                            + "that attempt.")
            }, "\(why)")
        #expect(
            why.contains(
                "A run that becomes due before that attempt replaces it (concurrency = \"forbid\")."
            ))
        #expect(why.contains { $0.hasPrefix("Its time does not count while") })
    }

    @Test func aPausedJobHasNoTimeForItsFurtherAttempt() throws {
        var machine = retrying
        machine.order(.pause)
        let snapshot = try #require(
            machine.agenda.snapshot(of: Job.Name("backup")!, at: machine.now))
        let status = JobStatus(snapshot)
        #expect(status.state == "paused" && status.nextAttempt == nil)
    }

    @Test func runningAsOftenAsItMay() {
        var machine = Machine([
            job {
                $0.concurrency = .allow
                $0.concurrencyMax = 1
            }
        ])
        machine.pass(60)
        machine.pass(60)
        let why = machine.why()
        #expect(
            why.contains(
                "At most 1 run of it may be active at once (concurrency-max): a run beyond that is skipped."
            ))
        #expect(
            why.contains {
                $0.hasSuffix(
                    "skipped: as many of its runs as concurrency-max allows were still running."
                )
            }, "\(why)")
    }

    @Test func queuedForThePreviousRun() {
        var machine = Machine([job(.every(.seconds(60)), "backup") { $0.concurrency = .queue }])
        machine.pass(60)
        machine.pass(60)
        #expect(machine.why().contains { $0.hasSuffix("waits for the previous run to end.") })
        machine.pass(60)
        #expect(
            machine.why().contains {
                $0
                    == "Its run of 2026-11-18T11:10:00Z was skipped: another run was already waiting "
                    + "(concurrency)."
            })
    }

    @Test func skippedForItsLastRun() {
        var machine = Machine([job()])
        machine.pass(60)
        machine.pass(60)
        let why = machine.why()
        #expect(
            why.contains {
                $0.contains("has been running since") || $0.contains("is being started")
            })
        #expect(
            why.contains {
                $0.hasSuffix("was skipped: the previous run was still running (concurrency).")
            })
        #expect(
            why.contains(
                "A run that becomes due while another is running is skipped (concurrency = \"forbid\")."
            ))
    }

    @Test func inRetry() throws {
        var machine = Machine([job(.every(.seconds(600)), "backup") { $0.retry.retries = 2 }])
        machine.pass(600)
        let run = try #require(machine.started.first)
        machine.handle(.ended(run.id, .exited(1), RunUsage(elapsed: .seconds(2))))
        let why = machine.why()
        #expect(
            why.contains {
                $0.hasPrefix(
                    "Its last run failed; the next attempt, run backup:20261118T111700.000000Z:2, starts at"
                ) && $0.contains("(in 10s). ")
            }, "\(why)")
        #expect(why.contains { $0.hasSuffix("ended with exited(1), after 2s.") })
    }

    @Test func skippedByOrder() {
        var machine = Machine([job()])
        machine.order(.skipNext, count: 2)
        #expect(
            machine.why().contains(
                "The next 2 runs will be skipped (skip-next); `timerctl skip-next backup 0` cancels that."
            ))
        machine.pass(60)
        #expect(
            machine.why().contains { $0.hasSuffix("was skipped: as requested (skip-next).") }
        )
    }

    @Test func tooOldToStart() throws {
        let schedule = WallSchedule([.cron(try CronSpec("0 * * * *"), .utc)])
        var machine = Machine([
            job(.wall(schedule), "backup") { $0.startingDeadline = .seconds(60) }
        ])
        machine.pass(2 * 3600)
        let why = machine.why()
        #expect(
            why.contains {
                $0.contains("were skipped: it was later than starting-deadline allows.")
            },
            "\(why)")
        #expect(
            why.contains {
                $0.contains("It was never started: it was later than starting-deadline allows.")
            }
        )
        #expect(
            why.contains("A run that cannot start within 1min is skipped (starting-deadline)."))
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
