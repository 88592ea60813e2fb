// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization
public import TimerCore
public import TimerRunnerProtocol

/// A runner behind a socket. It starts the runs that one scheduler requests by name, with the
/// definitions that the runner has read itself, and keeps events until the scheduler has
/// acknowledged them, however often it disconnects and reconnects.
///
/// A new connection of a scheduler replaces the previous one, which is closed.
public final class RunnerServer: Sendable {
    /// How long the server waits at the end for remaining events to be acknowledged.
    public static let drainTimeout: Duration = .seconds(5)

    /// The definitions of each job's runs in the configuration.
    public typealias Definitions = [Job.Name: Definition]

    /// The rules in the configuration that apply to all runs.
    public struct RunRules: Hashable, Sendable {
        /// The most active runs; further runs wait.
        public var activeMax = Int.max
        /// The users as whom runs may execute; nil: any. A run of another user fails.
        public var allowedUsers: AllowedUsers?
        /// The notifiers, which say how messages are sent.
        public var notifiers: [Notifier.Name: Notifier] = [:]

        /// No limits, and no notifiers.
        public init() {}
    }

    /// The reason why the configuration cannot be read.
    public struct Unreadable: Error, Hashable {
        /// What is wrong with the configuration.
        public var description: String

        /// A configuration that cannot be read, for this reason.
        public init(_ description: String) { self.description = description }
    }

    /// The settings of a server.
    public struct Settings: Sendable {
        /// A bound socket; the server listens on it and closes it.
        public var socket: Int32
        /// The users whose schedulers may connect, in addition to root.
        public var users: [UInt32]
        /// A descriptor of the directory of the run registry.
        public var registry: Int32
        /// The optional features of the runner.
        public var options = Runner.Options()
        /// How long the server runs without a scheduler and without a run; nil: without limit.
        public var idleMax: Duration?
        /// Whether a scheduler may terminate every run and the server.
        public var allowsShutDown = true
        /// The user as whom messages are sent; nil: the user of this process.
        public var messageUser: String?
        /// `$CREDENTIALS_DIRECTORY`, in which the secret addresses of notifiers are; nil if it is not
        /// set. No part of the path may be a symbolic link.
        public var messageCredentials: String?
        /// Whether the configuration may have changed since it was last read. It is called before
        /// runs start, and should return quickly.
        public var hasChanged: @Sendable () -> Bool = { false }
        /// Whether the definition of a job may have changed since the reading in use, according to
        /// the last call of `hasChanged`. Only the runs of such jobs wait until the configuration
        /// is read again.
        public var isAffected: @Sendable (Job.Name) -> Bool = { _ in true }
        /// The jobs that the last result of `definitions` does not contain because of an error in
        /// the files: their definitions do not change. It is called on the thread that called
        /// `definitions`.
        public var kept: @Sendable () -> Set<Job.Name> = { [] }
        /// Called when the last result of `definitions` takes effect.
        /// - Returns: its rules for all runs, which apply whatever the scheduler requests.
        public var didApply: @Sendable () -> RunRules = { RunRules() }
        /// Whether the program of this process was replaced. It is called when a scheduler
        /// connects, and when the configuration is read again. `run` then returns as soon as no run
        /// is active, so that the next runner can start.
        public var isReplaced: @Sendable () -> Bool = { false }
        /// Called on its own thread after the definitions of very many jobs were freed.
        public var freeFormer: @Sendable () -> Void = {}
        /// Removes the definitions of these one-off jobs. Called on a thread of its own.
        public var discard: @Sendable ([Job.Name]) -> Void = { _ in }
        /// How long the files of the configuration have been as they were at the last result of
        /// `definitions`, as far as they were looked at. An editor that writes a file in place
        /// empties it first: a job that is missing in files that have just changed may be there a
        /// moment later, so its runs wait.
        public var unchangedFor: @Sendable () -> Duration = { .seconds(Int64.max) }
        var limits = RunnerLimits()
        /// Reads the configuration; may take long.
        public var definitions: @Sendable () -> Result<Definitions, Unreadable>
        /// Writes to the log of the runner itself.
        public var say: @Sendable (String) -> Void

