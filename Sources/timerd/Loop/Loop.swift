// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import PausableTimers
import Synchronization
import TimerControl
import TimerCore
import TimerRunnerProtocol
import TimerStore

/// The worker queue, on which all decisions are made. Timers, signals, ends of runs and requests
/// arrive here one after the other. Each goes to the agenda with one reading of the clocks, and the
/// loop performs the actions that the agenda returns. Nothing here waits for a disk or a peer.
actor Loop: QueueActor {
    /// How often a heartbeat is written while the time of some job counts: half of the time that a
    /// kill may cost, so that a late timer stays within that limit.
    static let heartbeatInterval: Duration = .milliseconds(500)
    /// How many heartbeats lie between two checkpoints of the time records: 25 s of the 30 s that a
    /// power cut may cost.
    static let heartbeatsPerCheckpoint = 50
    /// If a timer fires later than this, the daemon did not run meanwhile.
    static let lateMax: Duration = .milliseconds(100)
    /// If the row of a run is written later than this after the decision, the agenda decides on the
    /// start again.
    static let startDelayMax: Duration = .seconds(1)
    /// A job is held while its firing waits until earlier runs are recorded. After each write the
    /// agenda checks all held jobs; if there are more than this, only once in `heldDelay`.
    static let heldAtOnceMax = 256
    static let heldDelay: Duration = .milliseconds(100)
    /// How many jobs are handled in a portion: about a fifth of a millisecond.
    static let jobsPerPortion = 128
    /// With more names than this, no suggestion for an unknown name is searched.
    static let hintNamesMax = 1000
    /// How long changes of the status line are collected before one is sent.
    static let statusDelay: Duration = .milliseconds(500)

    nonisolated let executor = QueueExecutor(label: "timerd.worker", qos: SchedulingPriority.qos)
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    var agenda: Agenda
    var instance: DaemonInstance.ID { agenda.instance }
    /// What heartbeats carry until the records of this instance are stored, and the reading of
    /// CLOCK_MONOTONIC from which its time counts.
    var unstored: (state: Heartbeat.Unstored, since: AwakeInstant)?
    let clocks: Clocks
    var steadyReading = SteadyReading()
    var early = EarlyFiring()
    var gate = Gate<Waiting>()
    var router = WriteRouter()
    let recorder: Recorder
    let heartbeatWriter: HeartbeatWriter
    let eventLogger: EventLogger
    let supervision: Supervision
    let launcher: any RunLauncher
    var timers: JobTimers<JobTimer>
    /// The timers below share a wake-up of this queue if possible.
    let timerQueue: TimerQueue
    var heartbeatTimer: PausableTimer?
    var watchdogTimer: PausableTimer?
    /// Sends the status line that is planned.
    var statusTimer: PausableTimer?
    /// Removes finished one-off jobs.
    var oneOffTimer: PausableTimer?
    /// How many heartbeats there were since the heartbeat timer was made.
    var heartbeats = 0
    /// Why the state cannot be saved for now.
    var storeError: StoreError?
    /// What is wrong with the configuration that was read last; nil if it is in use.
    var configRefusal: String?
    /// The jobs that are not loaded because of an error.
    var rejected: [Rejection]
    /// The jobs that keep an earlier definition because of an error.
    var outdated: [Rejection] = []
    var portions = Portions()
    /// Called with the notifiers of each new configuration.
    var notifiersChanged: (@Sendable ([Notifier]) -> Void)?
    /// The fleet that shares some of the jobs, and the name of this machine in it; nil without one.
    var fleet: (driver: FleetDriver, machine: MachineName)?
    var runner = RunnerState.unknown(limit: nil)
    /// The jobs as the fleet knows them.
    var fleetViews: [Job.Name: FleetJobView] = [:]
    /// The jobs that each machine runs for itself, by their templates.
    var templates: [Job.Name: Job.Name] = [:]
    /// The jobs that the fleet paused together with their active runs; nil until it is known.
    var runsPaused: Set<Job.Name>?
    /// When this loop started.
    let since: WallInstant
    /// When the configuration was last read without a refusal.
    var configAccepted: WallInstant
    nonisolated let progress = StoreProgress()

    private init(
        _ agenda: consuming Agenda, beginning: Beginning, clocks: Clocks, recorder: Recorder,
        heartbeatWriter: HeartbeatWriter,
        eventLogger: EventLogger, supervision: Supervision, launcher: any RunLauncher,
        reference: LoopReference
    ) {
        self.agenda = agenda
        timers = JobTimers { [queue = executor.queue] in reference.makeTimer(of: $0, on: queue) }
        rejected = beginning.rejected
        since = beginning.at.wall
        configAccepted = beginning.at.wall
        self.launcher = launcher
        self.clocks = clocks
        self.recorder = recorder
        self.heartbeatWriter = heartbeatWriter
        self.eventLogger = eventLogger
        self.supervision = supervision
        timerQueue = TimerQueue(executor.queue)
    }

    /// A loop that starts at once: it saves the loaded state, sets the timers, and starts the runs
    /// that were recorded and not started. Nothing else can reach the loop before that.
    ///
    /// - Parameter agenda: the agenda after loading. There must be no other copy of it, because the
    ///   first change of each of its tables would copy that then.
    static func started(
        _ agenda: consuming Agenda, with beginning: Beginning, clocks: Clocks, recorder: Recorder,
        heartbeatWriter: HeartbeatWriter,
        eventLogger: EventLogger, supervision: Supervision, launcher: any RunLauncher
    ) -> Loop {
        let reference = LoopReference()
        let loop = Loop(
            agenda, beginning: beginning, clocks: clocks, recorder: recorder,
            heartbeatWriter: heartbeatWriter, eventLogger: eventLogger,
            supervision: supervision, launcher: launcher, reference: reference)
        reference.loop = loop
        loop.later { $0.begin(beginning) }
        return loop
    }

    /// Handles an event.
    func receive(_ event: Event) { decideAndPerform(event) }

    func decide(_ event: Event, at now: Now) -> [Action] {
        agenda.ahead = lead(of: now)
        agenda.storedThrough = progress.written
        let actions = agenda.handle(event, at: now)
        if progress.note(isHolding: agenda.isHolding, known: agenda.storedThrough) { sendStored() }
        return actions
    }

    /// Soon sends the event that the store has written something. The agenda then checks all held
    /// jobs. If there are very many, the event is not sent for each run that is written.
    nonisolated func sendStored() {
        guard progress.beginReport() else { return }
        later { loop in
            guard loop.agenda.heldCount > Self.heldAtOnceMax else { return loop.receiveStored() }
            loop.later(after: Self.heldDelay) { $0.receiveStored() }
        }
    }

    private func receiveStored() {
        progress.endReport()
        receive(.stored)
    }

    /// Handles the end of a run.
    func receive(_ end: RunEnd, of run: Run.ID) {
        decideAndPerform(
            .ended(run, end.outcome, end.usage, at: end.at, hasOutput: !end.tail.isEmpty),
            end: (run, end))
    }

    /// Executes a command and answers once its changes are on the disk.
    func handle(_ order: Order, reply: @escaping @Sendable (Answer, JobSnapshot?) -> Void) {
        after(.clocks) { $0.execute(order, isPart: false, reply: reply) }
    }

    /// Executes a command now.
    ///
    /// - Parameter isPart: whether it belongs to a command for many jobs.
    func execute(
        _ order: Order, isPart: Bool, reply: @escaping @Sendable (Answer, JobSnapshot?) -> Void
    ) {
        if fleet != nil || order.machine != nil, handleInFleet(order, reply: reply) { return }
        decideAndPerform(
            .order(order),
            answer: Reply(isPart: isPart) { answer in
                self.later { loop in
                    let snapshot = loop.agenda.snapshot(of: order.job, at: loop.steadyNow())
                    reply(answer, snapshot.map { loop.shown($0) })
                }
            })
    }

    /// Logs an event that is not about a decision of the agenda, after earlier entries.
    func log(_ notice: DaemonNotice) { eventLogger.log(notice) }

    /// Cancels the timers and saves the time records. `closed` is called once these are on the
    /// disk, `onDelayed` if they cannot be written for now, and `drained` once no run is active.
    func shutDown(
        closed: @escaping @Sendable (Now) -> Void,
        onDelayed: (@Sendable (StoreError) -> Void)? = nil, drained: @escaping @Sendable () -> Void
    ) {
        after(.clocks) { loop in
            // A daemon that stops is not ready any more.
            loop.stopWaitingForRunner()
            loop.after([.clocks, .decision]) { loop in
                let now = loop.reading()
                let actions = loop.decide(.shutdown, at: now)
                loop.perform(
                    Decision(
                        actions, at: now, written: loop.real(now), onDelayed: onDelayed,
                        done: { loop in
                            closed(now)
                            loop.after(.activeRuns) { $0.noteDrained(drained) }
                        }))
            }
        }
    }
}
