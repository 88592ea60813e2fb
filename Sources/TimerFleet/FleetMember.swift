// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore

/// One machine of a fleet: (now, event) → actions, like `Agenda`.
///
/// Each decision about a job is a transaction that compares the revision of the job's key on which it
/// was made. So a machine whose knowledge is old does nothing wrong: it is refused, and learns what
/// is new. There is at most one transaction of this machine about a job at a time.
public struct FleetMember {
    /// What a member is started with.
    public struct Configuration: Sendable {
        /// The name of this machine.
        public var machine: MachineName
        /// The TTL of its lease.
        public var lease = Duration.seconds(10)
        /// How far its wall clock may differ from that of the store.
        public var skewMax = Duration.seconds(1)
        /// Its labels.
        public var labels: Set<String> = []
        /// The version of timerd.
        public var version = ""
        /// The newest format of the store's values that it knows.
        public var format = FleetFormat.newest

        /// The defaults.
        public init(machine: MachineName) { self.machine = machine }
    }

    /// Numbers the transactions of one start of the daemon.
    public typealias TransactionID = Int
    /// Numbers the commands, which the caller chooses.
    public typealias CommandID = Int

    /// How many final runs of a job the store keeps.
    public static let runsKept = 20
    /// A firing that is missed longer is skipped by jobs that skip missed firings.
    static let lateMax = Duration.seconds(60)
    /// A watch that brought no change of the clock for this time is broken.
    static let watchTimeout = FleetClock.period * 4

    let configuration: Configuration
    /// Which start of the daemon it is.
    public let incarnation: Incarnation
    var jobs: [Job.Name: FleetJob] = [:]
    /// The hashes of their definitions, as the member key has them.
    var definitions: [Job.Name: String] = [:]
    /// Which jobs must be decided about, and when.
    var queue = JobQueue()
    var circumstances = Circumstances()
    /// The jobs that this machine runs for itself, by their templates.
    var templates: [Job.Name: Job.Name] = [:]
    /// Jobs whose new definition must be written, because a user reloaded it.
    var redefined: Set<Job.Name> = []
    /// What is known of the store; nil while it is not watched, or must not be used.
    var view: FleetView?
    /// What was known when it was last known, to be shown; nil while `view` is not.
    var former: FleetView?
    /// Why the store must not be used.
    public internal(set) var finding: IdentityGuard.Finding?
    /// What that store has, for its adoption.
    var unusable: (snapshot: FleetSnapshot, view: FleetView?)?
    /// What this machine can bring back, while the store recovers after an adoption.
    var recovery: FleetRecovery?
    /// When the snapshot was read, or the watch last reported a change of the clock.
    var watched: AwakeInstant?
    var contact = StoreContact()
    /// Whether a job ends its runs on a machine that lost the store, and the runs for which that was done.
    var endsIsolated = false
    var endedIsolated: Set<Run.ID> = []
    var clock: FleetClock?
    /// Whether the estimate of the clock was compared with the others': only then this machine
    /// opens and closes accounts, because an opening discards what others are ahead.
    var clockCompared = false { didSet { if !clockCompared { comparison = ClockComparison() } } }
    /// What is known until then.
    var comparison = ClockComparison()
    var outbox = FleetOutbox()
    var session: FleetSession
    var loadAsked: BootInstant?
    var skews = EndpointSkews()
    var skew: SkewBounds { skews.middle }
    var lastNow: Now?
    var commands: [OpenCommand] = []
    /// The last transactions whose answers proved, while there are commands, what the store has.
    var proofs: [FleetKey: TransactionID] = [:]
    /// The runs that were requested for commands.
    var requests: [CommandID: Run.ID] = [:]
    /// The runs of this machine whose end is not yet in the store.
    var local = LocalRuns()
    /// Up to when claimed runs that are not yet handed to the runner may be started.
    var startable: [Run.ID: BootInstant] = [:]
    /// Since when machines are missing that had live runs.
    var missing: [MachineName: BootInstant] = [:]
    /// Since when the last attempts of jobs are lost.
    var lostSince: [Job.Name: (run: Run.ID, since: BootInstant)] = [:]
    /// The ends of pauses that were told.
    var endedPauses: [Job.Name: WallInstant] = [:]
    var memory: FleetMemory
    /// When the fleet clock was last remembered.
    var clockRemembered: AwakeInstant?
    var nonces: UInt64
    var actions: [FleetAction] = []

    /// A daemon that starts.
    ///
    /// - Parameters:
    ///   - incarnation: with a number that this machine never used before in this boot.
    ///   - seed: of the nonces; drawn at random for each start.
    public init(
        _ configuration: Configuration, incarnation: Incarnation, memory: FleetMemory, seed: UInt64
    ) {
        self.configuration = configuration
        self.incarnation = incarnation
        self.memory = memory
        nonces = seed
        session = FleetSession(lease: configuration.lease)
        for row in memory.runs { local[row.run] = recovered(row) }
    }

    /// The reading of the fleet clock; nil while the store is not known.
    public func time(at now: AwakeInstant) -> Duration? { clock?.reading(at: now) }