        /// Settings with these values.
        public init(
            socket: Int32, users: [UInt32], registry: Int32,
            definitions: @escaping @Sendable () -> Result<Definitions, Unreadable>,
            say: @escaping @Sendable (String) -> Void
        ) {
            self.socket = socket
            self.users = users
            self.registry = registry
            self.definitions = definitions
            self.say = say
        }
    }

    private let settings: Settings
    private let runner: Runner
    private let outbound = OutboundQueue()
    private let wake: Int32
    private let instance = UInt64.random(in: 1 ... .max)
    private let requests = Requests()

    /// Requests of other threads to the serving thread.
    private final class Requests: Sendable {
        struct State {
            var grace: Duration?
            var isDown = false
            /// Whether the configuration must be read again.
            var mustRefresh = false
        }

        let state = Mutex(State())
    }

    /// Creates the server and recovers the runs of an earlier runner.
    ///
    /// - Throws: `Runner.Failure`; the socket is closed.
    public init(_ settings: Settings) throws(Runner.Failure) {
        self.settings = settings
        let wake = EventFD.make()
        self.wake = wake
        guard wake >= 0, listen(settings.socket, 16) == 0 else {
            let code = errno
            close(settings.socket)
            throw Runner.Failure("cannot listen", code)
        }
        let (outbound, requests) = (outbound, requests)
        do throws(Runner.Failure) {
            // The sending thread is woken once per loop iteration, not for each of a thousand
            // starts. The start of a run is not urgent, so the start and the end of a short run are
            // reported together.
            let coalescer = WakeCoalescer()
            runner = try Runner(registry: settings.registry, options: settings.options) { event in
                guard !event.isMessageOutput else { return }
                coalescer.note(event, isFirst: outbound.take(event))
            } outputGate: { run in
                run.isMessage ? .open : outbound.outputGate(of: run)
            } iterationEnded: { isLate in
                let (mustWake, mayWait) = coalescer.endIteration(isLate: isLate)
                if mustWake { EventFD.signal(wake) }
                return mayWait
            } ended: {
                // This happens with the lock held, because the descriptor may be closed as soon as
                // `isDown` is visible.
                requests.state.withLock { state in
                    state.isDown = true
                    EventFD.signal(wake)
                }
            }
        } catch {
            close(settings.socket)
            close(wake)
            throw error
        }
    }

    deinit {
        close(settings.socket)
        close(wake)
    }

    /// Terminates every run, by SIGTERM and after `grace` by SIGKILL, and then makes `run` return.
    /// Returns at once.
    public func end(grace: Duration) {
        requests.state.withLock { $0.grace = min($0.grace ?? grace, grace) }
        // This creates no thread, because jobs may have used up the limit of threads.
        runner.shutDownSoon(grace: grace)
    }

    /// The signals that a server handles. They must be blocked in every thread
    /// (`Runner.blockSignals`), from the first step of the program on.
    public static let signals = RunnerSocket.signals

    /// Makes SIGTERM and SIGINT end the server as `end` does, and SIGHUP reload the configuration.
    /// A signal that is already pending is handled too.
    ///
    /// A thread waits only for signals (sigwait(3)): a signalfd would be woken by any signal,
    /// including the SIGCHLD for the end of each run.
    /// - Throws: `Runner.Failure` if no thread can be created.
    public func handleSignals(grace: Duration) throws(Runner.Failure) {
        let code = WorkerThread.start("timerd.signals") { [self] in
            var awaited = SignalSet.of(Self.signals)
            var number: Int32 = 0
            while true {
                guard sigwait(&awaited, &number) == 0 else { continue }
                if number == SIGHUP { refresh() } else { end(grace: grace) }
            }
        }
        guard code == 0 else { throw Runner.Failure("cannot start a thread", code) }
    }

    /// Schedules a reload of the configuration.
    private func refresh() {
        requests.state.withLock { $0.mustRefresh = true }
        EventFD.signal(wake)
    }

