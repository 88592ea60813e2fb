// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import TimerCore

/// Which notifications a job causes, and which incidents it has.
@Suite struct IncidentTests {
    static let every: Set<NotificationKind> = Set(
        NotificationKind.configurable.filter { ![.start, .success, .output].contains($0) })

    func mail(
        _ on: Set<NotificationKind> = every, after: Int = 1, repeating: Duration? = nil,
        _ name: Notifier.Name = "ops"
    ) -> Notifier {
        Notifier(
            name: name, transport: .mail(to: ["root"], from: nil, contentType: nil), on: on,
            after: after, repeatInterval: repeating)
    }

    private var ping: Notifier {
        Notifier(name: "hc", transport: .ping(.url("https://a/"), .healthchecks))
    }

    /// An hourly job that the notifiers tell about.
    func job(_ change: (inout Policy) -> Void = { _ in }) -> Job {
        Job.every(.seconds(3600), first: .zero).with {
            $0.notify = ["ops"]
            change(&$0)
        }
    }

    func world(
        _ jobs: [Job], _ notifiers: [Notifier], concurrentRunsMax: Int = 64
    ) -> World {
        var world = World(concurrentRunsMax: concurrentRunsMax)
        world.notifiers = notifiers
        world.load(jobs)
        world.pass(.zero)
        return world
    }

    // MARK: - Failures

    @Test func aHundredFailedRunsAreOneFailure_andOneRecovery() {
        var world = world([job()], [mail()])
        for index in 0..<100 {
            world.end(world.started[index], .exited(1))
            world.pass(.seconds(3600))
        }
        #expect(world.kinds == [.failure])
        world.end(world.started[100])
        world.pass(.seconds(3600))
        world.end(world.started[101])
        #expect(world.kinds == [.failure, .recovery])
        let first = world.started[0].id
        let told = world.outbox
        #expect(told[0].run == first && told[0].failedInARow == 1 && told[0].outcome == .exited(1))
        #expect(told[1].failedInARow == 100 && told[1].recoveredFrom == [.failure])
        #expect(told[1].since == told[0].since && told[1].run == world.started[100].id)
        #expect(world.incidents.isEmpty)
    }

    @Test func afterCountsFailuresInARow() {
        var world = world([job()], [mail(after: 3)])
        for (index, code) in [1, 1, 0, 1, 1, 1, 1, 0].enumerated() {
            world.end(world.started[index], .exited(Int32(code)))
            world.pass(.seconds(3600))
        }
        #expect(world.kinds == [.failure, .recovery])
        #expect(world.outbox.map(\.failedInARow) == [3, 4])
        #expect(world.outbox[0].run == world.started[5].id)
        #expect(world.outbox[0].since! < world.outbox[0].at)
    }

    @Test func aFiringFailsWithItsLastAttempt_andAPingTellsEach() {
        let retried = job {
            $0.notify = ["ops", "hc"]
            $0.retry.retries = 2
        }
        var world = world([retried], [mail(), ping])
        for attempt in 0..<3 {
            world.end(world.started[attempt], .exited(1))
            world.pass(.seconds(100))
        }
        let ops = world.outbox.filter { $0.notifier == "ops" }
        #expect(ops.map(\.kind) == [.failure] && ops[0].run == world.started[2].id)
        let hc = world.outbox.filter { $0.notifier == "hc" }
        #expect(hc.map(\.kind) == [.start, .failure, .start, .failure, .start, .failure])
        #expect(hc.filter { $0.kind == .failure }.map(\.willRetry) == [true, true, false])
        #expect(hc.map(\.run) == world.started.flatMap { [$0.id, $0.id] })
    }

    @Test func aFiringWhoseRetryIsReplacedFailed() {
        let retried = Job.every(.seconds(60), first: .zero).with {
            $0.notify = ["ops"]
            $0.retry.retries = 5
            $0.retry.delay = .seconds(600)
        }
        var world = world([retried], [mail(after: 3)])
        for index in 0..<4 {
            world.end(world.started[index], .exited(1))
            world.pass(.seconds(60))
        }
        // The fourth firing has its retry still to come.
        #expect(world.kinds == [.failure] && world.outbox[0].failedInARow == 3)
        #expect(world.outbox[0].outcome == .replaced)
    }

