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
    private var canSave = true
    private var unstored: (Heartbeat.Unstored, since: AwakeInstant)?
    var lives: [DaemonInstance.ID: RecoveredState.PreviousInstance] = [:]
    var records: [Job.Name: JobRecord] = [:]
    var openRuns: [Run.ID: (Run, begun: Bool, BootID)] = [:]
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
    var outbox: [JobNotification] = []
    var incidents: [IncidentRecord.ID: IncidentRecord] = [:]
    var incidentTimer: WallInstant?
    private var lastSuccesses: [Job.Name: WallInstant] = [:]
    private var lastSkips: [Job.Name: LastSkip] = [:]
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
        let open = openRuns.values.sorted { $0.0.id.description < $1.0.id.description }.map {
            RecoveredState.OpenRun(
                id: $0.0.id, of: owners[$0.0.id], firing: $0.0.firing, bootID: $0.2,
                wasSpawned: $0.begun,
                recorded: recorded[$0.0.id], isLive: hasRunner && $0.begun)
        }
        let past = RecoveredState(
            instance: instance, previous: previous, heartbeat: heartbeat,
            records: Array(records.values), openRuns: open, lastRuns: lastRuns,
            lastSuccesses: lastSuccesses, lastSkips: lastSkips,
            incidents: Array(incidents.values))
        unstored = canSave ? nil : (past.unstored(), now.awake)
        let actions: [Action]
        (agenda, actions) = Agenda.load(
            JobSet(jobs, notifiers: notifiers), past, concurrentRunsMax: concurrentRunsMax,
            seed: seed, at: now)
        (closes, skips) = (0, 0)
        count(actions)
        for action in actions { perform(action) }
    }

    @discardableResult
    mutating func handle(_ event: Event) -> [Action] {
        let actions = agenda.handle(event, at: now)
        count(actions)
        for action in actions { perform(action) }
        return actions
    }

    /// Whatever is stored of the end of runs, and logged of skipped firings, is counted once.
    private mutating func count(_ actions: [Action]) {
        for action in actions {
            switch action {
            case .close: closes += 1
            case .tell(.skipped): skips += 1
            default: break
            }
        }
        #expect(RunResult.allCases.map { Int(agenda.counts.runs[$0]) }.reduce(0, +) == closes)
        #expect(SkipKind.allCases.map { Int(agenda.counts.skips[$0]) }.reduce(0, +) == skips)
    }

    /// The store writes the waiting actions in their order, followed by the consequences.
    mutating func restoreStore() {
        while !unwritten.isEmpty {
            let (action, event, at) = unwritten.removeFirst()
            agenda.storedThrough = event
            let isLate = now.awake - at > .seconds(1)
            switch action {
            case .begin(let runs, let start, let records) where isLate:
                write(.begin(runs, start: [], records: records))
                if !start.isEmpty { handle(.recorded(start)) }
            case .start(let runs) where isLate: handle(.recorded(runs))
            default: write(action)
            }
            if agenda.isHolding { handle(.stored) }
        }
        isStoreDown = false
        agenda.storedThrough = .max
        if agenda.isHolding { handle(.stored) }
    }

    /// Nothing is written from now on until `restoreStore`.
    mutating func breakStore() {
        isStoreDown = true
        agenda.storedThrough = agenda.eventNumber
    }

    private mutating func perform(_ action: Action) {
        if isStoreDown {
            switch action {
            case .begin, .start, .close, .save, .storeJobSet, .notify:
                return unwritten.append((action, agenda.eventNumber, now.awake))
            default: break
            }
        }
        write(action)
    }

    /// Checks that no firing is skipped because of a run that is not recorded yet.
    private func judge(_ firing: Firing, _ reason: Notice.SkipReason) {
        switch reason {
        case .stillRunning(let run), .queueFull(let run):
            let other = show(firing.id.job).live.first { $0.id == run }
            #expect(other.map { !agenda.isUnrecorded($0) } ?? true, "\(run) is not on record")
        case .concurrencyMax, .missed, .catchUpMax, .deadline, .clockSet, .byOrder: break
        }
    }

    private mutating func write(_ action: Action) {
        switch action {
        case .signal(_, let name): signals.append(name)
        case .arm(let job, let instant):
            timers[job] = instant
            wallTimers[job] = nil
        case .armAt(let job, let instant):
            wallTimers[job] = instant
            timers[job] = nil
        case .disarm(let job):
            timers[job] = nil
            wallTimers[job] = nil
        case .armRetry(let job, let instant): retryTimers[job] = instant
        case .disarmRetry(let job): retryTimers[job] = nil
        case .end(let run, _): asked.append(run)
        case .suspend(let run): suspended.insert(run)
        case .resume(let run): suspended.remove(run)
        case .begin(let runs, let start, let records):
            for run in runs {
                #expect(openRuns[run.id] == nil && closed[run.id] == nil, "\(run.id) twice")
                openRuns[run.id] = (run, false, boot)
                recorded[run.id] = now.wall
                owners[run.id] = run.id.firing.job
            }
            keep(records)
            begin(start)
        case .start(let runs): begin(runs)
        case .close(let summary):
            let (run, outcome, failed) = (summary.id, summary.outcome, summary.failed)
            #expect(closed[run] == nil, "\(run) is closed twice")
            closed[run] = outcome
            verdicts[run] = failed
            lastRuns[owners[run] ?? run.firing.job] = RunSummary(
                id: run, ended: summary.ended, outcome: outcome, failed: failed)
            if summary.result == .success {
                lastSuccesses[owners[run] ?? run.firing.job] = summary.ended
            }
            openRuns[run] = nil
        case .save(let records, _): keep(records)
        case .storeJobSet(let change, _):
            for renaming in change.renamed { rename(renaming) }
            keep(change.records)
            for job in change.erased { records[job] = nil }
        case .tell(let notice):
            if case .skipped(let firing, let reason) = notice {
                judge(firing, reason)
                keep(firing, reason)
            }
            notices.append(notice)
        case .answer(let answer): answers.append(answer)
        case .notify(let notifications, let changes):
            outbox += notifications
            for change in changes {
                switch change {
                case .set(let incident): incidents[incident.id] = incident
                case .remove(let id):
                    #expect(incidents[id] != nil, "\(id) is over twice")
                    incidents[id] = nil
                }
            }
        case .armIncidents(let instant): incidentTimer = instant
        }
    }

    private mutating func rename(_ renaming: Renaming) {
        guard canSave else { return }
        records[renaming.from] = nil
        lastRuns[renaming.to] = lastRuns.removeValue(forKey: renaming.from)
        for (run, owner) in owners where owner == renaming.from { owners[run] = renaming.to }
        lastSuccesses[renaming.to] = lastSuccesses.removeValue(forKey: renaming.from)
        lastSkips[renaming.to] = lastSkips.removeValue(forKey: renaming.from)
        for incident in incidents.values where incident.id.job == renaming.from {
            incidents[incident.id] = nil
            let renamed = incident.renamed(renaming.to)
            incidents[renamed.id] = renamed
        }
        for run in renaming.waiting {
            let new = run.renamed(renaming.to)
            guard let open = openRuns.removeValue(forKey: run) else {
                Issue.record("\(run) is renamed without a row")
                continue
            }
            openRuns[new] = open
            openRuns[new]?.0.id = new
            openRuns[new]?.0.firing.id = new.firing
            owners[new] = renaming.to
            recorded[new] = recorded.removeValue(forKey: run)
        }
    }

    private mutating func keep(_ saved: [JobRecord]) {
        guard canSave else { return }
        for record in saved { records[record.job] = record }
    }

    /// A firing that was too late for its deadline is stored as a run only.
    private mutating func keep(_ firing: Firing, _ reason: Notice.SkipReason) {
        guard canSave, reason != .deadline else { return }
        lastSkips[firing.id.job] = LastSkip(
            scheduled: firing.id.scheduled, count: firing.missed + 1, reason: reason.kind,
            at: now.wall)
    }

    private mutating func begin(_ runs: [Run]) {
        for run in runs {
            #expect(openRuns[run.id] != nil, "\(run.id) starts without a row")
            openRuns[run.id]?.begun = true
            started.append(run)
        }
    }

    /// Lets awake time pass, and expires every timer when it is due.
    mutating func pass(_ span: Duration) {
        let end = awake + span.wholeNanoseconds
        while let next = nextRing(), next.at <= end {
            move(to: max(awake, next.at))
            ring(next.job)
        }
        move(to: end)
    }

    /// Expires the due timer once.
    private mutating func ring(_ job: Job.Name?) {
        guard let job else {
            incidentTimer = nil
            handle(.incidentsDue)
            return
        }
        if let instant = timers[job], instant <= now.awake { timers[job] = nil }
        if let instant = wallTimers[job], instant <= now.wall { wallTimers[job] = nil }
        if let instant = retryTimers[job], instant <= now.awake { retryTimers[job] = nil }
        rings += 1
        handle(.wake(job))
    }

    /// The next timer to expire, by the awake clock, if the wall clock is not set.
    ///
    /// - Returns: the job whose timer it is; nil for the timer of incidents.
    private func nextRing() -> (job: Job.Name?, at: Int64)? {
        func nanoseconds(_ instant: WallInstant) -> Int64 {
            awake + (instant.microsecondsSinceEpoch - wall) * 1000
        }
        let counted = timers.map { (Optional($0.key), $0.value.nanoseconds) }
        let slots = wallTimers.map { (Optional($0.key), nanoseconds($0.value)) }
        let retries = retryTimers.map { (Optional($0.key), $0.value.nanoseconds) }
        let incident = incidentTimer.map { [(Job.Name?.none, nanoseconds($0))] } ?? []
        return (counted + slots + retries + incident).min { $0.1 < $1.1 }
            .map { (job: $0.0, at: $0.1) }
    }

    /// Lets awake time pass while the worker queue is blocked.
    mutating func block(_ span: Duration) { move(to: awake + span.wholeNanoseconds) }

    /// Lets the machine sleep: the wall clock advances, the awake clock does not.
    mutating func sleep(_ span: Duration) {
        wall += span.wholeMicroseconds
        slept += span.wholeNanoseconds
    }

    /// Sets the wall clock, and reports it.
    mutating func step(_ span: Duration) {
        wall += span.wholeMicroseconds
        handle(.clockChanged)
    }

    private mutating func move(to nanoseconds: Int64) {
        wall += (nanoseconds - awake) / 1000
        awake = nanoseconds
    }

    mutating func beat() {
        heartbeat = Heartbeat(
            instance: instance, at: now,
            unstored: unstored.map { $0.0.counting(now.awake - $0.since) })
    }

    /// Ends the daemon at once; everything it had in memory is lost.
    mutating func kill() {
        agenda = nil
        timers = [:]
        wallTimers = [:]
        retryTimers = [:]
        incidentTimer = nil
    }

    mutating func stopCleanly() {
        handle(.shutdown)
        let end = now
        lives[instance]?.ended = end
        kill()
    }

    /// Restarts the machine: a new boot, whose clocks start again.
    mutating func reboot(away span: Duration) {
        kill()
        heartbeat = nil
        boot = World.bootID(Int(boot.description, radix: 16)! + 1)
        wall += span.wholeMicroseconds
        awake = 5_000_000_000
    }

    mutating func order(_ verb: Order.Verb, _ job: Job.Name, note: String? = nil) -> Answer? {
        handle(.order(Order(verb, job, by: .user("ada"), note: note)))
        return answers.last
    }

    func show(_ job: Job.Name) -> JobSnapshot { agenda.snapshot(of: job, at: now)! }

    mutating func endRuns(_ outcome: RunOutcome = .exited(0)) {
        for (id, open) in openRuns where open.begun {
            suspended.remove(id)
            handle(.ended(id, outcome, RunUsage()))
        }
    }
}

extension Job.Name: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text)! }
}

extension Notifier.Name: ExpressibleByStringLiteral {
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
