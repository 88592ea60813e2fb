// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// A hold is a pause of every job that is armed. Two worlds go through the same random events: one is
/// held and released, in the other each job is paused and resumed. Afterwards the same runs have
/// started, and the same time has passed.
@Suite struct HoldEqualsPauseTests {
    /// What both worlds do. The time of all events is the same.
    enum Step {
        case pass(Int)
        case sleep(Int)
        case setClock(Int)
        case endRuns(Bool)
        case kill
        case stop
        case reboot(Int)
        case checkpoint
        /// Pauses a job until it is resumed: an end within the hold would come with the hold alone.
        case pauseOne(Int)
        case resumeOne(Int)

        init(_ random: inout SeededRandom) {
            switch Int.random(in: 0..<16, using: &random) {
            case 0..<6: self = .pass(Int.random(in: 1...200, using: &random))
            case 6: self = .sleep(Int.random(in: 1...200, using: &random))
            case 7: self = .setClock(Int.random(in: -300...300, using: &random))
            case 8, 9: self = .endRuns(Bool.random(using: &random))
            case 10: self = .kill
            case 11: self = .stop
            case 12: self = .reboot(Int.random(in: 1...400, using: &random))
            case 13: self = .checkpoint
            case 14: self = .pauseOne(Int.random(in: 0..<5, using: &random))
            default: self = .resumeOne(Int.random(in: 0..<5, using: &random))
            }
        }

        /// In a hold the two worlds are told to pause single jobs in different ways.
        var concernsOneJob: Bool {
            switch self {
            case .pauseOne, .resumeOne: true
            default: false
            }
        }
    }

    static func jobs(_ random: inout SeededRandom) throws -> [Job] {
        let resume = [nil, Policy.Resume.keepRemaining, .nextSlot, .restart, .fireIfDue]
        func change(_ policy: inout Policy, _ random: inout SeededRandom) {
            policy.onResume = resume.randomElement(using: &random)!
            policy.concurrency = [.forbid, .queue, .replace].randomElement(using: &random)!
            policy.retry.retries = Int.random(in: 0...1, using: &random)
            policy.retry.delay = .seconds(Int.random(in: 1...90, using: &random))
        }
        let basis = TimeBasis.allCases.randomElement(using: &random)!
        var end = Job.every(.seconds(70), "end").counting(basis)
        end.from = .end
        var follower = Job(name: "report", command: .arguments(["true"]), schedule: .onDemand)
        follower.follows = Follows([Follows.Cause("every", on: .end, delay: .seconds(20))])
        var jobs = [
            Job.every(.seconds(100), "every").counting(basis), try .cron("* * * * *", "cron"),
            .after(.seconds(400), "after").counting(basis), end, follower,
        ]
        for index in jobs.indices { change(&jobs[index].policy, &random) }
        return jobs
    }

    @Test(arguments: 0..<60)
    func aHoldIsAPauseOfAllJobs(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let jobs = try Self.jobs(&random)
        var (held, paused) = (World(), World())
        held.load(jobs)
        paused.load(jobs)
        let names = jobs.map(\.name)
        func perform(_ step: Step) {
            held.perform(step, jobs)
            paused.perform(step, jobs)
        }
        for _ in 0..<3 {
            for _ in 0..<6 { perform(Step(&random)) }
            let armed = names.filter { paused.show($0).phase == .armed }
            held.hold()
            for name in armed { _ = paused.command(.pause, name) }
            for _ in 0..<6 {
                let step = Step(&random)
                if !step.concernsOneJob { perform(step) }
            }
            held.release()
            // What ends because of a resumed job is followed by jobs that are resumed already, as at the
            // end of a hold, which is one event.
            for name in armed.reversed() where paused.show(name).phase.isPaused {
                _ = paused.command(.resume, name)
            }
            held.pass(.zero)
            paused.pass(.zero)
            for name in names {
                let (one, other) = (held.show(name), paused.show(name))
                #expect(one.phase.word == other.phase.word, "\(name)")
                #expect(one.accrued == other.accrued && one.active == other.active, "\(name)")
                #expect(one.next == other.next && one.firings == other.firings, "\(name)")
            }
        }
        perform(.pass(1000))
        #expect(held.runs == paused.runs)
    }
}

extension World {
    /// The runs that started, in an order that does not depend on which job was told first.
    fileprivate var runs: [String] {
        started.map { "\($0.id) \($0.firing.cause) \($0.firing.missed)" }.sorted()
    }

    fileprivate mutating func perform(_ step: HoldEqualsPauseTests.Step, _ jobs: [Job]) {
        switch step {
        case .pass(let span): pass(.seconds(span))
        case .sleep(let span):
            sleep(.seconds(span))
            handle(.clockChanged)
            pass(.zero)
        case .setClock(let span):
            self.step(.seconds(span))
            pass(.zero)
        case .endRuns(let succeeds): endRuns(.exited(succeeds ? 0 : 1))
        case .kill:
            beat()
            kill()
            load(jobs)
        case .stop:
            stopCleanly()
            pass(.seconds(30))
            load(jobs)
        case .reboot(let span):
            reboot(away: .seconds(span))
            load(jobs)
        case .checkpoint: handle(.checkpoint())
        case .pauseOne(let index): _ = command(.pause, jobs[index].name)
        case .resumeOne(let index): _ = command(.resume, jobs[index].name)
        }
    }
}
