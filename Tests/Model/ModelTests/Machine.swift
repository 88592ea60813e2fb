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
        /// When its process started, by the wall clock, as far as the daemon knows.
        var began: Int64?
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
    static let slotNames = ["disk", "net"].compactMap { RunSlot.Name($0) }
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
    /// The reading of `awake` at the last event.
    var lastTold: Int64 = 0
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
    /// When each job last succeeded.
    var lastSuccesses: [Job.Name: WallInstant] = [:]
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
    /// The timer for incidents, by the wall clock.
    var incidentTimer: Int64?
    /// The processes of which the daemon is not told yet that they started, and when it is.
    var beginnings: [(run: Run.ID, at: Int64)] = []
    /// The checks that are not answered yet, and when they are.
    var checks: [(check: ConditionCheck, number: Int64, answer: PlainAnswer, at: Int64)] = []
    /// How many checks were asked for.
    var checkCount: Int64 = 0
    var watch = WatchEpisode()
    /// Whether only awake time passed since the last event.
    var isUndisturbed = false
    /// Whether the wall clock was set since the last event.
    var wasSet = false

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
        var told = 0, wakes = 0, commands = 0, ends = 0, failures = 0, loads = 0, checkpoints = 0
        var checks = 0
        var blocks = 0, sleeps = 0, sets = 0, corrections = 0, reloads = 0
        var stops = 0, kills = 0, powerCuts = 0, reboots = 0

        static func += (sum: inout Counts, one: Counts) {
            sum.told += one.told
            sum.wakes += one.wakes
            sum.checks += one.checks
            sum.commands += one.commands
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

    static func bootID(_ number: Int) -> BootID {
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
        timeline.slots = script.slots
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

    /// Some reloads are divided into portions, with time between them. For the checker each portion
    /// is a separate reload, to a configuration in which some jobs are already new.
    func reload() {
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
    func configure() {
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

    func command(
        _ verb: PlainVerb, _ job: Int, until: Int64?, withRun: Bool, count: Int
    ) {
        counts.commands += 1
        let real: JobCommand.Verb =
            switch verb {
            case .pause: .pause
            case .resume: .resume
            case .start: .start
            case .stop: .stop
            case .run, .force: .run
            case .skipNext: .skipNext
            case .kill: .kill
            }
        let end = until.map {
            JobCommand.PauseEnd.at(WallInstant(microsecondsSinceEpoch: $0 / Unit.microsecond))
        }
        tell(
            .command(
                JobCommand(
                    real, Self.allNames[job], by: Self.initiator, until: end, withRun: withRun,
                    count: count, isForced: verb == .force)),
            .command(verb, job, until: until, withRun: withRun, count: count))
    }

    // MARK: - Daemon instances
}
