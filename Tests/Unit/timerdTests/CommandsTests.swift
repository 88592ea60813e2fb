// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import HostQueues
import Synchronization
import Testing
import TimerCore

@testable import TimerDaemon

/// One command for many jobs: it applies to all or none, and nothing else waits for it.
@Suite struct CommandsTests {
    private let initiator = Initiator.user("ann")

    private func job(_ number: Int) -> Job {
        Job(
            name: Job.Name("j\(number)")!, command: .shell("true"),
            schedule: .every(.seconds(3600)))
    }

    private func fixture(_ count: Int) async throws -> LoopFixture {
        let fixture = try LoopFixture((0..<count).map(job))
        await fixture.waitUntilReady()
        return fixture
    }

    private func phases(_ fixture: LoopFixture) async throws -> [String: Int] {
        Dictionary(try await fixture.records().map { ($0.phase.word, 1) }, uniquingKeysWith: +)
    }

    @Test func allJobsArePaused_andSaidSoOfEach() async throws {
        let fixture = try await fixture(1000)
        let first = await fixture.command(.stop, (0..<3).map(job).map(\.name), by: initiator)
        #expect(first.results.map(\.answer) == [.done, .done, .done])
        let all = await fixture.command(.pause, nil, by: initiator)
        #expect(all.results.map(\.command.job) == (0..<1000).map(job).map(\.name))
        #expect(all.results.prefix(3).allSatisfy { $0.answer != .done })
        #expect(all.results.dropFirst(3).allSatisfy { $0.answer == .done })
        #expect(all.results.last?.snapshot?.phase.word == "paused")
        #expect(try await phases(fixture) == ["stopped": 3, "paused": 997])
    }

    @Test func withOneUnknownNameNothingIsChanged() async throws {
        let fixture = try await fixture(3)
        let names = [job(0).name, job(7).name, job(1).name, job(8).name]
        let reply = await fixture.command(.pause, names, by: initiator)
        #expect(reply.results.isEmpty && reply.unknown == [job(7).name, job(8).name])
        #expect(await fixture.snapshot().jobs.allSatisfy { $0.phase == .armed })
    }

    /// The name of a template stands for all of its jobs when the command is executed.
    @Test func aTemplateIsAllOfItsJobs() async throws {
        let names = ["d@a", "d@b", "d", "dd@a", "d@a@x", "e@f@a", "e@b"]
        let fixture = try LoopFixture(
            names.map {
                Job(
                    name: Job.Name($0)!, command: .shell("true"),
                    schedule: .every(.seconds(3600)))
            })
        await fixture.waitUntilReady()
        func jobs(_ asked: String...) async -> (of: [String], unknown: [String]) {
            let reply = await fixture.command(
                .pause, asked.map { Job.Name($0)! }, by: initiator)
            return (
                reply.results.map(\.command.job.description), reply.unknown.map(\.description)
            )
        }
        #expect(await jobs("d@") == (["d@a", "d@b", "d@a@x"], []))
        #expect(await jobs("e@f@", "d") == (["e@f@a", "d"], []))
        // Each job once, in the order of the names.
        #expect(await jobs("d@b", "d@", "e@f@a", "e@f@") == (["d@b", "d@a", "d@a@x", "e@f@a"], []))
        #expect(await jobs("x@", "d") == ([], ["x@"]))
        let phases = try await phases(fixture)
        #expect(phases == ["paused": 5, "armed": 2])
    }

    @Test(arguments: [0, 1]) func onlyAJobOfAFleetRunsOnAnotherMachine(number: Int) async throws {
        let fixture = try await fixture(1)
        let command = JobCommand(
            .run, job(number).name, by: initiator, machine: MachineName("web2")!)
        let answer = await withCheckedContinuation { done in
            fixture.loop.later { loop in
                loop.handle(command) { answer, _ in done.resume(returning: answer) }
            }
        }
        let refusal = Answer.refused("it belongs to no fleet, so it runs on this machine only")
        #expect(answer == (number == 0 ? refusal : .noSuchJob))
    }

    @Test func forNoJobAtAllItIsAnswered() async throws {
        let fixture = try await fixture(0)
        #expect(await fixture.command(.pause, nil, by: initiator).results.isEmpty)
    }

    /// Work that was submitted after it gets its turn before the last of the jobs.
    @Test func otherWorkIsDoneBetweenTheJobs() async throws {
        let fixture = try await fixture(2000)
        let paused = Mutex(-1)
        async let reply = fixture.command(.pause, nil, by: initiator) {
            fixture.loop.later { loop in paused.withLock { $0 = loop.agenda.pausedCount } }
        }
        #expect(await reply.results.count == 2000)
        #expect((1..<2000).contains(paused.withLock { $0 }))
    }

