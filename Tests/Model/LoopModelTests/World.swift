// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import Synchronization
import TimerCore
import TimerStore

@testable import TimerDaemon

/// What outlives a daemon: the clock, the store, the processes of runs, and what people were told.
final class World {
    /// A process that the runner has, or whose end it still has to report.
    struct Process {
        let id: Run.ID
        /// What it holds of slots.
        let slots: [RunSlot.Use]
        var end: Int64
    }

    /// The slots of the configuration.
    static let slots = [("disk", 1), ("net", 2)].compactMap { name, max in
        RunSlot.Name(name).map { RunSlot(name: $0, max: max) }
    }

    private static let began = WallInstant(secondsSinceEpoch: 1_795_000_000)
    private static let bootID = BootID("0123456789abcdef0123456789abcdef")!

    /// Nanoseconds since the beginning.
    var time: Int64 = 0
    let store: Store
    private let folder: String
    private(set) var runs: [Run.ID: Process] = [:]
    private(set) var started: Set<Run.ID> = []
    private var released: Set<Run.ID> = []
    /// Runs that a daemon recorded which was killed since.
    private var former: Set<Run.ID> = []
    private var recorded: Set<Run.ID> = []
    let answers = Answers()
    /// The commands that were decided on each job, in their order.
    private var commands: [Job.Name: [Command]] = [:]
    private(set) var faults: [String] = []

    init() throws {
        folder = "/dev/shm/timerd-loop-model-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        store = try Store(path: "\(folder)/\(Store.fileName)")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var now: Now {
        let nanoseconds = 1_000_000_000_000 + time
        return Now(
            wall: Self.began + .nanoseconds(time), awake: AwakeInstant(nanoseconds: nanoseconds),
            boot: BootInstant(nanoseconds: nanoseconds), bootID: Self.bootID)
    }

    func expect(_ condition: Bool, _ fault: @autoclosure () -> String) {
        if !condition { faults.append("\(Double(time) / 1e9) s: \(fault())") }
    }

    // MARK: - The store

    func commit(_ changes: [Store.Change]) -> Set<Run.ID> {
        do {
            let refused = try store.commit(changes, durable: false)
            for change in changes {
                switch change {
                case .begin(let run, let isReleased, _):
                    recorded.insert(run.id)
                    if isReleased { released.insert(run.id) }
                case .setReleased(let runs, true): released.formUnion(runs)
                case .setReleased(let runs, false): released.subtract(runs)
                default: break
                }
            }
            return refused
        } catch {
            faults.append("the store refuses: \(error)")
            return []
        }
    }

    // MARK: - Chains

    /// What is stored at any moment: each end that a job follows has made exactly one run of it, or is
    /// kept for it; and no run was made after an end that is not stored.
    ///
    /// - Returns: how many runs were made after others.
    func checkChains(_ followers: [Job]) throws -> Int {
        let past = try store.history(of: nil, since: nil, failed: false, limit: .max)
        let recovered = try store.recover()
        let made =
            past.map { ($0.job, $0.cause) } + recovered.openRuns.map { ($0.job, $0.firing.cause) }
        var count = 0
        for follower in followers {
            guard let cause = follower.follows?.causes.first else { continue }
            var causes: [Run.ID: Int] = [:]
            for case (follower.name, let why) in made {
                guard let run = why.chain?.run else { continue }
                causes[run, default: 0] += 1
                count += 1
            }
            let record = recovered.records.first { $0.job == follower.name }
            for end in record?.chain ?? [] { causes[end.cause.run, default: 0] += 1 }
            for run in past where run.job == cause.job && cause.on.includes(run.summary.result) {
                let times = causes.removeValue(forKey: run.summary.id) ?? 0
                // Of the ends in a hold, the job runs after the last.
                let isJoined = wasHeld(from: run.ended, to: run.ended + cause.delay)
                expect(
                    times == 1 || (times == 0 && isJoined),
                    "\(follower.name) has \(times) runs after \(run.summary.id), \(run.summary.outcome)"
                )
            }
            expect(causes.isEmpty, "\(follower.name) ran after \(causes), which did not end so")
        }
        return count
    }

    // MARK: - Limits

    /// How a run ends, if nothing stops it before: some fail.
    static func outcome(of run: Run.ID) -> RunOutcome {
        .exited(run.firing.scheduled.microsecondsSinceEpoch % 7 == 0 ? 1 : 0)
    }

    /// What is stored at any moment: each run that counts for `max-runs` or `max-successes` is counted
    /// once, and no further one was made.
    func checkLimits(_ jobs: [Job]) throws {
        let past = try store.history(of: nil, since: nil, failed: false, limit: .max)
        let recovered = try store.recover()
        for job in jobs {
            guard let limit = job.limit else { continue }
            let tally = recovered.records.first { $0.job == job.name }?.tally ?? RunTally()
            let ended = past.filter { $0.job == job.name }
            if let most = limit.runs {
                let made =
                    ended.count + recovered.openRuns.count { $0.job == job.name }
                expect(
                    made == tally.runs && made <= most,
                    "\(job.name) has \(made) runs of at most \(most), and \(tally.runs) are counted"
                )
            }
            if limit.successes != nil {
                let succeeded = ended.count { $0.summary.result == .success }
                expect(
                    succeeded == tally.successes,
                    "\(job.name) has \(succeeded) runs that succeeded, and \(tally.successes) are counted"
                )
            }
        }
    }

