// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Glibc
import HostFiles
import HostQueues
import Logging
import Systemd
import SystemdActivation
import TimerConfig
import TimerControl
import TimerCore
import TimerDaemon
import TimerLog
import TimerRecording
import TimerRunnerClient
import TimerRunnerProtocol
import TimerStore
import TimerTools

/// The parts of the daemon, and the order in which they start and stop.
struct Daemon {
    /// Members of this group may read through the control socket.
    static let group = "timerd"
    /// Members of this group, which is the web server alone, may connect to its socket.
    static let webGroup = "timerd-web"
    /// The exit status if the configuration cannot be read: EX_CONFIG of sysexits.h. Another
    /// attempt would fail in the same way, so the unit does not restart the service for it.
    static let configurationStatus: Int32 = 78
    /// How much time active runs have between SIGTERM and SIGKILL when the daemon stops.
    static let stopGrace: Duration = .seconds(10)
    /// How long a start waits for the runner.
    static let runnerTimeout: Duration = .seconds(20)
    /// How long any other step of a stop may take.
    static let stepTime: DispatchTimeInterval = .seconds(5)
    /// How long a stop waits until those who follow the events have the last ones.
    static let eventsTime: DispatchTimeInterval = .seconds(1)
    /// How long a stop waits until the log is written.
    static let logTime: Duration = .seconds(2)
    /// How much longer a stop waits for a store that cannot be written. The store tries once more
    /// in that time.
    static let storeTimeout: DispatchTimeInterval = .milliseconds(1500)

    /// For slow work that no caller waits for. It is not a global queue; see `DispatchQueue.answers`.
    static let background = DispatchQueue(label: "timerd.background", qos: .utility)

    struct Options: Sendable {
        var config: String
        var state: String
        var runtime: String
        var socket: String
        /// The socket of a runner that is a service of its own; nil if the daemon starts and stops
        /// its runner.
        var runner: String?
        /// The socket of `timerd-fleet`; nil: the usual one.
        var fleet: String?
        var log: LogTarget
        var logLevel = LogLevel.info
        /// Whether to start although the saved state has disappeared.
        var acceptsDataLoss = false
        /// What is wrong with the environment variable TZ; nil if nothing is.
        var zoneFault: String?
    }

    let options: Options
    let log: Logger
    let clocks: Clocks
    /// When this instance started, by the wall clock. It identifies the instance in the API.
    let since: WallInstant
    let supervision: Supervision
    let eventLogger: EventLogger
    let recorder: Recorder
    let recent = RecentOutput()
    let meters: Meters
    let loop: Loop
    let runner: RunnerClient
    let copies: StateCopies
    let events: EventPublisher
    let sender: NotificationSender
    /// The member of the fleet; nil without one.
    let fleet: FleetDriver?

    /// Runs until a signal stops it. If it cannot start, it logs why. The exit status is 1 then, or
    /// 78 for a configuration that cannot be read.
    static func run(_ options: Options) throws {
        // Only the daemon's user may access the files that it creates, from the first instant on.
        umask(0o077)
        SchedulingPriority.raise()
        Heap.configureMalloc()
        let environment = SupervisorEnvironment.take()
        let clocks: Clocks
        let signals: Signals
        do {
            clocks = try Clocks()
            signals = try Signals()
        } catch {
            Output.complain("cannot start: \(error)")
            throw ExitCode(1)
        }
        let output = LogOutput(options.log) { clocks.now().wall }
        // At the end its reader gets a moment to read the rest.
        defer { output.flush(timeout: Self.logTime) }
        let log = output.makeLogger(level: options.logLevel)
        if let fault = options.zoneFault { log.warning("Started with a fault: \(fault)") }
        let reaper = OrphanReaper()
        defer { withExtendedLifetime(reaper) {} }
        do {
            let start = DaemonStart(
                options: options, environment: environment, clocks: clocks, log: log,
                output: output, signals: signals, meters: Meters { output.droppedTotal })
            try start.run { daemon, server in
                // dispatchMain() would end the main thread, and ps shows a process without one as
                // defunct.
                daemon.waitForStop(signals, server: server)
            }
        } catch let request as Signals.StopRequest {
            log.notice("Stopping on \(request.signal), before the start was complete")
        } catch let error as ConfigError {
            log.critical("Cannot start: \(error)")
            throw ExitCode(Self.configurationStatus)
        } catch let status as ExitCode {
            // The reason is in the log already.
            throw status
        } catch {
            log.critical("Cannot start: \(error)")
            throw ExitCode(1)
        }
    }

