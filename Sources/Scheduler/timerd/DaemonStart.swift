// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import HostQueues
import Logging
import Systemd
import SystemdActivation
import TimerAPI
import TimerConfig
import TimerControl
import TimerCore
import TimerDaemon
import TimerLog
import TimerRecording
import TimerRunnerClient
import TimerStore

/// The steps of a start, in their order. All steps that can fail come before the first write of
/// this instance. A start that fails therefore changes nothing: no row makes a clean stop look like
/// a crash, no process stays behind, and nothing of another daemon is touched.
struct DaemonStart {
    let options: Daemon.Options
    let environment: SupervisorEnvironment
    let clocks: Clocks
    let log: Logger
    let output: LogOutput
    let signals: Signals
    let meters: Meters
    let feed = EventFeed()

    /// Starts, and calls `serve` once the daemon can answer all requests. Returns when the daemon
    /// has stopped.
    ///
    /// - Throws: `ConfigError` for a configuration that cannot be read, `Signals.StopRequest` if a
    ///   signal came before anything was written, or another error that prevents the start.
    func run(_ serve: (Daemon, Listening) throws -> Void) throws {
        let supervision = Supervision(
            notify: environment.notify, watchdogInterval: environment.watchdogInterval, log: log)
        let extraTime = ExtraTime(supervision)
        defer { extraTime.end() }
        // Computed before the files are read: a change in the meantime causes another reload.
        let digest = ConfigReader.digest(path: options.config, ownerUID: geteuid())
        let reading = try readConfiguration()
        let machine = try reading.settings.fleet.map { try Self.machine(of: $0) }
        let state = try Directory.open(options.state, followLink: getenv("STATE_DIRECTORY") != nil)
        let runtime = try Directory.open(options.runtime)
        try lock(state, runtime)
        let heartbeat = try HeartbeatFile(in: runtime)
        try signals.check()
        let connector = RunnerConnector(options, runtime: runtime, log: log)
        // A new runner reads the configuration while the saved state is read here. One that is there
        // has read it before, and from the moment a daemon connects, the output of its runs waits
        // for that daemon.
        var reached = connector.mustStart ? try reachRunner(by: connector) : nil
        defer { reached?.stopIfOwn() }
        try signals.check()
        let saved = try SavedState(
            in: state, heartbeat: heartbeat.read(), bootID: clocks.bootID)
        var (store, past) = try openStore(saved, heartbeat)
        let watch = try ClockWatch()
        let socket = try bindSocket()
        let webSocket = bindWebSocket()
        try signals.check()
        let runner = try reached ?? reachRunner(by: connector)
        reached = runner
        try signals.check()
        past.note(runner.client.holdings)

        let recorder = try makeRecorder(store, reading, past, in: state)
        reached = nil
        let heartbeatWriter = HeartbeatWriter(file: heartbeat, log: log)
        // The saved state is not needed any more after this: with very many jobs it is large.
        let daemon = startDaemon(
            reading, consume past, recorder, runner.client, heartbeatWriter, in: state, supervision,
            as: machine
        ) {
            extraTime.end()
        }
        // From here on the daemon can answer requests.
        watch.activate(queue: daemon.loop.executor.queue) {
            daemon.loop.later { loop in loop.after(.clocks) { $0.receive(.clockChanged) } }
            daemon.fleet?.clocksChanged()
        }
        let about = Control.About(
            version: Timerd.versionNumber, pid: getpid(), since: daemon.since,
            config: options.config)
        let server = try listen(
            on: socket, web: webSocket, for: daemon, about,
            Reloader.InUse(consume reading, digest: digest), keeping: heartbeatWriter)
        try withExtendedLifetime((watch, state, runtime)) { try serve(daemon, server) }
    }

    private func makeRecorder(
        _ store: sending Store?, _ reading: ConfigReading, _ past: RecoveredState,
        in state: Directory
    ) throws -> Recorder {
        Recorder(
            store: store,
            history: HistoryLimits(
                span: reading.settings.history, bytesMax: reading.settings.historyMax,
                runs: HistoryLimits.runs(of: reading.jobSet.jobs)), log: log,
            wall: { [clocks] in clocks.now().wall },
            open: try Self.opener(in: state, for: past.instance))
    }

    /// Creates the parts of the daemon, connects them, and starts the loop.
    ///
    /// - Parameter ready: called when the service manager need not wait any longer.
    private func startDaemon(
        _ reading: ConfigReading, _ past: RecoveredState, _ recorder: Recorder,
        _ runner: RunnerClient, _ heartbeatWriter: HeartbeatWriter, in state: Directory,
        _ supervision: Supervision, as machine: MachineName?,
        ready: @escaping @Sendable () -> Void
    ) -> Daemon {
        let eventLogger = makeEventLogger()
        let copies = StateCopies(of: state, recorder: recorder, log: log) {
            [clocks] in clocks.now().wall
        }
        let (agenda, beginning) = beginning(
            reading, past, supervision: supervision, eventLogger: eventLogger, ready: ready
        ) {
            copies.begin()
            recorder.prune()
        }
        let loop = Loop.started(
            consume agenda, with: beginning, clocks: clocks, recorder: recorder,
            heartbeatWriter: heartbeatWriter, eventLogger: eventLogger, supervision: supervision,
            launcher: runner)
        let sender = sender(
            reading.jobSet.notifiers, recorder: recorder, runner: runner, loop: loop)
        connect(recorder, to: loop, sender, heartbeatWriter)
        let since = clocks.now().wall
        let daemon = Daemon(
            options: options, log: log, clocks: clocks, since: since, supervision: supervision,
            eventLogger: eventLogger,
            recorder: recorder, meters: meters, loop: loop, runner: runner, copies: copies,
            events: makeEvents(since: since, of: loop), sender: sender,
            fleet: fleet(reading, past.instance, recorder, loop, as: machine))
        // The loop would ignore the end of a run that it does not know yet.
        daemon.listenToRunner(adopting: Set(past.openRuns.filter(\.isLive).map(\.id)))
        return daemon
    }

