// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TimerCore
import TimerStore

@testable import TimerDaemon
@testable import TimerRecording

/// What the loop writes, and what follows from it once the store has done it.
extension SimulatedLoop {
    /// - Parameter sequel: what follows once it is done; nil: nothing.
    func request(
        _ changes: [Store.Change], durable: Bool = false, keepsOrder: Bool = false,
        then sequel: Sequel? = nil
    ) -> RequestQueue.Request {
        guard let sequel else { return RequestQueue.Request(changes: changes, durable: durable) }
        number += 1
        sequels[number] = sequel
        return RequestQueue.Request(changes: changes, durable: durable, keepsOrder: keepsOrder) {
            [done, number] _ in done.note(number)
        }
    }

    func request(_ routed: RoutedWrite) -> RequestQueue.Request {
        switch routed {
        case .write(let request): request
        case .starts(let starts, let changes):
            request(changes, durable: true, keepsOrder: true, then: .starts(starts))
        }
    }

    func submit(_ write: RequestQueue.Request, of jobs: [Job.Name] = []) {
        if case .now(let writes) = router.route(.write(write), of: jobs) { handOver(writes) }
    }

    func submit(_ start: RecordedStart, after changes: [Store.Change]) {
        let route = router.routeStarts(.starts([start], changes))
        if case .now(let writes) = route { handOver(writes) }
    }

    func handOver(_ writes: [RoutedWrite]) { add(writes.map { request($0) }) }

    func record(_ batch: CommitBatch, with ended: EndedRuns, at now: Now) {
        early.note(starts: batch.start.count, at: now.awake)
        let portions =
            ended.runs.isEmpty ? batch.split().flatMap { router.parts(of: $0) } : [batch]
        let event = router.countedEvent(agenda.eventNumber)
        for (index, portion) in portions.enumerated() {
            let start = RecordedStart(
                runs: portion.start, decided: now.awake,
                event: index == portions.count - 1 ? event : 0, ended: ended.runs)
            submit(start, after: ended.changes + portion.changes(at: real(now)))
        }
    }

    func save(
        _ records: [JobRecord], _ notes: [JobNote], _ durable: Bool, _ decision: inout Decision
    ) {
        let (others, waiting) = router.parts(of: records)
        if !decision.ended.runs.isEmpty, !durable {
            let ended = decision.takeEnded()
            let rest = records.map { .save($0) } + decision.takeHistory().map(\.change)
            submit(
                request(
                    ended.changes + rest + notes.map(\.change), then: .closed(ended.runs)))
        } else if waiting.isEmpty {
            let history = decision.takeHistory()
            submit(
                request(
                    others.map { .save($0) } + history.map(\.change) + notes.map(\.change),
                    durable: durable))
        } else {
            submit(request(others.map { .save($0) }, durable: durable))
            submit(
                request(waiting.map { .save($0) } + notes.map(\.change), durable: durable))
        }
    }

    // MARK: - The store

    /// Adds requests to those that the store has not done. It does one after the other.
    func add(_ new: [RequestQueue.Request]) {
        let wasIdle = requests.isEmpty
        requests += new.map { ($0.changes, $0) }
        if wasIdle, !requests.isEmpty { planWrite() }
    }

    /// Mostly fractions of a millisecond, at times a slow disk, now and then one that stalls.
    private func planWrite() {
        let span =
            switch random.int(below: 40) {
            case 0: 1_500_000_000
            case 1..<8: 20_000_000
            default: 300_000
            }
        plan(.written, at: world.time + Int64(random.int(below: span) + 10_000))
    }

    /// The store has done its oldest request. What follows happens on its own queue, beside the loop.
    func finishWrite() {
        let (_, request) = requests.removeFirst()
        let refused = world.commit(request.changes)
        complete(request, refused)
        if !requests.isEmpty { planWrite() }
    }

    /// A daemon that is killed has written the request that it was writing, or not.
    func writeWhatIsUnderWay() {
        if let first = requests.first { _ = world.commit(first.changes) }
    }

    func complete(_ request: RequestQueue.Request, _ refused: Set<Run.ID>) {
        request.onCommit?(refused)
        for number in done.take() {
            guard let sequel = sequels.removeValue(forKey: number) else { continue }
            switch sequel {
            case .rest(let rest): later(.rest(rest))
            case .starts(let starts):
                begin(starts, except: refused)
                for start in starts {
                    for run in start.ended { world.forget(run) }
                    noteWritten(through: start.event)
                }
            case .checks(let checks): for check in checks { ask(check) }
            case .through(let event): noteWritten(through: event)
            case .closed(let runs): for run in runs { world.forget(run) }
            case .answer(let reply, let word): reply(word)
            case .transaction(let command, let writes):
                later(.transactionSaved(command, writes, refused))
            }
        }
    }

    private func noteWritten(through event: UInt64) {
        if progress.note(written: event) { sendStored() }
    }

    func sendStored() {
        if progress.beginReport() { later(.stored) }
    }

    // MARK: - The runner

    /// Asks for the condition of a run. Mostly it is looked at at once; a command takes a while.
    private func ask(_ check: ConditionCheck) {
        world.noteCheck(of: check.run)
        let span = random.int(below: 4) == 0 ? 2_000_000_000 : 3_000_000
        let answers: [Condition.Answer] = [
            .yes, .yes, .yes, .no("mounted /mnt"), .no("mounted /mnt"),
            .failed(errno: "EIO", why: "mounted /mnt"),
        ]
        let answer = answers[random.int(below: answers.count)]
        if case .yes = answer { agreed.insert(check.run.id) }
        plan(
            .checked(check.run.id, number: check.number, answer),
            at: world.time + Int64(random.int(below: span)) + 100_000)
    }

    /// Starts runs whose rows are saved. If the store took long, the agenda decides again.
    func begin(_ starts: [RecordedStart], except refused: Set<Run.ID>) {
        for start in starts {
            let runs = start.runs.filter { !refused.contains($0.id) }
            if !runs.isEmpty, world.now.awake - start.decided > Loop.startDelayMax {
                later(.recorded(runs))
            } else {
                for run in runs {
                    world.expect(
                        run.job.execution.condition == nil || agreed.contains(run.id),
                        "\(run.id) starts, and no check has found its condition met")
                    plan(.runEnded(run.id), at: world.start(run, from: start.decided, &random))
                }
            }
        }
        for run in starts.flatMap(\.runs) where refused.contains(run.id) { later(.refused(run.id)) }
    }

    // MARK: - Timers

    func setTimers(of jobs: some Collection<Job.Name>) {
        guard !jobs.isEmpty else { return }
        let isBusy = isBusy
        let now = world.now
        timers.set(jobs, for: agenda.alarms(of: jobs), at: now) { alarm in
            EarlyFiring.lead(left: alarm.left(at: now), isBusy: isBusy)
        }
    }
}
