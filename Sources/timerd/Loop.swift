// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization
import TimerControl
import TimerCore
import TimerRunner
import TimerStore

/// Who starts runs. What becomes of them comes back as events of the loop.
protocol RunLauncher: Sendable {
    /// Starts the runs, in this order, without waiting for any.
    func start(_ runs: [Run])
    /// Ends a run: SIGTERM to its process group, after the grace SIGKILL.
    func end(_ run: Run.ID, grace: Duration)
    /// Has a run stand still, and its time limit with it.
    func suspend(_ run: Run.ID)
    /// Has it go on.
    func resume(_ run: Run.ID)
    /// Sends a signal to its process group.
    func signal(_ run: Run.ID, _ number: Int32)
    /// Calls `done` once every end that has come to pass by now is told.
    func settle(_ done: @escaping @Sendable () -> Void)
    /// The end of this run is written down: nothing needs to be known of it any more.
    func forget(_ run: Run.ID)
    /// The configuration was changed.
    func refresh()
}

/// The worker queue: the one place where anything is decided. Timers, signals, ends of runs and requests
/// arrive here one after the other, are put to the agenda with one reading of the clocks, and what it
/// answers is done. Nothing here waits for a disk or a peer.
actor Loop: QueueActor {
    /// How often a sign of life is left while some job's time counts; half of what may be lost by a kill,
    /// so that a late timer stays within the bound.
    static let heartbeatInterval: Duration = .milliseconds(500)
    /// How many signs of life from one checkpoint of the accounts to the next: 25 s, of the 30 s that a
    /// power cut may cost.
    static let heartbeatsPerCheckpoint = 50
    /// A timer that rings later than this rang in a daemon that stood still.
    static let lateMax: Duration = .milliseconds(100)
    /// A run whose row is written later than this after it was decided on may not start without a look at what
    /// has happened meanwhile.
    static let startDelayMax: Duration = .seconds(1)
    /// How many jobs that are held for the store are looked at each time something is written; of more, only this
    /// often.
    static let heldAtOnceMax = 256
    static let heldDelay: Duration = .milliseconds(100)
    /// How many jobs are looked at before others have their turn: a fifth of a millisecond's worth.
    static let jobsPerTurn = 128
    /// Among how many names the one that was probably meant is looked for.
    static let hintNamesMax = 1000
    /// How long status lines are gathered before one is sent.
    static let statusDelay: Duration = .milliseconds(500)

    nonisolated let executor = QueueExecutor(label: "timerd.worker", qos: Precedence.qos)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    var agenda: Agenda
    var life: Life.ID { agenda.life }
    /// What heartbeats carry until the records of this instance are stored, as of the reading of CLOCK_MONOTONIC
    /// at which its time began to count.
    var unstored: (state: Heartbeat.Unstored, since: AwakeInstant)?
    let clocks: Clocks
    let recorder: Recorder
    let pulse: Pulse
    private let teller: Teller
    let supervision: Supervision
    private let launcher: any RunLauncher
    private var timers: [Job.Name: JobTimer] = [:]
    private var retryTimers: [Job.Name: JobTimer] = [:]
    /// The timers below share one wake-up of this queue where they may.
    let timerQueue: TimerQueue
    var heartbeatTimer: PausableTimer?
    var watchdogTimer: PausableTimer?
    /// Until a status line that is planned is sent.
    var statusTimer: PausableTimer?
    var heartbeats = 0
    /// Why the state cannot be saved for now.
    var storeTrouble: StoreError?
    var rejected: [Rejection]
    private var drained: (@Sendable () -> Void)?
    /// Who waits for everything there is to show, and what of it the first of them has.
    var gatherings: [@Sendable (Snapshot, [String]) -> Void] = []
    var gathered: [JobSnapshot] = []
    /// Through which event the runs that were decided on are on record, and whether firings wait for that.
    private let written = Atomic<UInt64>(0)
    private let isHolding = Atomic<Bool>(false)
    /// Whether the word that the store has caught up is on its way.
    private let isStoredOnItsWay = Atomic<Bool>(false)
    /// An order for many jobs that is not saved yet, and what waits until it is.
    var transaction: OrderTransaction?
    var waitingForTransaction: [@Sendable (isolated Loop) -> Void] = []
    /// Whether some of its jobs have not been given the order yet, and what waits until all have.
    var isDeciding = false
    var waitingForDecision: [@Sendable (isolated Loop) -> Void] = []
    /// The end of a run while it is being dealt with.
    private var ended: (run: Run.ID, end: RunEnd)?

    private init(
        agenda: Agenda, rejected: [Rejection], clocks: Clocks, recorder: Recorder, pulse: Pulse,
        teller: Teller, supervision: Supervision, launcher: any RunLauncher
    ) {
        self.agenda = agenda
        self.rejected = rejected
        self.launcher = launcher
        self.clocks = clocks
        self.recorder = recorder
        self.pulse = pulse
        self.teller = teller
        self.supervision = supervision
        timerQueue = TimerQueue(executor.queue)
    }

    /// What a loop begins with.
    struct Beginning: Sendable {
        /// The agenda as loaded, and what it decided then.
        var agenda: Agenda
        var actions: [Action]
        /// When it was loaded. Time counts since then.
        var at: Now
        /// What heartbeats carry until the state is saved.
        var unstored: Heartbeat.Unstored
        /// The jobs that are not among the agenda's because they are in error.
        var rejected: [Rejection]
        /// Called once the state is saved and the timers are armed.
        var ready: @Sendable () -> Void
        /// Called if the state cannot be saved for now; runs wait until it is.
        var delayed: @Sendable (StoreError) -> Void
    }

    /// A loop that begins at once: it saves the state as it was loaded, arms the timers and starts the runs that were
    /// recorded and never started. Nothing else can reach it before that.
    static func started(
        with beginning: Beginning, clocks: Clocks, recorder: Recorder, pulse: Pulse,
        teller: Teller, supervision: Supervision, launcher: any RunLauncher
    ) -> Loop {
        let loop = Loop(
            agenda: beginning.agenda, rejected: beginning.rejected, clocks: clocks,
            recorder: recorder, pulse: pulse, teller: teller, supervision: supervision,
            launcher: launcher)
        loop.later { $0.begin(beginning) }
        return loop
    }

    private func begin(_ beginning: Beginning) {
        unstored = (beginning.unstored, beginning.at.awake)
        teller.follow(agenda.jobs)
        watch()
        perform(
            beginning.actions[...], at: beginning.at, opening: [.beginLife(beginning.at)],
            delayed: beginning.delayed,
            done: { loop in
                beginning.ready()
                loop.tellStatus()
            })
    }

    /// The records of this instance are stored: from here on its heartbeats stand for themselves.
    private func noteStored() {
        unstored = nil
        if heartbeatTimer != nil { writeHeartbeat(at: clocks.now()) }
    }

    /// Something happened.
    func receive(_ event: Event) {
        let now = clocks.now()
        perform(decide(event, at: now)[...], at: now)
    }

    private func decide(_ event: Event, at now: Now) -> [Action] {
        agenda.storedThrough = written.load(ordering: .acquiring)
        let actions = agenda.handle(event, at: now)
        followHolding()
        return actions
    }

    /// Has the recorder say when it has caught up, if firings wait for that. It may have done so just now.
    private func followHolding() {
        guard agenda.isHolding || isHolding.load(ordering: .relaxed) else { return }
        isHolding.store(agenda.isHolding, ordering: .sequentiallyConsistent)
        guard agenda.isHolding,
            written.load(ordering: .sequentiallyConsistent) != agenda.storedThrough
        else { return }
        sendStored()
    }

    /// Lets the agenda know soon that the store has caught up with something. Each time it looks at all jobs that
    /// are held; of very many it does so now and then, and not for each run that is written.
    nonisolated private func sendStored() {
        guard !isStoredOnItsWay.exchange(true, ordering: .sequentiallyConsistent) else { return }
        later { loop in
            guard loop.agenda.heldCount > Self.heldAtOnceMax else { return loop.receiveStored() }
            loop.later(after: Self.heldDelay) { $0.receiveStored() }
        }
    }

    private func receiveStored() {
        // First, so that whatever is written from here on sends it again.
        isStoredOnItsWay.store(false, ordering: .sequentiallyConsistent)
        receive(.stored)
    }

    /// A run ended.
    func receive(_ end: RunEnd, of run: Run.ID) {
        // What the agenda decides by is written with what else is known of the run.
        ended = (run, end)
        receive(.ended(run, end.outcome, end.usage))
        ended = nil
    }

    /// A timer rang. If it rang late, the daemon stood still, and runs may have ended meanwhile whose ends
    /// are not told yet: they come first, or firings would be let go for runs that are over.
    private func ring(_ job: Job.Name) {
        guard agenda.liveRuns > 0, let late = agenda.lateness(at: clocks.now()),
            late > Self.lateMax
        else { return receive(.wake(job)) }
        launcher.settle { self.later { $0.receive(.wake(job)) } }
    }

    /// Carries out an order and answers once what it changed is on the disk.
    ///
    /// - Parameter isPart: whether it is one of an order for many jobs.
    func obey(
        _ order: Order, isPart: Bool = false,
        reply: @escaping @Sendable (Answer, JobSnapshot?) -> Void
    ) {
        let now = clocks.now()
        perform(
            decide(.order(order), at: now)[...], at: now,
            answer: Reply(isPart: isPart) { answer in
                self.later { loop in
                    reply(answer, loop.agenda.snapshot(of: order.job, at: loop.clocks.now()))
                }
            })
    }

    /// Takes a new roster and says what changed once it is on the disk.
    func reload(
        _ roster: Roster, rejected: [Rejection], done: @escaping @Sendable (Notice?) -> Void
    ) {
        guard !isDeciding else {
            return afterDecision { $0.reload(roster, rejected: rejected, done: done) }
        }
        self.rejected = rejected
        teller.follow(roster.jobs)
        let now = clocks.now()
        let actions = decide(.reload(roster), at: now)
        launcher.refresh()
        // What was gathered of the old roster is begun anew.
        gathered = []
        var notice: Notice?
        if case .tell(let last) = actions.last { notice = last }
        perform(actions[...], at: now, done: { [notice] _ in done(notice) })
    }

    /// Says something in the log, in its turn.
    func say(_ remark: Remark) { teller.say(remark) }

    /// Takes the timers down and closes the accounts; `closed` is called once they are on the disk, `delayed` if they
    /// cannot be written for now, and `drained` once no run lives any more.
    func shutDown(
        closed: @escaping @Sendable (Now) -> Void,
        delayed: (@Sendable (StoreError) -> Void)? = nil, drained: @escaping @Sendable () -> Void
    ) {
        guard !isDeciding else {
            return afterDecision { $0.shutDown(closed: closed, delayed: delayed, drained: drained) }
        }
        let now = clocks.now()
        self.drained = drained
        perform(
            decide(.shutdown, at: now)[...], at: now, delayed: delayed,
            done: { loop in
                closed(now)
                loop.noteDrained()
            })
    }

    // MARK: - Doing

    /// Does the actions in their order. A durable write is waited for without holding the queue: what
    /// follows it is done when it is kept. Each action stands for itself, so nothing that happens in
    /// between can make the rest wrong.
    ///
    /// - Parameters:
    ///   - opening: what is written in one transaction with the first durable write.
    ///   - standings: how the accounts stood when each of the notices among the actions was made; none: they
    ///     were made just now.
    ///   - delayed: called if a durable write cannot be made for now.
    private func perform(
        _ actions: ArraySlice<Action>, at now: Now, opening: [Store.Change] = [],
        standings: ArraySlice<Standing> = [], answer: Reply? = nil,
        delayed: (@Sendable (StoreError) -> Void)? = nil,
        done: (@Sendable (isolated Loop) -> Void)? = nil
    ) {
        var rest = actions
        var standings = standings
        while let action = rest.popFirst() {
            if case .tell(let notice) = action {
                let standing = standings.popFirst() ?? Standing(for: notice, in: agenda, at: now)
                teller.tell(
                    notice, standing, tail: ended?.end.tail ?? [], isPart: answer?.isPart == true)
                continue
            }
            guard let changes = action.durableChanges else {
                perform(action, at: now, answer: answer)
                continue
            }
            let tail = rest
            let kept = standings.isEmpty ? self.standings(of: tail, at: now) : standings
            let write = Write(changes: opening + changes, durable: true) { _ in
                self.later { loop in
                    if !opening.isEmpty { loop.noteStored() }
                    loop.perform(tail, at: now, standings: kept, answer: answer, done: done)
                }
            } delayed: { error in
                answer?(.refused("in force, but not on the disk yet: \(error)"))
                delayed?(error)
            }
            keep(write)
            followCounting(at: now)
            return
        }
        followCounting(at: now)
        planStatus()
        done?(self)
        noteDrained()
    }

    private func standings(of actions: ArraySlice<Action>, at now: Now) -> ArraySlice<Standing> {
        var standings: [Standing] = []
        for case .tell(let notice) in actions {
            standings.append(Standing(for: notice, in: agenda, at: now))
        }
        return standings[...]
    }

    private func perform(_ action: Action, at now: Now, answer: Reply?) {
        switch action {
        case .arm(let job, let instant): timer(of: job).arm(at: instant)
        case .armAt(let job, let instant): timer(of: job).arm(at: instant)
        case .disarm(let job): timers.removeValue(forKey: job)?.cancel()
        case .armRetry(let job, let instant): retryTimer(of: job).arm(at: instant)
        case .disarmRetry(let job): retryTimers.removeValue(forKey: job)?.cancel()
        case .begin(let runs, let start, let records):
            let portions = Portion(runs: runs, start: start, records: records).split()
                .flatMap { $0.parted(by: transaction?.jobs ?? []) }
            for (index, portion) in portions.enumerated() {
                write(portion, at: now, isLast: index == portions.count - 1)
            }
        case .start(let runs):
            // Behind the write that recorded them, which may still be waiting.
            let event = eventToNote
            let write = Write(changes: [], durable: false) { _ in
                self.begin(runs, decided: now.awake)
                self.noteWritten(through: event)
            }
            keep(write, of: runs.map(\.id.firing.job))
        case .end(let run, let grace): launcher.end(run, grace: grace)
        case .signal(let run, let name):
            // Only names of this list are let in.
            if let number = KillBody.number(of: name) { launcher.signal(run, number) }
        case .suspend(let run): launcher.suspend(run)
        case .resume(let run): launcher.resume(run)
        case .close(let run, let outcome, let usage, let failed):
            let end = ended.flatMap { $0.run == run ? $0.end : nil }
            let change = Store.Change.close(
                run, outcome, usage, failed: failed, at: end?.at ?? now.wall, tail: end?.tail ?? [])
            keep(Write(changes: [change], durable: false) { [launcher] _ in launcher.forget(run) })
        case .save(let records, let durable):
            // A part of a checkpoint is not to wait for an order that is about other jobs.
            let jobs = transaction?.jobs ?? []
            let waiting = jobs.isEmpty ? [] : records.filter { jobs.contains($0.job) }
            let others = jobs.isEmpty ? records : records.filter { !jobs.contains($0.job) }
            keep(others.map { .save($0) }, durable: durable)
            if !waiting.isEmpty { keep(waiting.map { .save($0) }, durable: durable) }
        case .adopt(let change, let durable): keep(change.changes, durable: durable)
        // Told in the loop above, with the accounts as they stood.
        case .tell: break
        case .answer(let word): answer?(word)
        }
    }

    /// A run starts when its row is kept, and only if no row of its identity was there before. A job's runs and
    /// its account are written together or not at all.
    private func write(_ portion: Portion, at now: Now, isLast: Bool) {
        let event = isLast ? eventToNote : 0
        let changes: [Store.Change] =
            portion.runs.map { .begin($0, at: now.wall) } + portion.records.map { .save($0) }
        let write = Write(changes: changes, durable: false) { [start = portion.start] refused in
            self.begin(start.filter { !refused.contains($0.id) }, decided: now.awake)
            for run in start where refused.contains(run.id) {
                self.later { $0.receive(.ended(run.id, .lost(.daemon), RunUsage())) }
            }
            self.noteWritten(through: event)
        }
        keep(write, of: portion.start.map(\.id.firing.job))
    }

    /// Starts runs whose rows are written. After a long wait for the store that is decided anew.
    nonisolated private func begin(_ runs: [Run], decided: AwakeInstant) {
        guard !runs.isEmpty else { return }
        guard clocks.awake - decided > Self.startDelayMax else { return launcher.start(runs) }
        later { $0.receive(.recorded(runs)) }
    }

    /// The event that is noted when what it decides is written. None while a transaction is open: what is written
    /// then may overtake what waits for it.
    private var eventToNote: UInt64 { transaction == nil ? agenda.eventNumber : 0 }

    /// The runs of the events up to this one are on record.
    nonisolated func noteWritten(through event: UInt64) {
        guard event > 0 else { return }
        // Writes are kept in the order they came, and only here: nothing comes between these two.
        if event > written.load(ordering: .relaxed) {
            written.store(event, ordering: .sequentiallyConsistent)
        }
        guard isHolding.load(ordering: .sequentiallyConsistent) else { return }
        sendStored()
    }

    private func timer(of job: Job.Name) -> JobTimer {
        if let timer = timers[job] { return timer }
        let timer = JobTimer(source: makeTimer(for: job) { $0.ring($1) })
        timers[job] = timer
        return timer
    }

    private func retryTimer(of job: Job.Name) -> JobTimer {
        if let timer = retryTimers[job] { return timer }
        let timer = JobTimer(source: makeTimer(for: job) { $0.ring($1) })
        retryTimers[job] = timer
        return timer
    }

    private func noteDrained() {
        guard agenda.isShutDown, agenda.liveRuns == 0, let drained else { return }
        self.drained = nil
        // What the last runs left to write comes before the end.
        let last = Write(changes: [], durable: true) { _ in drained() }
        keep(last, of: transaction.map { Array($0.jobs) } ?? [])
    }
}

extension Action {
    /// What is to be on the disk before anything later is done; nil if nothing is.
    fileprivate var durableChanges: [Store.Change]? {
        switch self {
        case .save(let records, durable: true): records.map { .save($0) }
        case .adopt(let change, durable: true): change.changes
        default: nil
        }
    }
}

extension RosterChange {
    fileprivate var changes: [Store.Change] {
        renamed.map { .rename($0) } + records.map { .save($0) } + erased.map { .erase($0) }
    }
}
