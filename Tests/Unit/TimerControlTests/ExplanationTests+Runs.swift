// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// Explanations of runs that wait, run or were skipped.
extension ExplanationTests {
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
                        "(in 6 s). `timerctl run backup` runs it now, and `timerctl kill backup` cancels "
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
        machine.command(.pause)
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
                $0.hasSuffix("was skipped: the previous run had not ended (concurrency).")
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
                ) && $0.contains("(in 10 s). ")
            }, "\(why)")
        #expect(why.contains { $0.hasSuffix("ended: exit 1, after 2 s.") })
    }

    @Test func skippedByOrder() {
        var machine = Machine([job()])
        machine.command(.skipNext, count: 2)
        #expect(
            machine.why().contains(
                "The next 2 runs will be skipped (skip-next); `timerctl skip-next backup 0` cancels that."
            ))
        machine.pass(60)
        #expect(
            machine.why().contains { $0.hasSuffix("was skipped: as requested (skip-next).") }
        )
    }

    /// It is Wednesday, 2026-11-18, at 11:07.
    @Test func excludedByItsDates() throws {
        let list = DateList(
            name: DateList.Name("holidays")!,
            days: DaySet([try DaySet.Entry("2026-11-18..2026-11-19")]))
        var schedule = WallSchedule([.calendar(try CalendarSpec("*:15"), .utc)])
        schedule.rules = Boxed(wrappedValue: FiringRules(except: [list]))
        let machine = Machine([job(.wall(schedule))])
        #expect(
            machine.why().contains(
                "There is no run at 2026-11-18T11:15:00Z (in 8 min): 2026-11-18 is in holidays."))
        let snapshot = try #require(
            machine.agenda.snapshot(of: Job.Name("backup")!, at: machine.now))
        let status = JobStatus(snapshot)
        #expect(status.except == ["holidays"] && status.onlyOn == nil)
        #expect(status.next == "2026-11-20T00:15:00.000000Z")
        #expect(
            snapshot.upcomingRuns(until: .init(secondsSinceEpoch: 1_795_300_000), most: 1).map(
                \.at.rfc3339) == ["2026-11-20T00:15:00Z"])
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
                $0.hasSuffix(", never started: later than starting-deadline allows.")
            }
        )
        #expect(
            why.contains("A run that cannot start within 1 min is skipped (starting-deadline)."))
    }
}
