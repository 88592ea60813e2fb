// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import HostFiles
import Logging
import Options
import Systemd
import TimerConfig
import TimerControl
import TimerCore
import TimerRunner
import TimerStore

/// The daemon's parts and the order in which they come up and go down.
struct Daemon {
    /// The group whose members may look through the control socket.
    static let group = "timerd"
    /// The exit status of a start that ends at a configuration that cannot be read: EX_CONFIG of sysexits.h. To
    /// try again would change nothing.
    static let configurationStatus: Int32 = 78
    /// How long runs that live at a stop have between SIGTERM and SIGKILL.
    static let stopGrace: Duration = .seconds(10)
    /// How long a runner is waited for at the start.
    static let runnerPatience: Duration = .seconds(20)
    /// How long any other step of a stop may take.
    static let stepTime: DispatchTimeInterval = .seconds(5)

    /// For what takes long and nobody waits for. No global queue: see `Control.queue`.
    private static let background = DispatchQueue(label: "timerd.background", qos: .utility)

    struct Options: Sendable {
        var config: String
        var state: String
        var runtime: String
        var socket: String
        /// The socket of a runner that is not the daemon's to start and stop; nil: it is.
        var runner: String?
        var log: RunCommand.LogTarget
        /// What was wrong with the environment variable TZ; nil: nothing.
        var zoneFault: String?
    }

    let options: Options
    let log: Logger
    let clocks: Clocks
    let supervision: Supervision
    let teller: Teller
    let recorder: Recorder
    let recent = RecentOutput()
    let loop: Loop
    let runner: RunnerClient
    let reloader: Reloader
    let server: ControlServer
    /// How long ended runs are kept.
    private let history: Duration
    /// The runs that are still active from before this start.
    private let adopted: Set<Run.ID>

    /// Runs until a signal says stop. What keeps it from starting is said on the log, and the exit
    /// status is 1, or 78 for a configuration that cannot be read.
    static func run(_ options: Options) throws {
        // Everything the daemon makes is its user's alone, from its first instant on.
        umask(0o077)
        Precedence.take()
        Heap.keepSmall()
        let environment = SupervisorEnvironment.take()
        let clocks: Clocks
        do throws(Clocks.Failure) {
            clocks = try Clocks()
        } catch {
            throw UsageError(error.description)
        }
        let log = Self.makeLog(options.log, clocks: clocks)
        if let fault = options.zoneFault { log.warning("Started with a fault: \(fault)") }
        do {
            let daemon = try Daemon(options, environment, clocks: clocks, log: log)
            let stop = DispatchSemaphore(value: 0)
            let signals = daemon.takeSignals(stop)
            let loop = daemon.loop
            let watch = try ClockWatch(queue: loop.executor.queue) {
                loop.later { $0.receive(.clockChanged) }
            }
            let zones = daemon.watchZones()
            daemon.begin()
            // Not dispatchMain(), which ends the main thread: a process without one shows up as defunct.
            stop.wait()
            withExtendedLifetime((signals, watch, zones)) { daemon.stop() }
        } catch let error as ConfigError {
            log.critical("Cannot start: \(error)")
            throw ExitStatus(Self.configurationStatus)
        } catch {
            log.critical("Cannot start: \(error)")
            throw ExitStatus(1)
        }
    }

