// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// A simulated machine around an agenda: its clocks, its timers, its store and the processes of its
/// runs. It executes the actions and records all events and observations. It makes no decisions.
final class Machine {
    /// A row of a run that was not closed.
    struct Row {
        var run: Run
        var owner: Job.Name
        var isBegun: Bool
        var boot: BootID
        var recorded: WallInstant
    }

    /// A process.
    struct Alive {
        var id: Run.ID
        var job: Int
        var ends: Int64
        var outcome: PlainOutcome
        /// The remaining time when it was suspended.
        var left: Int64?
    }

    static let names = 8
    static let allNames: [Job.Name] = (0..<names).compactMap { Job.Name(Script.letter($0)) }
    static let initiator = Initiator.user("ada")

    var timeline = Timeline()
    /// The number of events of each kind.
    var counts = Counts()

    /// It is nil only while no daemon runs.
    var agenda: Agenda!
    var random: UInt64
    var wall: Int64
    var awake: Int64
    var asleep: Int64 = 0
    var bootNumber = 1
    var boot = Machine.bootID(1)

    var instance: DaemonInstance.ID = 0
    var previous: RecoveredState.PreviousInstance?
    var began: Now
    var beat: Heartbeat?
    var records: [JobRecord?] = Array(repeating: nil, count: Machine.names)
    var rows: [Row] = []
    /// The latest closed run of each job.
    var lastRuns: [Job.Name: RunSummary] = [:]
    /// The identities of the attempts that were recorded, so that a duplicate is detected.
    var recorded: Set<Run.ID> = []

    /// The stored incidents, and what the current event showed.
    var incidents: [IncidentRecord.ID: IncidentRecord] = [:]
    var episode = Episode()
    var ends: [(place: Int, owner: Job.Name, run: Run.ID)] = []
    var newRows: [Run.ID] = []

    var timers: [Int64?] = Array(repeating: nil, count: Machine.names)
    var wallTimers: [Int64?] = Array(repeating: nil, count: Machine.names)
    var retryTimers: [Int64?] = Array(repeating: nil, count: Machine.names)
    var alive: [Alive] = []

    var jobs: [PlainJob]
    var edited: [PlainJob]
    var clocksJumped = false
    /// Whether the clock was set and has not been read since.
    var isSet = false
    /// By how much the clock was set back in total. A starting daemon sees several small steps as
    /// one correction.
    var setBack: Int64 = 0
    /// Names whose records were removed.
    var renamed: Set<Int> = []
    /// Whether a scheduled time was repeated where that is allowed: then this machine cannot be
    /// checked further.
    var isSpoilt = false {
        didSet { counts.told += budget * 2 }
    }
    /// How many events happened at one instant.
    var atOnce = 0
    let budget: Int

    /// The number of events that were passed to the daemon, and the number of each kind.
    struct Counts {
        var told = 0, wakes = 0, orders = 0, ends = 0, failures = 0, loads = 0, checkpoints = 0
        var blocks = 0, sleeps = 0, sets = 0, corrections = 0, reloads = 0
        var stops = 0, kills = 0, powerCuts = 0, reboots = 0

        static func += (sum: inout Counts, one: Counts) {
            sum.told += one.told
            sum.wakes += one.wakes
            sum.orders += one.orders
            sum.ends += one.ends
            sum.failures += one.failures
            sum.loads += one.loads
            sum.checkpoints += one.checkpoints
            sum.blocks += one.blocks
            sum.sleeps += one.sleeps
            sum.sets += one.sets
            sum.corrections += one.corrections
            sum.reloads += one.reloads
            sum.stops += one.stops
            sum.kills += one.kills
            sum.powerCuts += one.powerCuts
            sum.reboots += one.reboots
        }
    }

    private static func bootID(_ number: Int) -> BootID {
        let digits = String(number, radix: 16)
        return BootID(String(repeating: "0", count: 32 - digits.count) + digits)!
    }

    /// Executes a script and returns all events and observations. It ends early after this many
    /// events for the daemon.
    static func run(_ script: Script, budget: Int = 300) -> (timeline: Timeline, counts: Counts) {
        let machine = Machine(script, budget: budget)
        machine.load()
        for step in script.steps where machine.counts.told < budget {
            machine.take(step)
        }
        machine.stir()
        machine.pass(Unit.second)
        return (machine.timeline, machine.counts)
    }

