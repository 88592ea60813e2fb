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
    /// A watch that brought no change of the clock for this time is broken.
    static let watchTimeout = FleetClock.period * 4

    let configuration: Configuration
    /// Which start of the daemon it is.
    public let incarnation: Incarnation
    var jobs = FleetJobs()
    /// Which jobs must be decided about, and when.
    var queue = JobQueue()
    var store = KnownStore()
    var contact = StoreContact()
    var fleetClock = FollowedClock()
    var wallClock = WallClockWatch()
    var session: FleetSession
    var outbox: FleetOutbox
    var commands = OpenCommands()
    var local = LocalRuns()
    var absences = Absences()
    var memory: MemberMemory
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
        self.memory = MemberMemory(memory)
        session = FleetSession(lease: configuration.lease)
        outbox = FleetOutbox(seed: seed)
        for row in memory.runs { local[row.run] = recovered(row) }
    }

    /// What decisions are made by; nil while the store is not watched, or must not be used.
    var view: FleetView? { store.view }

    /// The reading of the fleet clock; nil while the store is not known.
    public func time(at now: AwakeInstant) -> Duration? { fleetClock.estimate?.reading(at: now) }

    /// Takes an event and decides.
    ///
    /// - Complexity: O(*k* log *n*) for *k* of *n* jobs that are due or that changed, and their runs.
    ///   All jobs are decided about again when a snapshot is read, and when the hold, the other
    ///   machines, or what this machine may do changes. Until a hold is acknowledged, O(*n*).
    public mutating func handle(_ event: FleetEvent, at now: Now) -> [FleetAction] {
        actions.removeAll(keepingCapacity: true)
        noticeClocks(now)
        if contact.last == nil { begin(now) }
        switch event {
        case .tick: break
        case .leased(let lease, let sent): session.opened(lease, sent: sent)
        case .kept(let lease, let sent): session.kept(lease, sent: sent)
        case .dated(let endpoint, let date, let sent):
            wallClock.receive(from: endpoint, date: date, sent: sent, received: now.wall)
        case .leaseLost(let lease): session.lost(lease)
        case .loaded(let snapshot): loaded(snapshot, now)
        case .changed(let cluster, let revision, let reads):
            if reads[.clock] != nil { contacted(now) }
            see(cluster, revision, reads, now, isWatched: true)
            store.update { $0.report(upTo: revision) }
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
            local.isOver(run)
            note(run, .ended(outcome, began: local[run]?.value.began ?? at, at: at))
            let known = inFormat(outcome)
            update(run) { $0.settle(.ended, outcome: known, ended: at) }
        case .command(let id, let command):
            if let job = command.job { queue.change(job) }
            commands.add(OpenCommand(id: id, command: command, sentAfter: outbox.last))
        case .configured(let jobs, let isReload): configured(jobs, isReload)
        case .heldHere(let isHeld): memory.hold(isHeld)
        }
        advance(now)
        return actions
    }

    // MARK: - The session

    /// Notices that the wall clock was set, and that the machine slept.
    private mutating func noticeClocks(_ now: Now) {
        // Its awake clock did not advance, and with it the estimate of the fleet clock. What the watch
        // brings first was sent before that: the store is read again.
        guard wallClock.hasSlept(by: now) else { return }
        loseView()
        fleetClock.loseTrack()
    }

    private mutating func configured(_ jobs: [FleetJob], _ isReload: Bool) {
        changeAll()
        self.jobs.configure(jobs, isReload: isReload)
        changeAll()
    }

    mutating func nonce() -> String { outbox.nonce() }

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