    /// A stop or a reload in the middle would leave it applied to some jobs only.
    @Test(arguments: [true, false])
    func aStopOrAReloadComesAfterIt(isStop: Bool) async throws {
        let fixture = try await fixture(2000)
        let closed = Mutex(false)
        let reply = await fixture.command(.pause, nil, by: initiator) {
            fixture.loop.later { loop in
                if isStop {
                    loop.shutDown { _ in
                        closed.withLock { $0 = true }
                    } drained: {
                    }
                } else {
                    loop.reload(.init(JobSet([job(0)]), rejected: [])) { _ in
                        closed.withLock { $0 = true }
                    }
                }
            }
        }
        #expect(reply.results.allSatisfy { $0.answer == .done })
        #expect(try await phases(fixture) == ["paused": 2000])
    }

    @Test func ordersAtTheSameTimeComeOneAfterTheOther() async throws {
        let fixture = try await fixture(1500)
        async let paused = fixture.command(.pause, nil, by: initiator) {
            fixture.loop.later { loop in
                for verb in [JobCommand.Verb.stop, .start] {
                    loop.handle(nil) {
                        JobCommand(verb, $0, by: self.initiator)
                    } unknown: { _, _ in
                    } done: { _ in
                    }
                }
                // A command for one job also comes after earlier decisions about that job.
                loop.handle(JobCommand(.skipNext, self.job(5).name, by: self.initiator, count: 7)) {
                    _, _ in
                }
            }
        }
        #expect(await paused.results.allSatisfy { $0.answer == .done })
        let last = await fixture.command(.run, [job(3).name], by: initiator)
        #expect(last.results.map { $0.answer.run != nil } == [true])
        let records = try await fixture.records()
        #expect(records.count == 1500 && records.allSatisfy { $0.phase == .armed })
    }

    /// A user takes over the pause of one job while the others are being resumed.
    @Test func aPauseThatChangesMeanwhileIsNotEnded() async throws {
        let fixture = try await fixture(2000)
        _ = await fixture.command(.pause, nil, by: initiator)
        var pauses: [Job.Name: SeenPause] = [:]
        for job in await fixture.snapshot().jobs {
            if case .paused(let pause) = job.phase { pauses[job.job.name] = SeenPause(pause) }
        }
        let last = job(1999).name
        let reply = await fixture.command(.resume, nil, by: initiator, pauses: pauses) {
            fixture.loop.later { loop in
                loop.handle(JobCommand(.pause, last, by: .user("bob"), note: "mine")) { _, _ in }
            }
        }
        #expect(pauses.count == 2000 && reply.results.dropLast().allSatisfy { $0.answer == .done })
        guard case .refused = reply.results.last?.answer,
            case .paused(let pause) = reply.results.last?.snapshot?.phase
        else {
            Issue.record("\(String(describing: reply.results.last))")
            return
        }
        #expect(pause.by == .user("bob") && pause.note == "mine")
    }

    @Test func runsStartOnceTheyAreRecorded() async throws {
        let fixture = try await fixture(200)
        let names = (0..<200).map(job).map(\.name)
        let first = await fixture.command(.run, names, by: initiator)
        #expect(first.results.allSatisfy { $0.answer.run?.firing.job == $0.command.job })
        // What a slow disk has delayed for long is decided once more, and starts after the answer.
        try await fixture.wait { fixture.launcher.started.count >= 64 }
        #expect(fixture.launcher.started.count == 64)
        #expect(Set(fixture.launcher.started.map(\.run.id.firing.job)).count == 64)
        let again = await fixture.command(.run, names, by: initiator)
        #expect(again.results.allSatisfy { $0.answer.run == nil })
    }
}

extension LoopFixture {
    struct CommandsAnswer: Sendable {
        var results: [CommandResults.Result] = []
        var unknown: [Job.Name] = []
    }

    /// Gives the command to the jobs; to all if nil.
    ///
    /// - Parameter begun: called after the decision about the first of them.
    func command(
        _ verb: JobCommand.Verb, _ jobs: [Job.Name]?, by initiator: Initiator,
        pauses: [Job.Name: SeenPause] = [:],
        begun: @escaping @Sendable () -> Void = {}
    ) async -> CommandsAnswer {
        await withCheckedContinuation { continuation in
            loop.later { loop in
                loop.handle(jobs) {
                    var command = JobCommand(verb, $0, by: initiator)
                    command.onlyPause = pauses[$0]
                    return command
                } unknown: { others, _ in
                    continuation.resume(returning: CommandsAnswer(unknown: others))
                } done: { results in
                    continuation.resume(returning: CommandsAnswer(results: results))
                }
                begun()
            }
        }
    }
}