    private func takeRefresh() -> Bool {
        requests.state.withLock { state in
            defer { state.mustRefresh = false }
            return state.mustRefresh
        }
    }

    /// Serves until one of these is true: `end` was called or a scheduler requested a shutdown, and
    /// every run has ended; there was neither a scheduler nor a run for `Settings.idleMax`;
    /// `Settings.isReplaced` returned true and no run is active. Ends that no scheduler has
    /// acknowledged are in the registry then, for the next runner to report.
    public func run() {
        var server = ServerLoop(
            settings: settings, runner: runner, outbound: outbound, wake: wake, instance: instance)
        var drainUntil: Int64?
        var idleAt: Int64?
        while true {
            idleAt = idleEnd(of: server, before: idleAt)
            server.runOnce(timeout: drainUntil ?? idleAt)
            idleAt = idleEnd(of: server, before: idleAt)
            if let at = idleAt, RunnerClock.awake() >= at, server.closeIfUnused() {
                return runner.shutdown(grace: .zero)
            }
            if takeRefresh() {
                server.checkProgram()
                server.refresh()
            }
            // No request can arrive in between here.
            if server.mustYield, !outbound.hasLiveRun {
                server.mustYield = false
                runner.shutdown(grace: Self.drainTimeout)
            }
            if let grace = server.shutDown {
                server.shutDown = nil
                end(grace: grace)
            }
            guard requests.state.withLock(\.isDown) else { continue }
            if drainUntil == nil {
                drainUntil = RunnerClock.awake() + Self.drainTimeout.wholeNanoseconds
                server.announceShutdown()
            }
            // Events that were not acknowledged are in the registry, for the next runner to report.
            guard server.isConnected, !outbound.isEmpty || server.hasUnwritten,
                RunnerClock.awake() < drainUntil ?? 0
            else { return }
        }
    }
}

extension RunnerServer {
    /// When a server has been idle for long enough, by CLOCK_MONOTONIC; nil while it is not idle.
    private func idleEnd(of server: borrowing ServerLoop, before: Int64?) -> Int64? {
        guard let idleMax = settings.idleMax, !server.isConnected, server.shutDown == nil,
            requests.state.withLock({ $0.grace == nil }), !outbound.hasLiveRun
        else { return nil }
        return before ?? RunnerClock.awake() + idleMax.wholeNanoseconds
    }
}

extension RunnerEvent {
    /// Whether it is about the output of a program that sends a message. Only the last part of that
    /// is reported, with the end of its run, because it may contain a secret.
    fileprivate var isMessageOutput: Bool {
        switch self {
        case .began, .ended: false
        case .output, .dropped, .limited, .slowed, .leftBehind: run.isMessage
        }
    }
}

extension ServerLoop {
    /// Checks whether this program was replaced.
    mutating func checkProgram() {
        guard !mustYield, settings.isReplaced() else { return }
        mustYield = true
        settings.say(
            "this runner still executes a program or a library that was replaced, as by an upgrade; it restarts "
                + "as soon as no run is active. `systemctl restart timerd-runner` restarts it now, which "
                + "stops active runs")
    }
}

/// Decides when to wake the sending thread, so that events are sent together.
private final class WakeCoalescer: Sendable {
    private enum State { case nothing, beginnings, more }

    private let state = Mutex(State.nothing)

    /// - Parameter isFirst: whether there was nothing to send before.
    func note(_ event: RunnerEvent, isFirst: Bool) {
        state.withLock { state in
            guard isFirst || state != .nothing else { return }
            if case .began = event {
                if state == .nothing { state = .beginnings }
            } else {
                state = .more
            }
        }
    }

    /// Whether to wake the sending thread now, and if not, whether an event may wait for more.
    func endIteration(isLate: Bool) -> (mustWake: Bool, mayWait: Bool) {
        state.withLock { state in
            guard state == .more || isLate else { return (false, state == .beginnings) }
            defer { state = .nothing }
            return (state != .nothing, false)
        }
    }
}
