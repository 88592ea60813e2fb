// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable public import TimerCore

/// A simulated machine around an agenda: clocks that advance only when the test says so, timers,
/// and a store that keeps what is written. It only executes the actions, like the shell.
struct World {
    /// It is nil only between `kill` and the next `load`.
    var agenda: Agenda!
    let concurrentRunsMax: Int
    let seed: UInt64
    var awake: Int64 = 1_000_000_000_000
    var wall: Int64 = 1_795_000_000_000_000
    var slept: Int64 = 0
    var boot = World.bootID(1)
    var heartbeat: Heartbeat?
    var instance: DaemonInstance.ID = 0
    var canSave = true
    var unstored: (Heartbeat.Unstored, since: AwakeInstant)?
    var lives: [DaemonInstance.ID: RecoveredState.PreviousInstance] = [:]
    var records: [Job.Name: JobRecord] = [:]
    var openRuns: [Run.ID: (Run, begun: Bool, BootID)] = [:]
    /// The runs whose rows say that they are released. Not all of them have begun.
    var released: Set<Run.ID> = []
    var timers: [Job.Name: AwakeInstant] = [:]
    var wallTimers: [Job.Name: WallInstant] = [:]
    var retryTimers: [Job.Name: AwakeInstant] = [:]
    /// The runs that were asked to end, and those that are suspended.
    var asked: [Run.ID] = []
    var suspended: Set<Run.ID> = []
    /// Whether runs continue when the daemon ends.
    var hasRunner = false
    /// How often a timer expired.
    var rings = 0
    var started: [Run] = []
    /// The checks of conditions that were asked for.
    var checks: [ConditionCheck] = []
    var closed: [Run.ID: RunOutcome] = [:]
    /// For the closed runs, whether they failed.
    var verdicts: [Run.ID: Bool] = [:]
    var recorded: [Run.ID: WallInstant] = [:]
    /// The jobs to which the runs belong.
    var owners: [Run.ID: Job.Name] = [:]
    var lastRuns: [Job.Name: RunSummary] = [:]
    var notices: [Notice] = []
    /// The notifiers of the configuration, what they were asked to tell, and the stored incidents.
    var notifiers: [Notifier] = []
    /// The slots of the configuration.
    var slots: [RunSlot] = []
    var outbox: [JobNotification] = []
    var incidents: [IncidentRecord.ID: IncidentRecord] = [:]
    var incidentTimer: WallInstant?
    /// The stored hold of the machine, and the timer of its end.
    var hold: MachineHold?
    var holdTimer: WallInstant?
    var lastSuccesses: [Job.Name: WallInstant] = [:]
    var lastSkips: [Job.Name: LastSkip] = [:]
    var answers: [Answer] = []
    /// The signals that were sent.
    var signals: [String] = []
    /// How many runs this instance closed, and how many firings it skipped.
    private var closes = 0
    private var skips = 0
    /// Whether the store cannot be written, and the actions that wait for it, with the number of
    /// their event and its time.
    var isStoreDown = false
    var unwritten: [(action: Action, event: UInt64, at: AwakeInstant)] = []

    init(concurrentRunsMax: Int = 64, seed: UInt64 = 0) {
        self.concurrentRunsMax = concurrentRunsMax
        self.seed = seed
    }

    static func bootID(_ number: Int) -> BootID {
        let digits = String(number, radix: 16)
        return BootID(String(repeating: "0", count: 32 - digits.count) + digits)!
    }

    var now: Now {
        Now(
            wall: WallInstant(microsecondsSinceEpoch: wall),
            awake: AwakeInstant(nanoseconds: awake),
            boot: BootInstant(nanoseconds: awake + slept), bootID: boot)
    }

    /// - Parameter canSave: whether the starting daemon can save anything before it ends again.
    mutating func load(_ jobs: [Job], canSave: Bool = true) {
        let previous = lives[lives.keys.max() ?? 0]
        instance += 1
        self.canSave = canSave
        if canSave {
            lives[instance] = RecoveredState.PreviousInstance(
                instance: instance, began: now, ended: nil)
        }
        let past = self.past(of: previous)
        unstored = canSave ? nil : (past.unstored(), now.awake)
        let actions: [Action]
        (agenda, actions) = Agenda.load(
            JobSet(jobs, notifiers: notifiers, slots: slots), past,
            concurrentRunsMax: concurrentRunsMax,
            seed: seed, at: now)
        (closes, skips) = (0, 0)
        count(actions)
        for action in actions { perform(action) }
    }