    /// Takes an event and decides.
    ///
    /// - Complexity: O(*k* log *n*) for *k* of *n* jobs that are due or that changed, and their runs.
    ///   All jobs are decided about again when a snapshot is read, and when the hold, the other
    ///   machines, or what this machine may do changes. Until a hold is acknowledged, O(*n*).
    public mutating func handle(_ event: FleetEvent, at now: Now) -> [FleetAction] {
        actions.removeAll(keepingCapacity: true)
        noticeClock(now)
        if contact.last == nil { begin(now) }
        switch event {
        case .tick: break
        case .leased(let lease, let sent): session.opened(lease, sent: sent)
        case .kept(let lease, let sent): session.kept(lease, sent: sent)
        case .dated(let endpoint, let date, let sent):
            skews.receive(from: endpoint, date: date, sent: sent, received: now.wall)
        case .leaseLost(let lease): session.lost(lease)
        case .loaded(let snapshot): loaded(snapshot, now)
        case .changed(let cluster, let revision, let reads):
            if reads[.clock] != nil { contacted(now) }
            see(cluster, revision, reads, now, isWatched: true)
            view?.report(upTo: revision)
        case .watchLost: loseView()
        case .answered(let id, let answer): answered(id, answer, now)
        case .unknown(let id): unanswered(id)
        case .recorded(let run):
            queue.change(run.firing.job)
            recorded(run, now)
        // These reports may be late, repeated, or not in their order.
        case .began(let run, let at):
            queue.change(run.firing.job)
            note(run, .began(at))
            update(run) { $0.settle($0.state == .ended ? .ended : .began, began: at) }
        case .unstarted(let run):
            queue.change(run.firing.job)
            note(run, .unstarted)
            update(run) { if $0.state == .claimed { $0.settle(.unstarted, ended: now.wall) } }
        case .ended(let run, let outcome, let at):
            queue.change(run.firing.job)
            endedIsolated.remove(run)
            note(run, .ended(outcome, began: local[run]?.value.began ?? at, at: at))
            update(run) { $0.settle(.ended, outcome: outcome, ended: at) }
        case .command(let id, let command):
            if let job = command.job { queue.change(job) }
            commands.append(OpenCommand(id: id, command: command, sentAfter: outbox.last))
        case .configured(let jobs, let isReload): configured(jobs, isReload)
        }
        advance(now)
        lastNow = now
        return actions
    }

    // MARK: - The session

    /// A wall clock that jumped against the other one was set.
    private mutating func noticeClock(_ now: Now) {
        guard let last = lastNow else { return }
        let jump =
            (now.wall - last.wall) - .nanoseconds(now.boot.nanoseconds - last.boot.nanoseconds)
        if jump > .milliseconds(50) || jump < .milliseconds(-50) { skews.clockChanged() }
        // Its awake clock did not advance, and with it the estimate of the fleet clock. What the watch
        // brings first was sent before that: the store is read again.
        if now.slept(since: last) > .milliseconds(50) {
            loseView()
            clockCompared = false
        }
    }

    private mutating func configured(_ jobs: [FleetJob], _ isReload: Bool) {
        if isReload {
            redefined.formUnion(jobs.filter { self.jobs[$0.name] != $0 }.map(\.name))
        }
        changeAll()
        self.jobs = Dictionary(uniqueKeysWithValues: jobs.map { ($0.name, $0) })
        definitions = self.jobs.mapValues(\.definition)
        templates = [:]
        for job in jobs { if let template = job.template { templates[template] = job.name } }
        endsIsolated = jobs.contains(where: \.endsIsolated)
        changeAll()
        redefined.formIntersection(self.jobs.keys)
    }

    mutating func nonce() -> String {
        nonces &+= 0x9e37_79b9_7f4a_7c15
        var mixed = nonces
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return String(mixed ^ (mixed >> 31), radix: 16)
    }

    /// Sends a transaction, which does nothing if the store is adopted before it is applied.
    mutating func send(_ transaction: FleetTransaction, for purpose: FleetOutbox.Purpose) {
        var transaction = transaction
        if !purpose.isAdoption, let view { transaction = transaction.bound(to: view.identityText) }
        let id = outbox.add(transaction, for: purpose)
        actions.append(.send(id, transaction))
    }

    /// Sends a change of one job, together with those of other jobs.
    ///
    /// - Parameter opensAccount: whether the change opens the account of the job. Then it is sent
    ///   together with a write of the fleet clock.
    mutating func send(
        _ branch: FleetTransaction.Branch, about job: Job.Name, opensAccount: Bool = false
    ) {
        outbox.collect((job, branch), opensAccount: opensAccount)
    }
}

extension FleetCommand {
    /// The job that it is about.
    var job: Job.Name? {
        switch self {
        case .pause(let job, _), .resume(let job), .skipNext(let job, _), .run(let job, _),
            .define(let job), .forget(let job):
            job
        case .hold, .release, .drain, .undrain, .adopt: nil
        }
    }
}
