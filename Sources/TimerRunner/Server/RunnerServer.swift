// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization
public import TimerCore
public import TimerRunnerProtocol

/// A runner behind a socket: it starts what one scheduler asks for, by name and by what it has read itself,
/// and keeps what there is to tell until the scheduler has it, however often that goes and comes.
///
/// The scheduler that connected last is the one that counts; the connection before is closed.
public final class RunnerServer: Sendable {
    /// How long what is left to tell is waited for at the end.
    public static let drainTimeout: Duration = .seconds(5)

    /// What the configuration says of each job's runs.
    public typealias Definitions = [Job.Name: Definition]

    /// What the configuration says of all runs.
    public struct RunRules: Hashable, Sendable {
        /// How many may be active at once. Further runs wait.
        public var activeMax = Int.max
        /// The users they may have; nil: any. A run of another user fails.
        public var allowedUsers: AllowedUsers?

        /// No limits.
        public init() {}
    }

    /// Why there is no definitions.
    public struct Unreadable: Error, Hashable {
        /// What is wrong with it.
        public var description: String

        /// A configuration that cannot be read, for this reason.
        public init(_ description: String) { self.description = description }
    }

    /// What a server is made with.
    public struct Settings: Sendable {
        /// A socket that is bound; the server listens on it and closes it.
        public var socket: Int32
        /// The users whose schedulers are believed, beside root.
        public var users: [UInt32]
        /// The directory of registry.
        public var registry: Int32
        /// What the runner may do beyond its own children.
        public var options = Runner.Options()
        /// How long the server goes on without a scheduler and without a run; nil: for ever.
        public var idleMax: Duration?
        /// Whether a scheduler may end every run and the server.
        public var obeysShutDown = true
        /// Whether the configuration may be another than when it was read last. It is asked before runs are begun,
        /// and had better not take its time.
        public var hasChanged: @Sendable () -> Bool = { false }
        /// Whether the definition of a job may have changed since the reading in use, by what `hasChanged` has found.
        /// Only the runs of such jobs wait until the configuration is read again.
        public var isAffected: @Sendable (Job.Name) -> Bool = { _ in true }
        /// The jobs that the last result of `definitions` says nothing of because of an error in the files: they stay as they
        /// are. It is asked on the thread that called `definitions`.
        public var kept: @Sendable () -> Set<Job.Name> = { [] }
        /// Called when the last result of `definitions` is used from now on.
        /// - Returns: what it says of all runs, whatever the scheduler requests.
        public var isTaken: @Sendable () -> RunRules = { RunRules() }
        /// Whether the program of this process was replaced. It is asked when a scheduler connects, and when the
        /// configuration is to be read again. `run` then returns as soon as no run is active, for the next runner.
        public var isReplaced: @Sendable () -> Bool = { false }
        /// Called on a thread of its own after the definitions of very many jobs were freed.
        public var freeFormer: @Sendable () -> Void = {}
        var limits = RunnerLimits()
        /// Reads the configuration; may take its time.
        public var definitions: @Sendable () -> Result<Definitions, Unreadable>
        /// Says something in the log of the runner itself.
        public var say: @Sendable (String) -> Void

        /// Settings as described.
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
    private let orders = Orders()

    /// What other threads want of the one that serves.
    private final class Orders: Sendable {
        struct State {
            var grace: Duration?
            var isDown = false
            /// Whether the configuration is to be read again.
            var mustRefresh = false
        }

        let state = Mutex(State())
    }