    private init(
        _ options: Options, _ environment: SupervisorEnvironment, clocks: Clocks, log: Logger
    ) throws {
        self.options = options
        self.log = log
        self.clocks = clocks
        supervision = Supervision(
            notify: environment.notify, watchdogInterval: environment.watchdogInterval, log: log)
        let reading = try Self.read(options.config, log: log)

        let state = try Directory.open(options.state, followLink: getenv("STATE_DIRECTORY") != nil)
        try state.lock()
        for name in Store.fileNames { try state.check(name) }
        let runtime = try Directory.open(options.runtime)
        let store = try Store(path: "\(state.resolvedPath())/\(Store.fileName)")
        var past = try store.beginLife(at: clocks.now())
        let heartbeat = try HeartbeatFile(in: runtime)
        past.heartbeat = heartbeat.read()
        let reach = RunnerReach(options, runtime: runtime, log: log)
        runner = try reach.connect(patience: Self.runnerPatience)
        past.note(runner.holdings)
        adopted = Set(past.openRuns.filter(\.isLive).map(\.id))
        history = reading.settings.history

        teller = Teller(log: Logger(label: Teller.label), hasFields: options.log.isJournal)
        recorder = Recorder(
            store: store, history: history, log: log, wall: { clocks.now().wall })
        let (agenda, firstActions) = Agenda.load(
            reading.roster, past, concurrentRunsMax: reading.settings.maxConcurrent,
            seed: MachineID.seed, at: clocks.now())
        loop = Loop(
            agenda: agenda, firstActions: firstActions, rejected: reading.rejections,
            clocks: clocks, recorder: recorder, pulse: Pulse(file: heartbeat, log: log),
            teller: teller, supervision: supervision, launcher: runner)
        reloader = Reloader(
            path: options.config, user: geteuid(), loop: loop, supervision: supervision,
            clocks: clocks, log: log)
        let about = Control.About(
            version: Timerd.versionNumber, pid: getpid(), since: clocks.now().wall,
            config: options.config)
        let socket =
            try environment.controlSocket()
            ?? UnixSocket.bind(at: options.socket, admitting: .group(Self.group))
        server = try ControlServer.listen(
            on: socket,
            for: Control(
                loop: loop, reloader: reloader, recorder: recorder, recent: recent, about: about))
    }

    private static func makeLog(_ target: RunCommand.LogTarget, clocks: Clocks) -> Logger {
        if target.isJournal {
            let journal = Journal()
            LoggingSystem.bootstrap { label in
                JournalLogHandler(
                    journal: journal, patience: label == Teller.label ? Teller.patience : .zero)
            }
        } else {
            LoggingSystem.bootstrap { _ in TerminalLogHandler { clocks.now().wall } }
        }
        return Logger(label: "timerd")
    }

    /// A file that does not parse stops the start; a job in error is left out, loudly.
    private static func read(_ path: String, log: Logger) throws(ConfigError) -> ConfigReading {
        let reading = try ConfigReader.load(path: path, ownerUID: geteuid())
        for error in reading.errors { log.error("\(error)") }
        if !reading.errors.isEmpty {
            let count = reading.rejected.count
            log.error(
                """
                \(path): \(reading.errorCount) \(reading.errorCount == 1 ? "error" : "errors"); \
                \(count == 1 ? "1 job is" : "\(count) jobs are") left out, \
                \(reading.roster.jobs.count) run
                """)
        }
        return reading
    }

    private func takeSignals(_ stop: DispatchSemaphore) -> Signals {
        let reloader = reloader
        let log = log
        return Signals(queue: loop.executor.queue) { name in
            log.notice("Stopping on \(name)")
            stop.signal()
        } reload: {
            // What came of it is in the log.
            reloader.reload(by: "SIGHUP") { _ in }
        }
    }

    /// Without a watch the daemon works as well, but for changes of zones, which then need a reload.
    private func watchZones() -> ZoneWatch? {
        let loop = loop
        let log = log
        do throws(ZoneWatch.Failure) {
            return try ZoneWatch {
                loop.later { loop in
                    let names = loop.zoneNames()
                    Self.background.async { Self.readZones(names, for: loop, log: log) }
                }
            }
        } catch {
            log.warning("\(error); after a change of a time zone, use `timerctl reload`")
            return nil
        }
    }

    private static func readZones(_ names: [String], for loop: Loop, log: Logger) {
        let zones = ZoneReading(of: names)
        for failure in zones.failures {
            log.warning("\(failure); its jobs go by the rules they have")
        }
        loop.later { $0.receive(.zonesChanged(zones.named, local: zones.local)) }
    }

    private func begin() {
        let (supervision, teller) = (supervision, teller)
        recorder.keep([.prune(endedBefore: clocks.now().wall - history)])
        loop.later { loop in
            loop.begin {
                supervision.ready("Started")
                // Behind what is told of it.
                teller.afterwards { Heap.giveBackSoon() }
            }
        }
        // Behind the beginning: the end of a run that nobody knows yet would be passed over.
        listenToRunner(adopting: adopted)
    }

