// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A simulated machine: its clocks advance at once to the next event of the agenda, simulated
/// events come at given times, and runs take a given time. The agenda is the daemon's own.
struct Simulation {
    /// An event of the machine or of the daemon.
    enum SimulatedEvent: Hashable, Sendable {
        case pause(Job.Name)
        case resume(Job.Name)
        /// The machine sleeps for this time.
        case sleep(Duration)
        /// The wall clock is set by this difference.
        case step(Duration)
        /// The daemon stops cleanly, and the machine is off for this time.
        case reboot(Duration)
    }

    /// What the simulation reports, in the order of time.
    enum Line: Hashable, Sendable {
        case fault(SimulatedEvent, at: WallInstant)
        case logged(Notice, at: WallInstant)
    }

    /// The clock by which all events are ordered: how long the machine has existed.
    private var elapsed: Duration = .zero
    private var now: Now
    private var agenda: Agenda
    /// The actions that the agenda returned when it was first loaded.
    private let firstActions: [Action]
    private let jobSet: JobSet
    private let seed: UInt64
    private let concurrentRunsMax: Int
    private let runTime: @Sendable (Job.Name) -> Duration
    private let fails: Set<Job.Name>
    private var records: [Job.Name: JobRecord] = [:]
    private var lives: Int64 = 1
    private var previous: RecoveredState.PreviousInstance?
    /// When the active runs will end, the latest first.
    private var ends: [(run: Run.ID, at: Duration)] = []
    private let report: (Line) -> Void

    /// A machine whose clocks read `start` when it is switched on and the daemon starts.
    ///
    /// - Parameters:
    ///   - runTime: how long the runs of a job take.
    ///   - fails: the jobs whose runs all fail.
    ///   - report: called with each line.
    init(
        _ jobSet: JobSet, from start: WallInstant, concurrentRunsMax: Int, seed: UInt64,
        runTime: @escaping @Sendable (Job.Name) -> Duration, fails: Set<Job.Name> = [],
        report: @escaping (Line) -> Void
    ) {
        self.jobSet = jobSet
        self.seed = seed
        self.concurrentRunsMax = concurrentRunsMax
        self.runTime = runTime
        self.fails = fails
        self.report = report
        now = Now(
            wall: start, awake: AwakeInstant(nanoseconds: 0), boot: BootInstant(nanoseconds: 0),
            bootID: Self.bootID(1))
        let past = RecoveredState(instance: lives)
        previous = RecoveredState.PreviousInstance(instance: lives, began: now, ended: nil)
        (agenda, firstActions) = Agenda.load(
            jobSet, past, concurrentRunsMax: concurrentRunsMax, seed: seed, at: now)
    }

    /// Simulates until the wall clock reads `end`. A simulated event happens when that clock first
    /// reads its instant.
    ///
    /// - Complexity: O(*f* log *n*) for *f* firings of *n* jobs.
    mutating func run(until end: WallInstant, faults: [(at: WallInstant, fault: SimulatedEvent)]) {
        var faults = faults.sorted { $0.at < $1.at }[...]
        perform(firstActions)
        while true {
            let limit = faults.first.map { min($0.at, end) } ?? end
            let toLimit = max(.zero, limit - now.wall)
            let toRing = agenda.nextRing(at: now)
            let toEnd = ends.last.map { max(.zero, $0.at - elapsed) }
            // A run that is due at the same instant as a simulated event comes first.
            if let toEnd, toEnd <= toLimit, toEnd <= toRing?.after ?? toEnd {
                pass(toEnd)
                endRun()
            } else if let toRing, toRing.after <= toLimit {
                // Timers of the wall clock have a resolution of a microsecond.
                pass(toRing.after)
                handle(.wake(toRing.job))
            } else {
                pass(toLimit)
                guard let next = faults.popFirst(), next.at <= end else { return }
                apply(next.fault)
            }
        }
    }

