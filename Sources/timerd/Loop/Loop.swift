// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization
import TimerControl
import TimerCore
import TimerRunnerProtocol
import TimerStore

/// Who starts runs. What becomes of them comes back as events of the loop.
protocol RunLauncher: Sendable {
    /// Starts the runs, in this order, without waiting for any.
    func start(_ runs: [Run])
    /// Ends a run: SIGTERM to its process group, after the grace SIGKILL.
    func end(_ run: Run.ID, grace: Duration)
    /// Suspends a run, and its time limit with it.
    func suspend(_ run: Run.ID)
    /// Resumes it.
    func resume(_ run: Run.ID)
    /// Sends a signal to its process group.
    func signal(_ run: Run.ID, _ number: Int32)
    /// Calls `done` once every end of a run that happened before this call has been reported.
    func barrier(_ done: @escaping @Sendable () -> Void)
    /// The end of this run is stored: the launcher can forget it.
    func forget(_ run: Run.ID)
    /// The configuration is being read again: what executes runs reads it as well, and goes by what it read before
    /// for the jobs that have not changed yet.
    func refresh()
    /// All jobs are as the configuration has them now.
    func forgetFormer()
    /// These one-off jobs are over: what executes runs removes their definitions.
    func discard(_ jobs: [Job.Name])
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

    nonisolated let executor = QueueExecutor(label: "timerd.worker", qos: SchedulingPriority.qos)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    var agenda: Agenda
    var instance: DaemonInstance.ID { agenda.instance }
    /// What heartbeats carry until the records of this instance are stored, as of the reading of CLOCK_MONOTONIC
    /// at which its time began to count.
    var unstored: (state: Heartbeat.Unstored, since: AwakeInstant)?
    let clocks: Clocks
    let recorder: Recorder
    let heartbeatWriter: HeartbeatWriter
    let eventLogger: EventLogger
    let supervision: Supervision
    let launcher: any RunLauncher
    var timers: [Job.Name: JobTimer] = [:]
    var retryTimers: [Job.Name: JobTimer] = [:]
    /// The jobs whose timers are still to be set, and what waits until they are.
    var unsetTimers: ArraySlice<Job.Name> = []
    var waitingForTimers: [@Sendable (isolated Loop) -> Void] = []
    /// The timers below share one wake-up of this queue where they may.
    let timerQueue: TimerQueue
    var heartbeatTimer: PausableTimer?
    var watchdogTimer: PausableTimer?
    /// Until a status line that is planned is sent.
    var statusTimer: PausableTimer?
    /// Until finished one-off jobs are removed.
    var oneOffTimer: PausableTimer?
    var heartbeats = 0
    /// The jobs before this place are written down by the checkpoint that is being made; nil: none is.
    var checkpointed: Int?
    /// Why the state cannot be saved for now.
    var storeError: StoreError?
    /// What is wrong with the configuration that was read last; nil if that is the one in use.
    var configRefusal: String?
    /// The jobs that are not loaded because of an error.
    var rejected: [Rejection]
    /// The jobs that have an earlier definition because of an error.
    var outdated: [Rejection] = []
    var drained: (@Sendable () -> Void)?
    /// Who waits for everything there is to show, and what of it the first of them has.
    var gatherings: [@Sendable (Snapshot, Unusable) -> Void] = []
    var gathered: [JobSnapshot] = []
    var isGathering = false
    /// The previews of reloads that are wanted; the first is being made.
    var previews: [(reload: ReloadPreview, done: @Sendable (ReloadPreview) -> Void)] = []
    /// Through which event the runs that were decided on are on record, and whether firings wait for that.
    let written = Atomic<UInt64>(0)
    let isHolding = Atomic<Bool>(false)
    /// Whether the word that the store has caught up is on its way.
    let isStoredOnItsWay = Atomic<Bool>(false)
    /// An order for many jobs that is not saved yet, and what waits until it is.
    var transaction: OrderTransaction?
    var waitingForTransaction: [@Sendable (isolated Loop) -> Void] = []
    /// Whether some jobs have not been given an order, or their new definitions, yet, and what waits until all have.
    var isDeciding = false
    var waitingForDecision: [@Sendable (isolated Loop) -> Void] = []
    /// The end of a run while it is being dealt with.
    var ended: (run: Run.ID, end: RunEnd)?