    @Test func intendedEndsAreNeitherFailureNorSuccess() {
        var world = world([job()], [mail(after: 2)])
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(3600))
        #expect(world.command(.kill, "backup") != nil)
        world.end(world.started[1], .signalled("SIGTERM"))
        world.pass(.seconds(3600))
        world.end(world.started[2], .exited(1))
        #expect(world.kinds == [.failure] && world.outbox[0].failedInARow == 2)
    }

    @Test func anEndThatIsReportedTwiceCountsOnce() {
        var world = world([job()], [mail(after: 2)])
        world.end(world.started[0], .exited(1))
        world.end(world.started[0], .exited(1))
        world.handle(.began(world.started[0].id, at: world.now.wall))
        #expect(world.kinds.isEmpty && world.incidents.values.map(\.count) == [1])
    }

    @Test func eachNotifierHasItsOwnIncident() {
        let both = job { $0.notify = ["ops", "boss"] }
        var world = world([both], [mail(), mail([.failure], after: 2, "boss")])
        world.end(world.started[0], .exited(1))
        world.pass(.seconds(3600))
        world.end(world.started[1], .exited(1))
        world.pass(.seconds(3600))
        world.end(world.started[2])
        #expect(world.outbox.map(\.notifier) == ["ops", "boss", "ops"])
        #expect(world.kinds == [.failure, .failure, .recovery])
    }

    @Test func aJobWithoutNotifyCausesNothing() {
        var world = world([Job.every(.seconds(60), first: .zero)], [mail()])
        for index in 0..<5 {
            world.end(world.started[index], .exited(1))
            world.pass(.seconds(60))
        }
        #expect(world.outbox.isEmpty && world.incidents.isEmpty && world.incidentTimer == nil)
        #expect(world.agenda.watching.isIdle)
    }

    // MARK: - Single runs

    @Test func aPingTellsStartAndEnd_butNotTheStartsOfAFrequentJob() {
        let often = Job.every(.seconds(29), "often", first: .zero).with { $0.notify = ["hc"] }
        let seldom = Job.every(.seconds(30), "seldom", first: .zero).with { $0.notify = ["hc"] }
        var world = world([often, seldom], [ping])
        world.endRuns()
        let of: (Job.Name) -> [NotificationKind] = { job in
            world.outbox.filter { $0.job == job }.map(\.kind)
        }
        #expect(of("often") == [.success] && of("seldom") == [.start, .success])
    }

    @Test func outputIsTold_unlessTheEndIs() {
        var world = world([job()], [mail([.output, .failure])])
        func end(_ index: Int, _ outcome: RunOutcome, hasOutput: Bool) {
            world.handle(
                .ended(world.started[index].id, outcome, RunUsage(), hasOutput: hasOutput))
            world.pass(.seconds(3600))
        }
        end(0, .exited(0), hasOutput: false)
        end(1, .exited(0), hasOutput: true)
        end(2, .exited(1), hasOutput: true)
        end(3, .exited(1), hasOutput: true)
        #expect(world.kinds == [.output, .failure, .output])
        #expect(world.outbox.map(\.run) == (1...3).map { world.started[$0].id })
    }

    // MARK: - Time

    // MARK: - Restarts and reloads

    @Test func whatIsToldAboutAnEndDirectlyFollowsItsClose() {
        var world = world([job()], [mail()])
        let run = world.started[0].id
        let actions = world.agenda.handle(.ended(run, .exited(1), RunUsage()), at: world.now)
        let place = actions.firstIndex { if case .close = $0 { true } else { false } }
        guard let place, place + 1 < actions.count,
            case .notify(let told, let changes) = actions[place + 1]
        else {
            Issue.record("\(actions)")
            return
        }
        #expect(told.map(\.kind) == [.failure] && changes.count == 1)
        #expect(
            actions.contains {
                if case .log(.incidentBegan) = $0 { true } else { false }
            })
    }

    // MARK: - Random sequences

    /// The definition: firings in a row that failed; one message when `after` of them did, and one
    /// when one succeeded after that. Nothing else matters: not kills, restarts, reloads, times.
    @Test func randomEndsFollowTheDefinition() {
        var random = SeededRandom()
        for round in 0..<200 { checkRandomEnds(&random, round) }
    }

    private func checkRandomEnds(_ random: inout SeededRandom, _ round: Int) {
        let after = 1 + random.int(below: 4)
        var world = world([job()], [mail(after: after)])
        var expected: [(NotificationKind, Int)] = []
        var failed = 0
        for _ in 0..<60 {
            guard let run = world.started.last, world.openRuns[run.id] != nil else {
                world.pass(.seconds(3600))
                continue
            }
            switch random.int(below: 10) {
            case 0...4:
                world.end(run, .exited(1))
                failed += 1
                if failed == after { expected.append((.failure, failed)) }
            case 5, 6:
                world.end(run)
                if failed >= after { expected.append((.recovery, failed)) }
                failed = 0
            case 7: world.end(run, .stopped)
            case 8:
                world.hasRunner = true
                world.kill()
                world.load([job()])
            default: world.handle(.reload(JobSet([job()], notifiers: world.notifiers)))
            }
        }
        let told = world.outbox.map { ($0.kind, $0.failedInARow) }
        // The dates of the messages are never before those of the incidents.
        #expect(world.outbox.allSatisfy { ($0.since ?? $0.at) <= $0.at })
        #expect(
            told.map(\.0) == expected.map(\.0) && told.map(\.1) == expected.map(\.1),
            "round \(round): \(told), not \(expected)")
    }
}

extension World {
    /// The kinds of all notifications, in their order.
    var kinds: [NotificationKind] { outbox.map(\.kind) }
}