    /// Passes on what the runner tells. What is worth a line in the log counts as seen once it is written
    /// there, so that no line a job writes is lost with the daemon.
    private func listenToRunner(adopting runs: Set<Run.ID>) {
        let (loop, teller, recent, log) = (loop, teller, recent, log)
        runner.begin(adopting: runs) { news, seen in
            switch news {
            case .event(.began(let run, _, let instant)):
                loop.later { $0.receive(.began(run, at: instant)) }
            case .event(.output(let run, let stream, let line, _)):
                recent.add(line, of: run, toStderr: stream == .stderr)
                teller.pass(line, of: run, toStderr: stream == .stderr, done: seen)
            case .event(.dropped(let run, let lines)):
                teller.passDrops(lines, of: run, done: seen)
            case .event(.ended(let run, let end)):
                // At once: a log that stalls holds up no decision. What is told of the end comes behind its
                // last lines all the same, which are in the log's queue already.
                loop.later { loop in
                    loop.receive(end, of: run)
                    teller.afterwards(seen)
                }
            case .away(let why):
                log.error(
                    "No runner: \(why). Runs that come due wait for it; those that live go on")
            case .back(let isSame):
                log.notice(
                    isSame ? "The runner is there again" : "There is a new runner, which carries on"
                )
            }
        }
    }

    /// Every step has a time limit, so that a daemon that is told to stop ends. Jobs end with a runner that
    /// is the daemon's own; with another's they go on.
    private func stop() {
        supervision.stopping()
        supervision.extendTimeout(Self.stopGrace + .seconds(20))
        let closed = DispatchSemaphore(value: 0)
        let drained = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        loop.later { loop in
            loop.shutDown {
                _ in
                closed.signal()
            } drained: {
                drained.signal()
            }
        }
        waitFor(closed, "close the accounts")
        if options.runner == nil {
            runner.shutdown(grace: Self.stopGrace)
            waitFor(drained, "record the ends of the last runs")
        }
        let now = clocks.now()
        recorder.keep([.endLife(now)], durable: true) { _ in ended.signal() }
        waitFor(ended, "record the stop")
        runner.close()
        server.stop()
        teller.flush()
    }

    private func waitFor(_ step: DispatchSemaphore, _ what: String) {
        guard step.wait(timeout: .now() + Self.stepTime) == .timedOut else { return }
        log.error("Cannot \(what) in time; the next start will find a daemon that was killed")
    }
}

extension SupervisorEnvironment {
    /// The control socket the service manager passed; nil if it passed none.
    fileprivate func controlSocket() throws(Directory.Failure) -> Int32? {
        guard !sockets.isEmpty else { return nil }
        guard let socket = sockets.first(where: \.isListeningUnixStream) else {
            throw Directory.Failure(
                description: "none of the sockets systemd passed is a unix stream socket; "
                    + "the socket unit needs ListenStream= with a path")
        }
        return socket.descriptor
    }
}

extension ConfigReading {
    /// What was left out, each with what is wrong with it.
    ///
    /// - Complexity: O(*n*) in the number of errors and of what was left out.
    var rejections: [Rejection] {
        let ofJobs = Dictionary(grouping: errors) { $0.job }
        let ofFiles = Dictionary(grouping: errors) { $0.file }
        return rejected.map { name in
            let own = (ofJobs[name] ?? ofFiles[name] ?? []).map(\.description)
            let other = "another error of its file keeps it from being loaded; see `timerd check`"
            return Rejection(name: name, errors: own.isEmpty ? [other] : own)
        }
    }
}

extension RunnerClient: RunLauncher {}

extension Recollection {
    /// Adds which of the open runs were begun, and which the runner still has to tell the end of. Where the
    /// runtime directory lost its memory though nobody stopped the daemon, any other may have been begun:
    /// none is begun twice.
    fileprivate mutating func note(_ holdings: [RunnerClient.Holding]) {
        let held = Dictionary(holdings.map { ($0.run, $0) }) { first, _ in first }
        let hasNoMemory = heartbeat == nil && previous?.ended == nil
        for index in openRuns.indices {
            let holding = held[openRuns[index].id]
            openRuns[index].isLive = holding != nil
            openRuns[index].wasBegun = hasNoMemory || holding != nil
            if let began = holding?.began { openRuns[index].recorded = began }
        }
    }
}

extension RunCommand.LogTarget {
    /// Whether the log goes to the journal, which takes fields, or to a terminal or a file.
    fileprivate var isJournal: Bool {
        switch self {
        case .auto: Journal.isStderr
        case .journal: true
        case .stderr: false
        }
    }
}
