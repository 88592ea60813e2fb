// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import HostQueues
import Logging
import StoreModel
import Synchronization
import Testing
import TimerCore
import TimerFleet
import TimerFleetLink
import TimerRecording
import TimerStore

@testable import TimerDaemon

/// A simulated store that machines of a fleet share, and their clock. Time passes only when a test
/// says so, and the store answers at once.
final class SharedStore: Sendable {
    struct State {
        var store = SimulatedStore()
        var now = RecorderFixture.now(1000)
        var isAway = false
        /// Counts the actions, so that a test knows when nothing happens any more.
        var actions = 0
        var watchers: [Watcher] = []
        /// Transactions that a store which is away did not answer. Their machines learn that after a
        /// second, as from `timerd-fleet`: a member decides again at once.
        var unanswered: [(id: FleetMember.TransactionID, machine: Int, until: BootInstant)] = []
    }

    struct Watcher {
        var machine: Int
        var report: FleetLink.Handler
    }

    let state = Mutex(State())

    var now: Now { state.withLock { $0.now } }

    func advance(_ span: Duration) {
        let reports = state.withLock { state in
            let passed = span.wholeNanoseconds
            state.now = Now(
                wall: state.now.wall + span,
                awake: AwakeInstant(nanoseconds: state.now.awake.nanoseconds + passed),
                boot: BootInstant(nanoseconds: state.now.boot.nanoseconds + passed),
                bootID: state.now.bootID)
            let now = state.now.boot
            let ended = state.unanswered.filter { $0.until <= now }
            state.unanswered.removeAll { $0.until <= now }
            return ended.compactMap { ended in
                state.watchers.first { $0.machine == ended.machine }.map { ($0, ended.id) }
            }
        }
        for (watcher, id) in reports { watcher.report(.event(.unknown(id))) }
    }

    /// The value of a run in the store; nil if it has none.
    func value(of run: Run.ID) -> RunValue? {
        state.withLock { $0.store.keys[.run(run)] }.flatMap { try? RunValue(text: $0.value) }
    }

    func value(of job: Job.Name) -> JobValue? {
        state.withLock { $0.store.keys[.job(job)] }.flatMap { try? JobValue(text: $0.value) }
    }

    /// The connection of one machine.
    struct Transport: FleetTransport {
        let store: SharedStore
        let machine: Int

        func start(_ handler: @escaping FleetLink.Handler) throws {
            store.state.withLock { state in
                state.watchers.removeAll { $0.machine == machine }
                state.watchers.append(Watcher(machine: machine, report: handler))
            }
        }

        func perform(_ action: FleetAction) -> Bool { store.perform(action, of: machine) }

        func stop(endingLeases: Bool) {
            store.state.withLock { $0.watchers.removeAll { $0.machine == machine } }
        }
    }

    private func perform(_ action: FleetAction, of machine: Int) -> Bool {
        var reports: [(to: Watcher, event: FleetEvent)] = []
        let isOwn = state.withLock { state in
            state.actions += 1
            guard let events = state.perform(action, of: machine) else { return false }
            for watcher in state.watchers {
                if watcher.machine == machine { reports += events.own.map { (watcher, $0) } }
                reports += events.all.map { (watcher, $0) }
            }
            return true
        }
        for (watcher, event) in reports {
            watcher.report(.event(event))
        }
        return isOwn
    }
}

extension SharedStore.State {
    /// What a machine that acts is told, and what all are told; nil for an action without the store.
    fileprivate mutating func perform(
        _ action: FleetAction, of machine: Int
    ) -> (own: [FleetEvent], all: [FleetEvent])? {
        switch action {
        case .openLease:
            return (isAway ? [] : [.leased(store.grant(until: .max), sent: now.boot)], [])
        case .keepAlive(let lease):
            guard !isAway else { return ([], []) }
            guard store.leases[lease] != nil else { return ([.leaseLost(lease)], []) }
            let date = now.wall.microsecondsSinceEpoch / 1_000_000
            return (
                [
                    .kept(lease, sent: now.boot),
                    .dated(endpoint: "etcd", date: date, sent: now.wall),
                ], []
            )
        case .load:
            guard !isAway else { return ([], []) }
            let values = store.keys.mapValues { Versioned<String>?.some($0) }
            let snapshot = FleetSnapshot(
                cluster: store.cluster, revision: store.revision, values: values)
            return ([.loaded(snapshot)], [])
        case .send(let id, let transaction):
            guard !isAway, let (answer, commit) = store.apply(transaction) else {
                let later = BootInstant(nanoseconds: now.boot.nanoseconds + 1_000_000_000)
                unanswered.append((id, machine, later))
                return ([], [])
            }
            let changed = commit.map {
                FleetEvent.changed(cluster: store.cluster, revision: $0.revision, $0.changes)
            }
            return ([.answered(id, answer)], changed.map { [$0] } ?? [])
        default: return nil
        }
    }
}

/// One machine of a fleet: a driver with a store of its own. Its runs are only recorded.
final class FleetMachine: Sendable {
    let store: SharedStore
    let recorder: RecorderFixture
    let driver: FleetDriver
    let number: Int
    private let box = Box()