    /// Serves clients until a signal asks to stop, and stops.
    private func waitForStop(_ signals: Signals, server: Listening) {
        let stop = DispatchSemaphore(value: 0)
        let (log, reloader) = (log, server.reloader)
        signals.pass(on: loop.executor.queue) { name in
            log.notice("Stopping on \(name)")
            stop.signal()
        } reload: {
            // The result is in the log.
            reloader.reload(by: "SIGHUP") { _ in }
        }
        let zones = watchZones(reloader)
        stop.wait()
        withExtendedLifetime(zones) { self.stop(server) }
    }

    /// The daemon also works without this watch. Changes of time zones then need a reload.
    private func watchZones(_ reloader: Reloader) -> ZoneWatch? {
        let loop = loop
        let log = log
        do throws(ZoneWatch.Failure) {
            return try ZoneWatch {
                loop.later { loop in
                    let names = loop.zoneNames()
                    Self.background.async {
                        Self.readZones(names, for: loop, reloader, log: log)
                    }
                }
            }
        } catch {
            log.warning("\(error); after a change of a time zone, use `timerctl reload`")
            return nil
        }
    }

    private static func readZones(
        _ names: [String], for loop: Loop, _ reloader: Reloader, log: Logger
    ) {
        let zones = ZoneReading(of: names)
        if !zones.failures.isEmpty {
            loop.later { loop in
                let jobs = loop.jobs(inZones: Set(zones.failures.compactMap(\.zone)))
                background.async {
                    for failure in zones.failures {
                        log.warning("\(failure.sentence(jobs[failure.zone ?? ""] ?? []))")
                    }
                }
            }
        }
        reloader.zonesChanged(zones.named)
        loop.later { loop in
            loop.after(.clocks) { loop in
                loop.receive(.zonesChanged(zones.named, local: zones.local))
                loop.configureFleet(isReload: false)
            }
        }
    }

    /// Handles the events of the runner. An event that needs a line in the log is acknowledged only
    /// when the line is written, so that a crash of the daemon loses no line of a job.
    func listenToRunner(adopting runs: Set<Run.ID>) {
        let (loop, eventLogger, recent, log, clocks) = (loop, eventLogger, recent, log, clocks)
        let meters = meters
        for run in runs { recent.begin(run) }
        let (sender, fleet) = (sender, fleet)
        runner.begin(adopting: runs) { news, seen in
            switch news {
            case .event(let event) where event.run.isMessage:
                guard case .ended(let run, let end) = event else { return seen() }
                sender.receive(end, of: run, seen: seen)
            case .event(.began(let run, _, let instant)):
                recent.begin(run)
                loop.later { $0.receive(.began(run, at: instant)) }
                fleet?.began(run, at: instant)
            case .event(.output(let run, let stream, let line, _)):
                recent.add(line, of: run, toStderr: stream == .stderr, at: clocks.wall)
                eventLogger.logLine(line, of: run, toStderr: stream == .stderr, done: seen)
            case .event(.unfinished(let run, let stream, let line)):
                // The log gets the whole line when it has ended.
                recent.note(unfinished: line, of: run, toStderr: stream == .stderr, at: clocks.wall)
                seen()
            case .event(.dropped(let run, let lines)):
                recent.skip(lines, of: run)
                meters.addDroppedOutput(lines)
                eventLogger.logDroppedLines(lines, of: run, done: seen)
            case .event(.limited(let run, let lines)):
                recent.skip(lines, of: run)
                meters.addDroppedOutput(lines)
                eventLogger.logRateLimit(lines, of: run, done: seen)
            case .event(.slowed(let run)): eventLogger.logSlowdown(of: run, done: seen)
            case .event(.leftBehind(let run, let count, let named)):
                eventLogger.logLeftovers(count, named, of: run, done: seen)
            case .event(.ended(let run, let end)):
                // The end is forgotten at once, because no decision may wait for a slow log. The
                // log entry about the end still comes after the last lines of the run: those are in
                // the log's queue already.
                recent.end(run)
                loop.later { loop in
                    loop.receive(end, of: run)
                    eventLogger.afterwards(seen)
                }
            case .checked(let run, let number, let answer):
                loop.later { $0.receive(.checked(run, number: number, answer)) }
            case .machineChanged(let parts): loop.later { $0.receive(.machineChanged(parts)) }
            case .away(_, wasAnnounced: true):
                meters.note(isRunnerConnected: false)
                log.notice(
                    """
                    The runner has ended, as it does after an upgrade or when its service is restarted; due \
                    runs wait for the next runner
                    """)
            case .away(let why, wasAnnounced: false):
                meters.note(isRunnerConnected: false)
                log.error(
                    "No runner: \(why). Due runs wait for it; active runs continue")
            case .back(let isSame):
                meters.note(isRunnerConnected: true)
                log.notice(
                    isSame
                        ? "Connected to the runner again"
                        : "Connected to a new runner, which continues"
                )
            }
        }
    }
}

extension RunnerClient: RunLauncher, MessageLauncher {}