    private mutating func pass(_ span: Duration) {
        elapsed += span
        now.wall = now.wall + span
        now.awake = now.awake + span
        now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + span.wholeNanoseconds)
    }

    // MARK: - The daemon

    private mutating func begin() {
        lives += 1
        let past = RecoveredState(
            instance: lives, previous: previous, records: Array(records.values))
        previous = RecoveredState.PreviousInstance(instance: lives, began: now, ended: nil)
        let actions: [Action]
        (agenda, actions) = Agenda.load(
            jobSet, past, concurrentRunsMax: concurrentRunsMax, seed: seed, at: now)
        perform(actions)
    }

    private mutating func handle(_ event: Event) { perform(agenda.handle(event, at: now)) }

    private mutating func perform(_ actions: [Action]) {
        var checks: [ConditionCheck] = []
        for action in actions {
            switch action {
            case .begin(_, let start, let saved):
                for record in saved { records[record.job] = record }
                start.forEach { startRun($0) }
            case .start(let runs), .startReleased(let runs): runs.forEach { startRun($0) }
            case .end(let run, _):
                if let index = ends.firstIndex(where: { $0.run == run }) {
                    ends.append((run, elapsed))
                    ends.remove(at: index)
                }
            case .check(let wanted): checks += wanted
            case .save(let saved, _): for record in saved { records[record.job] = record }
            case .storeJobSet(let change, _):
                for renaming in change.renamed { records[renaming.from] = nil }
                change.renewal?.apply(to: &records)
                for record in change.records { records[record.job] = record }
                for job in change.erased { records[job] = nil }
            case .log(let notice): report(.logged(notice, at: now.wall))
            case .arm, .armAt, .disarm, .armRetry, .disarmRetry, .signal, .suspend, .resume, .close,
                .answer, .notify, .armIncidents, .armHold, .decline, .withdraw:
                break
            }
        }
        // What will be true on the machine is not known: every condition counts as met.
        for check in checks { handle(.checked(check.run.id, number: check.number, .yes)) }
    }

    private mutating func startRun(_ run: Run) {
        let end = elapsed + runTime(run.id.firing.job)
        // The latest comes first. Of several ends at one instant, the run that started last ends
        // last.
        let index = ends.firstIndex { $0.at <= end } ?? ends.endIndex
        ends.insert((run.id, end), at: index)
    }

    private mutating func endRun() {
        guard let run = ends.popLast()?.run else { return }
        let outcome = RunOutcome.exited(fails.contains(run.firing.job) ? 1 : 0)
        handle(.ended(run, outcome, RunUsage(elapsed: runTime(run.firing.job))))
    }

    // MARK: - Faults

    private mutating func apply(_ fault: SimulatedEvent) {
        report(.fault(fault, at: now.wall))
        switch fault {
        case .pause(let job): handle(.command(JobCommand(.pause, job, by: .user("you"))))
        case .resume(let job): handle(.command(JobCommand(.resume, job, by: .user("you"))))
        case .sleep(let span):
            now.wall = now.wall + span
            now.boot = BootInstant(nanoseconds: now.boot.nanoseconds + span.wholeNanoseconds)
            handle(.clockChanged)
        case .step(let span):
            now.wall = now.wall + span
            handle(.clockChanged)
        case .reboot(let span): reboot(off: span)
        }
    }

    private mutating func reboot(off span: Duration) {
        handle(.shutdown)
        while let run = ends.popLast()?.run { handle(.ended(run, .stopped, RunUsage())) }
        previous?.ended = now
        now = Now(
            wall: now.wall + span, awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: Self.bootID(lives + 1))
        elapsed += span
        begin()
    }

    private static func bootID(_ number: Int64) -> BootID {
        let digits = String(number, radix: 16)
        // 32 hexadecimal digits are a valid boot id.
        return BootID(String(repeating: "0", count: 32 - digits.utf8.count) + digits)!
    }
}