    // MARK: - Runs

    /// How many conditions the runner was asked for.
    private(set) var checkCount = 0

    /// The condition of a run is asked for once it is recorded, and before it is released.
    func noteCheck(of run: Run) {
        checkCount += 1
        expect(recorded.contains(run.id), "\(run.id) is checked before it is recorded")
        expect(!released.contains(run.id), "\(run.id) is checked after it was released")
    }

    /// The runner starts a run, whose program begins at this instant or at once.
    ///
    /// - Returns: when its process ends.
    func start(_ run: Run, from decided: AwakeInstant, _ random: inout SeededRandom) -> Int64 {
        let begin = max(decided, now.awake)
        let wall = now.wall + (begin - now.awake)
        expect(started.insert(run.id).inserted, "\(run.id) starts twice")
        expect(released.contains(run.id), "\(run.id) starts before it is on the disk")
        // A waiting run of a daemon that was killed was decided ahead of the clocks, and the next one
        // starts it at once.
        let most: Duration =
            former.contains(run.id) ? EarlyFiring.lead + EarlyFiring.gathering : .microseconds(1)
        if let heldSince {
            expect(decided <= heldSince, "\(run.id) was decided while the machine is held")
        }
        if let window = run.job.window {
            let at = now.wall + (decided - now.awake)
            expect(window.isOpen(at: at), "\(run.id) was decided at \(at), outside its window")
        }
        let early = run.id.firing.scheduled - wall
        expect(early <= most, "\(run.id) starts \(early) early")
        let span = random.int(below: 4) == 0 ? 3_000_000_000 : 200_000_000
        checkSlots(of: run)
        let end = time + (begin - now.awake).wholeNanoseconds + Int64(random.int(below: span))
        runs[run.id] = Process(id: run.id, slots: run.job.policy.slots, end: end)
        return end
    }

    /// The processes that have not ended, and this one, hold no more of a slot than it has.
    private func checkSlots(of run: Run) {
        for use in run.job.policy.slots {
            let held = runs.values.filter { $0.end > time }.flatMap(\.slots)
                .filter { $0.name == use.name }.reduce(0) { $0 + $1.weight }
            let max = Self.slots.first { $0.name == use.name }?.max ?? 0
            expect(
                held + use.weight <= max,
                "\(run.id) takes \(use.weight) of the slot \(use.name), of which \(held) of \(max) is held"
            )
        }
    }

    /// A run is asked to end.
    func endSoon(_ run: Run.ID) -> Int64 {
        let end = time + 1_000_000
        runs[run]?.end = end
        return end
    }

    /// The end of a run is saved, so that the runner need not keep it.
    func forget(_ run: Run.ID) { runs[run] = nil }

    // MARK: - Commands

    /// Since when the machine is held; nil while it is not.
    private var heldSince: AwakeInstant? {
        didSet {
            if oldValue == nil, heldSince != nil { heldSpans.append((now.wall, nil)) }
            if oldValue != nil, heldSince == nil { heldSpans[heldSpans.count - 1].end = now.wall }
        }
    }
    /// When the machine was held.
    private var heldSpans: [(begin: WallInstant, end: WallInstant?)] = []

    /// Whether the machine was held for some of this time, to the accuracy with which an end is reported.
    private func wasHeld(from begin: WallInstant, to end: WallInstant) -> Bool {
        heldSpans.contains { span in
            span.begin <= end + .seconds(1) && span.end.map { $0 >= begin - .seconds(1) } ?? true
        }
    }

    /// Whether it was held when this daemon started, and what was commanded since.
    private var holds: [(isHeld: Bool, number: Int)] = [(false, 0)]

    func decided(_ isHeld: Bool, _ number: Int) {
        holds.append((isHeld, number))
        heldSince = isHeld ? heldSince ?? now.awake : nil
    }

    /// Compares the stored hold with what was commanded, after a kill: what was answered is there.
    func checkHold() throws {
        let isStored = try store.recover().hold != nil
        let last = holds.lastIndex { answers.contains($0.number) } ?? 0
        expect(
            holds[last...].contains { $0.isHeld == isStored },
            "the machine is \(isStored ? "held" : "not held"), after \(holds)")
        holds = [(isStored, 0)]
        heldSince = isStored ? AwakeInstant(nanoseconds: 0) : nil
    }

    func decided(_ command: Command, on job: Job.Name) {
        commands[job, default: []].append(command)
    }