    private init(_ script: Script, budget: Int) {
        random = script.seed
        wall = script.wall
        awake = 1000 * Unit.second
        jobs = script.jobs
        edited = script.jobs
        self.budget = budget
        timeline.wall = wall
        timeline.awake = awake
        timeline.runsMax = script.runsMax
        timeline.seed = script.seed
        began = Now(
            wall: WallInstant(microsecondsSinceEpoch: 0), awake: AwakeInstant(nanoseconds: 0),
            boot: BootInstant(nanoseconds: 0), bootID: boot)
    }

    var now: Now { reading(before: 0) }

    /// The reading of the clocks this much awake time ago.
    func reading(before span: Int64) -> Now {
        Now(
            wall: WallInstant(microsecondsSinceEpoch: (wall - span) / Unit.microsecond),
            awake: AwakeInstant(nanoseconds: awake - span),
            boot: BootInstant(nanoseconds: awake + asleep - span), bootID: boot)
    }

    func draw(below bound: UInt64) -> UInt64 {
        random &+= 0x9e37_79b9_7f4a_7c15
        var mixed = random
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return (mixed ^ (mixed >> 31)) % bound
    }

    // MARK: - Steps

    func take(_ step: Step) {
        switch step {
        case .pass(let span):
            stir()
            pass(span)
        case .block(let span):
            stir()
            counts.blocks += 1
            move(span, .blocked)
        case .sleep(let span, let quiet):
            counts.sleeps += 1
            append(.passed(.asleep, span))
            asleep += span
            wall += span
            clocksJumped = true
            if !quiet { stir() }
        case .set(let span, let quiet):
            // Two changes could not be distinguished from their sum, so the reading between them is
            // observed.
            if isSet { stir() }
            isSet = true
            counts.sets += 1
            if abs(span) >= 3 * Unit.hour { counts.corrections += 1 }
            setBack += max(0, -span)
            append(.passed(.step, span))
            wall += span
            clocksJumped = true
            if !quiet { stir() }
        case .down(let death, let since, let gaps, let runsLiveOn):
            goDown(death, since, gaps, runsLiveOn: runsLiveOn)
        case .order(let verb, let job, let until, let withRun, let count):
            order(verb, job, until: until.map { wall + $0 }, withRun: withRun, count: count)
        case .checkpoint:
            counts.checkpoints += 1
            tell(.checkpoint(), .checkpoint)
        case .edit(let job):
            edited.removeAll { $0.name == job.name }
            edited.append(job)
        case .remove(let job): edited.removeAll { $0.name == job }
        case .reload:
            counts.reloads += 1
            reload()
        }
    }

    /// Some reloads are divided into portions, with time between them. For the checker each portion
    /// is a separate reload, to a configuration in which some jobs are already new.
    private func reload() {
        let old = jobs
        configure()
        let new = jobs
        let isWhole = draw(below: 3) == 0
        var event = Event.reload(jobSet(new), portion: isWhole ? .max : 1)
        while true {
            tell(event) { .reload(agenda.isReloading ? mixture(of: old, new) : new) }
            guard agenda.isReloading, !isSpoilt else { return }
            event = .reloadMore
            guard draw(below: 2) == 0, counts.told < budget else { continue }
            stir()
            pass(Int64(draw(below: 20)) * Unit.second)
        }
    }

    private func mixture(of old: [PlainJob], _ new: [PlainJob]) -> [PlainJob] {
        agenda.jobs.compactMap { job in
            new.first { Job($0) == job } ?? old.first { Job($0) == job }
        }
    }

    /// Uses the configuration as it was edited.
    private func configure() {
        jobs = edited
        // The configuration parser requires this: only one job can take over the state of a name,
        // and none while a job of that name exists.
        var successors: [Int] = []
        for index in jobs.indices {
            guard let old = jobs[index].renamedFrom else { continue }
            if successors.contains(old) || jobs.contains(where: { $0.name == old }) {
                jobs[index].renamedFrom = nil
            }
            successors.append(old)
        }
    }

    /// The report that the machine slept or that its clock was set comes before any time passes,
    /// but a timer that is overdue may expire first.
    func stir() {
        guard clocksJumped else { return }
        clocksJumped = false
        if let ring = nextRing(), ring.at <= awake, draw(below: 3) == 0 { rouse(ring.job) }
        tell(.clockChanged, .clockChanged)
    }

