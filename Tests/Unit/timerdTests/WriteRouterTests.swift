// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore
import TimerRecording
import TimerStore

@testable import TimerDaemon

/// When each write is handed to the recorder.
@Suite struct WriteRouterTests {
    /// A step of a script. The letters are jobs.
    private enum Step {
        /// A write about these jobs, and what becomes of it: what is handed over now, or that it waits.
        case write(String, Fate)
        /// A write after which runs of these jobs start.
        case start(String, Fate)
        case beginWakeUp
        case endWakeUp([String])
        case beginTransaction
        case reach(String)
        case takeTransaction([String])
        case endTransaction([String])
    }

    private enum Fate: Equatable {
        case now([String])
        case withWakeUp
        case afterTransaction
    }

    private func name(_ letter: Character) -> Job.Name { Job.Name(String(letter))! }

    private func write(_ jobs: String) -> RoutedWrite {
        .write(.init(changes: jobs.map { .erase(name($0)) }, durable: false))
    }

    private func starts(_ jobs: String) -> RoutedWrite {
        let runs = jobs.map { letter in
            let job = Job(
                name: name(letter), command: .shell("true"), schedule: .every(.seconds(60)))
            let id = Firing.ID(job: job.name, scheduled: WallInstant(secondsSinceEpoch: 1))
            return Run(firing: Firing(id: id, missed: 0, active: .zero), job: job)
        }
        let start = RecordedStart(
            runs: runs, decided: AwakeInstant(nanoseconds: 1), event: 1)
        return .starts([start], runs.map { .erase($0.id.firing.job) })
    }

    /// The jobs of a write; in brackets if runs start after it.
    private func text(_ write: RoutedWrite) -> String {
        let jobs = write.changes.map { change -> String in
            if case .erase(let job) = change { job.description } else { "?" }
        }
        return write.startingJobs.isEmpty ? jobs.joined() : "[\(jobs.joined())]"
    }

    private func fate(_ route: WriteRouter.Route) -> Fate {
        switch route {
        case .now(let writes): .now(writes.map(text))
        case .withWakeUp: .withWakeUp
        case .afterTransaction: .afterTransaction
        }
    }

    @Test(
        arguments: [
            // Without a wake-up and a command, each write is handed over at once.
            [.write("a", .now(["a"])), .start("b", .now(["[b]"]))],
            // The writes of a wake-up are handed over at its end. Runs that start one after the
            // other are one write.
            [
                .beginWakeUp, .start("a", .withWakeUp), .start("b", .withWakeUp),
                .write("c", .withWakeUp), .start("d", .withWakeUp),
                .endWakeUp(["[ab]", "c", "[d]"]), .write("e", .now(["e"])), .endWakeUp([]),
            ],
            // Writes about jobs that a command has not reached do not wait for it.
            [
                .beginTransaction, .write("a", .now(["a"])), .reach("a"),
                .write("a", .afterTransaction), .write("b", .now(["b"])),
                .start("a", .afterTransaction), .takeTransaction(["a", "[a]"]),
                .write("a", .afterTransaction), .write("b", .now(["b"])),
                .endTransaction(["a"]), .write("a", .now(["a"])),
            ],
            // What waits makes later writes about its other jobs wait, so that nothing newer is
            // overwritten.
            [
                .beginTransaction, .reach("a"), .write("ab", .afterTransaction),
                .write("b", .afterTransaction), .write("c", .now(["c"])),
                .takeTransaction(["ab", "b"]), .endTransaction([]),
            ],
            // A firing of another job during a command.
            [
                .beginTransaction, .reach("a"), .beginWakeUp, .start("b", .withWakeUp),
                .write("a", .afterTransaction), .endWakeUp(["[b]"]), .takeTransaction(["a"]),
                .endTransaction([]),
            ],
        ] as [[Step]])
    private func scripts(steps: [Step]) {
        var router = WriteRouter()
        for (number, step) in steps.enumerated() {
            switch step {
            case .write(let jobs, let expected):
                let route = router.route(write(jobs))
                #expect(fate(route) == expected, "step \(number)")
            case .start(let jobs, let expected):
                let route = router.routeStarts(starts(jobs))
                #expect(fate(route) == expected, "step \(number)")
            case .beginWakeUp: router.beginWakeUp()
            case .endWakeUp(let expected):
                let writes = router.endWakeUp().map(text)
                #expect(writes == expected, "step \(number)")
            case .beginTransaction: router.beginTransaction()
            case .reach(let job): router.reach(name(job.first!))
            case .takeTransaction(let expected):
                let writes = router.takeTransaction().map(text)
                #expect(writes == expected, "step \(number)")
            case .endTransaction(let expected):
                let writes = router.endTransaction().map(text)
                #expect(writes == expected, "step \(number)")
            }
        }
    }

    /// The first of many runs that start together does not wait for the last.
    @Test func manyRunsOfAWakeUpDoNotWaitForItsEnd() {
        var router = WriteRouter()
        router.beginWakeUp()
        let most = CommitBatch.jobsMax
        let fates = (1...2 * most + 1).map { _ in fate(router.routeStarts(starts("a"))) }
        let full = Fate.now(["[\(String(repeating: "a", count: most))]"])
        #expect(fates.indices.filter { fates[$0] == full } == [most - 1, 2 * most - 1])
        #expect(fates.count { $0 == .withWakeUp } == 2 * most - 1)
        let last = router.endWakeUp().map(text)
        #expect(last == ["[a]"])
    }

    /// A write about no job of its own, such as one that only notes what is written.
    @Test func aWriteCanConcernFurtherJobs() {
        var router = WriteRouter()
        router.beginTransaction()
        router.reach(name("a"))
        let fates = "ba".map { fate(router.route(write(""), of: [name($0)])) }
        #expect(fates == [.now([""]), .afterTransaction])
        #expect(router.jobsInTransaction == [name("a")])
    }

    /// Other writes may overtake those that wait for a command, so nothing counts as written then.
    @Test func noEventCountsAsWrittenDuringACommand() {
        var router = WriteRouter()
        #expect(router.countedEvent(7) == 7 && !router.hasTransaction)
        router.beginTransaction()
        #expect(router.countedEvent(7) == 0 && router.hasTransaction)
        _ = router.endTransaction()
        #expect(router.countedEvent(7) == 7 && !router.hasTransaction)
    }

    /// Of a job with two commands under way, what is known may be lost until both are saved.
    @Test func aJobIsSavedOnceAllItsCommandsAre() {
        var router = WriteRouter()
        #expect(!router.isSaving(name("a")))
        router.beginSaving(name("a"))
        router.beginSaving(name("a"))
        router.endSaving(name("a"))
        #expect(router.isSaving(name("a")) && !router.isSaving(name("b")))
        router.endSaving(name("a"))
        router.endSaving(name("a"))
        #expect(!router.isSaving(name("a")))
    }
}