    /// - Parameters:
    ///   - recorder: that of an earlier instance of the daemon on this machine; nil for a new one.
    init(
        _ number: Int, in store: SharedStore, _ jobs: [Job], instance: Int64 = 1,
        recorder: RecorderFixture? = nil
    ) throws {
        self.store = store
        self.number = number
        self.recorder = try recorder ?? RecorderFixture()
        let machine = MachineName("web\(number)")!
        let box = box
        driver = FleetDriver(
            jobs,
            dependencies: FleetDriver.Dependencies(
                configuration: FleetMember.Configuration(machine: machine), fleet: "prod",
                instance: instance, now: { store.now }, recorder: self.recorder.recorder,
                transport: SharedStore.Transport(store: store, machine: number),
                log: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() },
                start: { run in box.runs.withLock { $0.append(run) } },
                end: { run in box.ended.withLock { $0.append(run) } },
                show: { _ in }))
        driver.begin()
        // It reads what it remembers before it does anything; this reading comes after that one.
        _ = remembered()
    }

    private final class Box: Sendable {
        let runs = Mutex<[ClaimedRun]>([])
        let ended = Mutex<[Run.ID]>([])
    }

    /// The runs that were given to the agenda.
    var runs: [ClaimedRun] { box.runs.withLock { $0 } }

    /// The runs that were ended because this machine lost the store.
    var endedHere: [Run.ID] { box.ended.withLock { $0 } }

    var jobViews: [Job.Name: FleetJobView] {
        driver.executor.queue.sync {
            driver.assumeIsolated { $0.member?.jobViews(at: $0.dependencies.now()) ?? [:] }
        }
    }

    func jobView(_ job: Job.Name) -> FleetJobView? {
        driver.executor.queue.sync {
            driver.assumeIsolated { $0.member?.jobView(of: job, at: $0.dependencies.now()) }
        }
    }

    func machineRun(_ run: Run.ID) -> FleetJobView.MachineRun? {
        driver.executor.queue.sync {
            driver.assumeIsolated { $0.member?.machineRun(run) }
        }
    }

    /// Begins a command; the result has its answer once there is one.
    func command(_ command: FleetCommand) -> CommandResult {
        let result = CommandResult()
        driver.execute(command, by: "ada") { answer in
            result.answer.withLock { $0 = answer }
        }
        return result
    }

    final class CommandResult: Sendable {
        /// Nil: there is no answer yet.
        let answer = Mutex<FleetCommandResult?>(nil)

        var isDone: Bool { answer.withLock { $0.map { $0.refusal == nil } } ?? false }
        var refusal: String? { answer.withLock { $0?.refusal } }
        var run: Run.ID? {
            if case .requested(let run) = answer.withLock({ $0 }) { run } else { nil }
        }
    }

    /// Does what the agenda and the runner do with a run.
    func run(_ claimed: ClaimedRun, _ outcome: RunOutcome) {
        record(claimed)
        let now = store.now.wall
        driver.began(claimed.id, at: now)
        end(claimed, outcome)
    }

    func record(_ claimed: ClaimedRun) {
        recorder.recorder.write([.begin(run(of: claimed), released: true, at: store.now.wall)])
    }

    func end(_ claimed: ClaimedRun, _ outcome: RunOutcome) {
        let now = store.now.wall
        recorder.recorder.write([
            .close(claimed.id, outcome, RunUsage(), failed: outcome != .exited(0), at: now)
        ])
        driver.ended(claimed.id, outcome, at: now)
    }

    private func run(of claimed: ClaimedRun) -> Run {
        let job = Job(
            name: claimed.id.firing.job, command: .shell("x"), schedule: .every(.seconds(1)))
        let firing = Firing(
            id: claimed.id.firing, missed: claimed.missed, active: claimed.active,
            cause: .claimed(claimed.claim))
        return Run(firing: firing, attempt: claimed.id.attempt, job: job)
    }

    /// Waits until all that it wrote before is on the disk, and those that wait for that know it.
    func waitForDisk() {
        settle([self])
        let done = DispatchSemaphore(value: 0)
        recorder.recorder.write([], durable: true) { _ in done.signal() }
        #expect(done.wait(timeout: .now() + 20) == .success)
        settle([self])
    }

    /// What this machine remembers of its runs.
    func remembered() -> [Run.ID] {
        settle([self])
        let found = Mutex<[Run.ID]>([])
        let done = DispatchSemaphore(value: 0)
        recorder.recorder.read { store throws(StoreError) in
            try store.claimedRuns()
        } _: { result in
            if case .success(let records) = result {
                found.withLock { $0 = records.map(\.run) }
            }
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 20) == .success)
        return found.withLock { $0 }
    }
}

/// Waits until nothing happens any more on these machines at the present time.
func settle(_ machines: [FleetMachine]) {
    var (quiet, last) = (0, -1)
    for _ in 0..<10_000 where quiet < 5 {
        for machine in machines {
            machine.driver.executor.queue.sync {}
            machine.recorder.recorder.executor.queue.sync {}
        }
        let actions = machines[0].store.state.withLock { $0.actions }
        quiet = actions == last ? quiet + 1 : 0
        last = actions
    }
}

/// Lets time pass in small steps, in each of which the machines do what is due.
func pass(_ span: Duration, _ machines: [FleetMachine]) {
    let step = Duration.milliseconds(250)
    var left = span
    while left > .zero {
        machines[0].store.advance(min(step, left))
        left -= step
        for machine in machines { machine.driver.clocksChanged() }
        settle(machines)
    }
}