    /// The log of events. It also passes them to those who follow them.
    private func makeEventLogger() -> EventLogger {
        EventLogger(
            log: Logger(label: EventLogger.label), hasFields: options.log.hasFields,
            hasTimeRecords: options.log.isJournal, feed: feed, together: output.together,
            wall: { [clocks] in clocks.wall })
    }

    /// Sends the events to clients that follow them. It gets the states of jobs from the loop.
    private func makeEvents(since: WallInstant, of loop: Loop) -> EventPublisher {
        EventPublisher(
            feed: feed, instance: since.rfc3339Micros,
            awake: { [clocks] in clocks.awake }, wall: { [clocks] in clocks.wall },
            gather: { jobs, done in loop.later { $0.gather(jobs, done) } })
    }

    /// Reports what the store has written, and that it cannot write, to the parts that depend on it.
    private func connect(
        _ recorder: Recorder, to loop: Loop, _ sender: NotificationSender,
        _ heartbeatWriter: HeartbeatWriter
    ) {
        recorder.follow(
            Recorder.Followers { error in
                loop.later { $0.note(storeError: error) }
            } notified: {
                sender.noteRecorded()
            } marked: { generation in
                heartbeatWriter.note(generation: generation)
            })
        loop.later { $0.config.followNotifiers { sender.reload($0) } }
    }

    /// The sender of notifications. It reads the outbox as soon as the store is open.
    private func sender(
        _ notifiers: [Notifier], recorder: Recorder, runner: RunnerClient, loop: Loop
    ) -> NotificationSender {
        let sender = NotificationSender(
            notifiers,
            dependencies: NotificationSender.Dependencies(
                clocks: clocks, recorder: recorder, launcher: runner, log: log,
                definitions: { names, done in
                    loop.later { loop in
                        loop.definitions(of: names) { jobs in
                            done(Dictionary(jobs.map { ($0.name, $0) }) { first, _ in first })
                        }
                    }
                },
                execute: { command, done in
                    loop.later { loop in loop.handle(command) { answer, _ in done(answer) } }
                }))
        sender.begin()
        return sender
    }

    /// Reads the configuration. A file that cannot be parsed prevents the start. A job with an
    /// error is not loaded, and the log has an error about it.
    private func readConfiguration() throws -> ConfigReading {
        let reading = try ConfigReader.load(
            path: options.config, ownerUID: geteuid(), seed: MachineID.seed)
        for error in reading.errors { log.error("\(error)") }
        if !reading.errors.isEmpty { log.error("\(options.config): \(reading.errorSummary)") }
        try signals.check()
        return reading
    }

    static let lockName = "scheduler.lock"

    /// Locks both directories for this process before it looks at anything in them. The second one
    /// contains the heartbeat and the sockets of the daemon and of its runner.
    private func lock(_ state: Directory, _ runtime: Directory) throws {
        try state.lock()
        try runtime.lock(Self.lockName, option: "--runtime")
        // The descriptor stays open until the process ends, so that clients can tell that the
        // daemon is running.
        _ = try UnixSocket.bindMark(ControlPath.aliveName, in: runtime)
    }

    /// Loads the jobs.
    /// - Parameters:
    ///   - ready: called when the service manager need not wait any longer.
    ///   - saved: called when the first records are on the disk.
    private func beginning(
        _ reading: ConfigReading, _ past: RecoveredState, supervision: Supervision,
        eventLogger: EventLogger,
        ready: @escaping @Sendable () -> Void, saved: @escaping @Sendable () -> Void
    ) -> (Agenda, Loop.Beginning) {
        let now = clocks.now()
        let (agenda, actions) = Agenda.load(
            reading.jobSet, past, concurrentRunsMax: reading.settings.maxConcurrent,
            seed: MachineID.seed, at: now)
        let beginning = Loop.Beginning(
            actions: actions, at: now, unstored: past.unstored(),
            rejected: reading.rejections, levels: EventLogger.levels(of: reading.jobSet.jobs),
            begun: {
                saved()
                // After the log entries about the start.
                eventLogger.afterwards { Heap.giveBackSoon() }
            }
        ) { [log] isRunnerPrepared in
            if !isRunnerPrepared {
                log.warning(
                    """
                    The runner has not read its configuration after \
                    \(Loop.preparationMax.components.seconds) s; due runs wait for it. If that \
                    lasts, its log has the reason
                    """)
            }
            ready()
            supervision.ready("Started")
        } onDelayed: { error in
            ready()
            supervision.ready("Runs wait, since the state cannot be saved: \(error)")
        }
        return (agenda, beginning)
    }
}