    /// Compares the stored jobs with what was commanded, after a kill: what was answered is there, and
    /// a command for many jobs is there for all of them or for none.
    func checkCommands() throws {
        former = recorded
        let records = try store.recover().records
        let stored = Dictionary(
            uniqueKeysWithValues: records.map { ($0.job, Self.state(of: $0)) })
        // Nothing pauses a job any more that has had all of its runs.
        let finished = Set(records.filter { $0.phase == .finished }.map(\.job))
        for job in finished { commands[job] = nil }
        var kept: [Job.Name: Int] = [:]
        for (job, given) in commands {
            let last = given.lastIndex { answers.contains($0.number) } ?? -1
            let state = stored[job] ?? .running
            // The latest command that explains what is stored; -1: none was necessary.
            let place = given.indices.reversed().first { given[$0].state == state }
            let index = place ?? (state == .running ? -1 : -2)
            expect(index >= last, "\(job) is \(state), after \(story(of: given))")
            kept[job] = index
        }
        for (job, given) in commands {
            guard let index = kept[job], index >= 0, given[index].isForMany,
                case .paused = given[index].state
            else { continue }
            let command = given[index]
            for other in command.jobs where !finished.contains(other) {
                let places = commands[other] ?? []
                let place = places.firstIndex { $0.number == command.number } ?? .max
                expect(
                    (kept[other] ?? -1) >= place,
                    "command \(command.number) is saved for \(job) and not for \(other)")
            }
        }
        commands = commands.mapValues { given in given.filter { answers.contains($0.number) } }
        for (job, index) in kept where index >= 0 { settle(job, stored[job] ?? .running) }
    }

    /// The commands about a job, and which of them were answered.
    private func story(of given: [Command]) -> String {
        given.map { "\($0.state)\(answers.contains($0.number) ? ", answered" : "")" }
            .joined(separator: "; ")
    }

    /// From here on, what is stored of a job is what counts.
    private func settle(_ job: Job.Name, _ state: Command.State) {
        let given = commands[job] ?? []
        if given.last?.state != state {
            let settled = Command(number: 0, state: state, jobs: [job])
            commands[job] = given + [settled]
            answers.note(0)
        }
    }

    private static func state(of record: JobRecord) -> Command.State {
        guard case .paused(let pause) = record.phase, !pause.isOfHold else { return .running }
        return .paused(pause.note ?? "")
    }
}

/// A command of somebody about some jobs.
struct Command: Sendable {
    enum State: Hashable, Sendable {
        case running
        case paused(String)
    }

    let number: Int
    /// What it makes of a job.
    let state: State
    let jobs: [Job.Name]
    /// The jobs that it has not reached.
    var rest: ArraySlice<Job.Name>

    init(number: Int, state: State, jobs: [Job.Name]) {
        self.number = number
        self.state = state
        self.jobs = jobs
        rest = jobs[...]
    }

    var isForMany: Bool { jobs.count > 1 }

    func command(for job: Job.Name) -> JobCommand {
        switch state {
        case .running: JobCommand(.resume, job, by: .user("root"))
        case .paused(let note): JobCommand(.pause, job, by: .user("root"), note: note)
        }
    }
}

/// The numbers of the commands that were answered.
final class Answers: Sendable {
    private let numbers = Mutex<Set<Int>>([])

    func note(_ number: Int) { numbers.withLock { _ = $0.insert(number) } }
    func contains(_ number: Int) -> Bool { numbers.withLock { $0.contains(number) } }
    var count: Int { numbers.withLock { $0.count } }
}

/// Which callbacks of writes were called.
final class DoneWrites: Sendable {
    private let numbers = Mutex<[Int]>([])

    func note(_ number: Int) { numbers.withLock { $0.append(number) } }
    func take() -> [Int] {
        numbers.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
    }
}

/// The timers that are set.
final class AlarmTable: Sendable {
    struct Alarm: Sendable {
        let id: Int
        let job: Job.Name
        let at: Int64
    }

    private let alarms = Mutex<[Int: Alarm]>([:])
    private let count = Mutex(0)

    func makeID() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func set(_ alarm: Alarm) { alarms.withLock { $0[alarm.id] = alarm } }
    func remove(_ id: Int) { alarms.withLock { $0[id] = nil } }
    /// The first that fires.
    var next: Alarm? {
        alarms.withLock { $0.values.min { ($0.at, $0.id) < ($1.at, $1.id) } }
    }
    /// When the first timer of this job fires.
    func first(of job: Job.Name) -> Int64? {
        alarms.withLock { $0.values.filter { $0.job == job }.map(\.at).min() }
    }
}

struct SimulatedTimer: OneShotTimer {
    private let job: Job.Name
    private let id: Int
    private let table: AlarmTable

    init(job: Job.Name, _ table: AlarmTable) {
        (self.job, self.table) = (job, table)
        id = table.makeID()
    }

    func arm(at instant: AwakeInstant) {
        table.set(.init(id: id, job: job, at: instant.nanoseconds - 1_000_000_000_000))
    }

    func arm(at instant: WallInstant) {
        let microseconds = instant.microsecondsSinceEpoch - 1_795_000_000_000_000
        table.set(.init(id: id, job: job, at: microseconds * 1000))
    }

    func cancel() { table.remove(id) }
}