    private init(
        agenda: Agenda, rejected: [Rejection], clocks: Clocks, recorder: Recorder,
        heartbeatWriter: HeartbeatWriter,
        eventLogger: EventLogger, supervision: Supervision, launcher: any RunLauncher
    ) {
        self.agenda = agenda
        self.rejected = rejected
        self.launcher = launcher
        self.clocks = clocks
        self.recorder = recorder
        self.heartbeatWriter = heartbeatWriter
        self.eventLogger = eventLogger
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
        /// How much is said of the runs of those jobs of which not all is.
        var levels = EventLogger.Levels()
        /// Called once the state is saved and the timers are armed.
        var ready: @Sendable () -> Void
        /// Called if the state cannot be saved for now; runs wait until it is.
        var onDelayed: @Sendable (StoreError) -> Void
    }

    /// A loop that begins at once: it saves the state as it was loaded, arms the timers and starts the runs that were
    /// recorded and never started. Nothing else can reach it before that.
    static func started(
        with beginning: Beginning, clocks: Clocks, recorder: Recorder,
        heartbeatWriter: HeartbeatWriter,
        eventLogger: EventLogger, supervision: Supervision, launcher: any RunLauncher
    ) -> Loop {
        let loop = Loop(
            agenda: beginning.agenda, rejected: beginning.rejected, clocks: clocks,
            recorder: recorder, heartbeatWriter: heartbeatWriter, eventLogger: eventLogger,
            supervision: supervision,
            launcher: launcher)
        loop.later { $0.begin(beginning) }
        return loop
    }

    private func begin(_ beginning: Beginning) {
        unstored = (beginning.unstored, beginning.at.awake)
        eventLogger.follow(beginning.levels)
        watch()
        perform(
            beginning.actions[...], at: beginning.at, opening: [.beginInstance(beginning.at)],
            onDelayed: beginning.onDelayed,
            done: { loop in
                loop.afterTimers { loop in
                    beginning.ready()
                    loop.tellStatus()
                    loop.expireOneOffs()
                }
            })
    }

    /// The records of this instance are stored: from here on its heartbeats stand for themselves.
    func noteStored() {
        unstored = nil
        if heartbeatTimer != nil { writeHeartbeat(at: clocks.now()) }
    }

    /// Something happened.
    func receive(_ event: Event) {
        let now = clocks.now()
        perform(decide(event, at: now)[...], at: now)
    }

    func decide(_ event: Event, at now: Now) -> [Action] {
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
    nonisolated func sendStored() {
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
        receive(.ended(run, end.outcome, end.usage, at: end.at))
        ended = nil
    }

    /// A timer rang. If it rang late, the daemon stood still, and runs may have ended meanwhile whose ends
    /// are not told yet: they come first, or firings would be let go for runs that are over.
    func timerFired(_ job: Job.Name) {
        guard agenda.liveRuns > 0, let late = agenda.lateness(at: clocks.now()),
            late > Self.lateMax
        else { return receive(.wake(job)) }
        launcher.barrier { self.later { $0.receive(.wake(job)) } }
    }

    /// Carries out an order and answers once what it changed is on the disk.
    ///
    /// - Parameter isPart: whether it is one of an order for many jobs.
    func handle(
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

    /// Says something in the log, in its turn.
    func say(_ remark: Remark) { eventLogger.log(remark) }

    /// Takes the timers down and closes the accounts; `closed` is called once they are on the disk, `onDelayed` if they
    /// cannot be written for now, and `drained` once no run lives any more.
    func shutDown(
        closed: @escaping @Sendable (Now) -> Void,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil, drained: @escaping @Sendable () -> Void
    ) {
        guard !isDeciding else {
            return afterDecision {
                $0.shutDown(closed: closed, onDelayed: onDelayed, drained: drained)
            }
        }
        let now = clocks.now()
        self.drained = drained
        perform(
            decide(.shutdown, at: now)[...], at: now, onDelayed: onDelayed,
            done: { loop in
                closed(now)
                loop.noteDrained()
            })
    }
}