    /// What the store has for an instance that comes after this one.
    func past(of previous: RecoveredState.PreviousInstance?) -> RecoveredState {
        let open = openRuns.values.sorted { $0.0.id.description < $1.0.id.description }.map {
            RecoveredState.OpenRun(
                id: $0.0.id, of: owners[$0.0.id], firing: $0.0.firing, bootID: $0.2,
                isReleased: $0.begun || released.contains($0.0.id),
                recorded: recorded[$0.0.id], isLive: hasRunner && $0.begun)
        }
        return RecoveredState(
            instance: instance, previous: previous, heartbeat: heartbeat,
            records: Array(records.values), openRuns: open, lastRuns: lastRuns,
            lastSuccesses: lastSuccesses, lastSkips: lastSkips,
            incidents: Array(incidents.values), hold: hold)
    }

    @discardableResult
    mutating func handle(_ event: Event) -> [Action] {
        let actions = agenda.handle(event, at: now)
        count(actions)
        for action in actions { perform(action) }
        return actions
    }

    /// Whatever is stored of the end of runs, and logged of skipped firings, is counted once.
    mutating func count(_ actions: [Action]) {
        for action in actions {
            switch action {
            case .close: closes += 1
            case .log(.skipped): skips += 1
            default: break
            }
        }
        #expect(RunResult.allCases.map { Int(agenda.counts.runs[$0]) }.reduce(0, +) == closes)
        #expect(SkipKind.allCases.map { Int(agenda.counts.skips[$0]) }.reduce(0, +) == skips)
    }

    /// Lets awake time pass while the worker queue is blocked.
    mutating func block(_ span: Duration) { move(to: awake + span.wholeNanoseconds) }

    mutating func command(_ verb: JobCommand.Verb, _ job: Job.Name, note: String? = nil) -> Answer?
    {
        handle(.command(JobCommand(verb, job, by: .user("ada"), note: note)))
        return answers.last
    }

    func show(_ job: Job.Name) -> JobSnapshot { agenda.snapshot(of: job, at: now)! }

    mutating func endRuns(_ outcome: RunOutcome = .exited(0)) {
        let begun = openRuns.filter(\.value.begun).keys
        for id in begun.sorted(by: { $0.description < $1.description }) {
            suspended.remove(id)
            handle(.ended(id, outcome, RunUsage()))
        }
    }
}

extension Job.Name: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text)! }
}

extension TableName: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text)! }
}

extension Job {
    static func every(
        _ span: Duration, _ name: Job.Name = "backup", first: Duration? = nil, paused: Bool = false,
        command: Command = .arguments(["true"])
    ) -> Job {
        Job(name: name, command: command, schedule: .every(span), first: first, paused: paused)
    }

    static func after(_ span: Duration, _ name: Job.Name = "once") -> Job {
        Job(name: name, command: .arguments(["true"]), schedule: .after(span))
    }
}

extension Job {
    /// The job with another policy.
    func with(_ change: (inout Policy) -> Void) -> Job {
        var job = self
        change(&job.policy)
        return job
    }

    func counting(_ basis: TimeBasis) -> Job {
        var job = self
        job.count = basis
        return job
    }

    /// A job with this crontab line, in UTC.
    static func cron(_ line: String, _ name: Job.Name = "backup") throws -> Job {
        let schedule = WallSchedule([.cron(try CronSpec(line), .utc)])
        return Job(name: name, command: .arguments(["true"]), schedule: .wall(schedule))
    }
}

extension World {
    /// The skipped firings, and the reasons.
    var skipped: [(count: Int, reason: String)] {
        notices.compactMap {
            if case .skipped(let firing, let reason) = $0 {
                (firing.missed + 1, reason.word)
            } else {
                nil
            }
        }
    }

    /// The numbers of the attempts that were started, for all firings.
    var attempts: [Int] { started.map(\.id.attempt) }

    mutating func end(_ run: Run, _ outcome: RunOutcome = .exited(0)) {
        suspended.remove(run.id)
        handle(.ended(run.id, outcome, RunUsage()))
    }
}

extension Agenda {
    /// The preview of a reload, compared a few jobs at a time.
    func preview(_ jobSet: JobSet, at now: Now) -> ReloadPreview {
        var preview = ReloadPreview(jobSet)
        while preview.advance(in: self, count: 2, at: now) {}
        return preview
    }
}