    /// Takes up what an earlier runner left.
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
        let (outbound, orders) = (outbound, orders)
        do throws(Runner.Failure) {
            // Whoever sends is woken once for all that a turn brings, not for each of a thousand starts; and
            // nobody waits to hear of a start, so that of a short run start and end are told together.
            let coalescer = WakeCoalescer()
            runner = try Runner(registry: settings.registry, options: settings.options) { event in
                coalescer.note(event, isFirst: outbound.take(event))
            } gate: { run in
                outbound.gate(of: run)
            } turned: { isLate in
                let (mustRing, mayWait) = coalescer.turn(isLate: isLate)
                if mustRing { EventFD.signal(wake) }
                return mayWait
            } ended: {
                // With the lock, since nothing is woken any more once this is seen.
                orders.state.withLock { state in
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

    /// Ends every run, by SIGTERM and after `grace` by SIGKILL, and then lets `run` return. Returns at once.
    public func end(grace: Duration) {
        orders.state.withLock { $0.grace = min($0.grace ?? grace, grace) }
        // No thread is made for it: jobs may have used up all that there may be.
        runner.shutDownSoon(grace: grace)
    }

    /// The signals a server handles: they must be blocked in every thread (`Runner.blockSignals`), from before the
    /// first step of the program on.
    public static let signals = RunnerSocket.signals

    /// From here on SIGTERM and SIGINT end the server as `end` does, and SIGHUP has the configuration read again;
    /// one that came before counts as well.
    ///
    /// By a thread that waits for nothing else (sigwait(3)): a descriptor for signals is woken by any, and so by the
    /// end of each run.
    /// - Throws: `Runner.Failure` if there can be no thread.
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

    /// Has the configuration read again soon.
    private func refresh() {
        orders.state.withLock { $0.mustRefresh = true }
        EventFD.signal(wake)
    }

    private func takeRefresh() -> Bool {
        orders.state.withLock { state in
            defer { state.mustRefresh = false }
            return state.mustRefresh
        }
    }

    /// Serves until `end` was called, or a scheduler asked for it, and every run has ended; or until there was
    /// neither a scheduler nor a run for `Settings.idleMax`; or until there was no run after `Settings.isReplaced`. What
    /// a scheduler should still know of ends is in the registry then, for the next runner to tell.
    public func run() {
        var server = ServerLoop(
            settings: settings, runner: runner, outbound: outbound, wake: wake, instance: instance)
        var leaveAt: Int64?
        var idleAt: Int64?
        while true {
            idleAt = idleEnd(of: server, before: idleAt)
            server.turn(timeout: leaveAt ?? idleAt)
            idleAt = idleEnd(of: server, before: idleAt)
            if let at = idleAt, RunnerClock.awake() >= at, server.closeIfUnused() {
                return runner.shutdown(grace: .zero)
            }
            if takeRefresh() {
                server.lookAtProgram()
                server.refresh()
            }
            // Here no request comes in between.
            if server.mustYield, !outbound.hasLiveRun {
                server.mustYield = false
                runner.shutdown(grace: Self.drainTimeout)
            }
            if let grace = server.shutDown {
                server.shutDown = nil
                end(grace: grace)
            }
            guard orders.state.withLock(\.isDown) else { continue }
            if leaveAt == nil {
                leaveAt = RunnerClock.awake() + Self.drainTimeout.wholeNanoseconds
                server.sayDown()
            }
            // What nobody took is in the registry, for the next runner to tell.
            guard server.isConnected, !outbound.isEmpty || server.hasUnwritten,
                RunnerClock.awake() < leaveAt ?? 0
            else { return }
        }
    }
}

extension RunnerServer {
    /// When a server has been idle for long enough, by CLOCK_MONOTONIC; nil while it is not idle.
    private func idleEnd(of server: borrowing ServerLoop, before: Int64?) -> Int64? {
        guard let idleMax = settings.idleMax, !server.isConnected, server.shutDown == nil,
            orders.state.withLock({ $0.grace == nil }), !outbound.hasLiveRun
        else { return nil }
        return before ?? RunnerClock.awake() + idleMax.wholeNanoseconds
    }
}

extension ServerLoop {
    /// Finds out whether this program was replaced.
    mutating func lookAtProgram() {
        guard !mustYield, settings.isReplaced() else { return }
        mustYield = true
        settings.say(
            "this runner still executes a program or a library that was replaced, as by an upgrade; it restarts "
                + "as soon as no run is active. `systemctl restart timerd-runner` restarts it now, which "
                + "stops active runs")
    }
}

/// What was told since whoever sends was woken.
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

    /// Whether to wake whoever sends, and else whether something may wait for more.
    func turn(isLate: Bool) -> (mustRing: Bool, mayWait: Bool) {
        state.withLock { state in
            guard state == .more || isLate else { return (false, state == .beginnings) }
            defer { state = .nothing }
            return (state != .nothing, false)
        }
    }
}