    func order(
        _ verb: PlainVerb, _ job: Int, until: Int64?, withRun: Bool, count: Int
    ) {
        counts.orders += 1
        let real: Order.Verb =
            switch verb {
            case .pause: .pause
            case .resume: .resume
            case .start: .start
            case .stop: .stop
            case .run: .run
            case .skipNext: .skipNext
            case .kill: .kill
            }
        let end = until.map {
            Order.PauseEnd.at(WallInstant(microsecondsSinceEpoch: $0 / Unit.microsecond))
        }
        tell(
            .order(
                Order(
                    real, Self.allNames[job], by: Self.initiator, until: end, withRun: withRun,
                    count: count)),
            .order(verb, job, until: until, withRun: withRun, count: count))
    }

    // MARK: - Daemon instances

    func load() {
        counts.loads += 1
        func isAlive(_ row: Row) -> Bool { alive.contains { $0.id == row.run.id } }
        let open = rows.sorted {
            return ($0.run.id.firing.scheduled, $0.run.id.firing.job, $0.run.id.attempt)
                < ($1.run.id.firing.scheduled, $1.run.id.firing.job, $1.run.id.attempt)
        }.map { row in
            RecoveredState.OpenRun(
                id: row.run.id, of: row.owner, firing: row.run.firing, bootID: row.boot,
                wasSpawned: row.isBegun,
                recorded: row.recorded, isLive: isAlive(row))
        }
        instance += 1
        began = now
        let past = RecoveredState(
            instance: instance, previous: previous, heartbeat: beat,
            records: records.compactMap(\.self),
            openRuns: open, lastRuns: lastRuns, incidents: Array(incidents.values))
        tell(.load(jobs)) {
            let (agenda, actions) = Agenda.load(
                jobSet(jobs), past, concurrentRunsMax: timeline.runsMax,
                seed: timeline.seed, at: now)
            self.agenda = agenda
            return actions
        }
    }

    func goDown(
        _ death: Death, _ sinceCheckpoint: Int64, _ gaps: [Gap], runsLiveOn: Bool
    ) {
        stir()
        if death == .stopped {
            counts.stops += 1
            tell(.shutdown, .shutdown)
            configure()
        } else {
            // There is one checkpoint every 25 s.
            tell(.checkpoint(), .checkpoint)
            pass(sinceCheckpoint)
            stir()
            if death == .killed { counts.kills += 1 } else { counts.powerCuts += 1 }
        }
        previous = RecoveredState.PreviousInstance(
            instance: instance, began: began, ended: death == .stopped ? now : nil)
        let liveOn = runsLiveOn && death != .powerCut
        append(.died(death, runsLiveOn: liveOn))
        if !liveOn { alive = [] }
        for index in alive.indices where alive[index].left != nil { resume(index) }
        agenda = nil
        for job in 0..<Self.names {
            timers[job] = nil
            wallTimers[job] = nil
            retryTimers[job] = nil
        }
        if death == .powerCut {
            if case .reboot = gaps.first {} else { reboot(10 * Unit.second, isWrongBy: 0) }
        }
        for gap in gaps { take(gap) }
        load()
    }

    func take(_ gap: Gap) {
        switch gap {
        case .awake(let span):
            append(.passed(.awake, span))
            awake += span
            wall += span
        case .asleep(let span):
            append(.passed(.asleep, span))
            asleep += span
            wall += span
        case .set(let span):
            if abs(span) >= 3 * Unit.hour { counts.corrections += 1 }
            setBack += max(0, -span)
            append(.passed(.step, span))
            wall += span
        case .reboot(let span, let wrong): reboot(span, isWrongBy: wrong)
        }
    }

    func reboot(_ span: Int64, isWrongBy wrong: Int64) {
        counts.reboots += 1
        setBack += max(0, -wrong)
        alive = []
        beat = nil
        append(.passed(.off, span))
        append(.booted)
        if wrong != 0 { append(.passed(.step, wrong)) }
        wall += span + wrong
        awake = 0
        asleep = 0
        bootNumber += 1
        boot = Self.bootID(bootNumber)
        take(.awake(5 * Unit.second))
    }
}
