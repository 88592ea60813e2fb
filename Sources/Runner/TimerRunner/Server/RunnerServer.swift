// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import HostThreads
import Synchronization
import TimerCore
import TimerRunnerProtocol

/// A runner behind a socket. It starts the runs that one scheduler requests by name, with the
/// definitions that the runner has read itself, and keeps events until the scheduler has
/// acknowledged them, however often it disconnects and reconnects.
///
/// A new connection of a scheduler replaces the previous one, which is closed.
public final class RunnerServer: Sendable {
    /// How long the server waits at the end for remaining events to be acknowledged.
    public static let drainTimeout: Duration = .seconds(5)

    /// How many connections can wait to be accepted.
    static let backlog: Int32 = 16

    private let settings: Settings
    private let runner: Runner
    private let outbound = OutboundQueue()
    private let conditionMailbox: ConditionMailbox
    private let wake: Int32
    private let instance = UInt64.random(in: 1 ... .max)
    private let requests = Requests()

    /// Requests of other threads to the serving thread.
    private final class Requests: Sendable {
        struct State {
            var grace: Duration?
            var isDown = false
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
        let conditionMailbox = ConditionMailbox(wake: wake)
        self.conditionMailbox = conditionMailbox
        guard wake >= 0, listen(settings.socket, Self.backlog) == 0 else {
            let code = errno
            close(settings.socket)
            throw Runner.Failure("cannot listen", code)
        }
        let (outbound, requests) = (outbound, requests)
        do throws(Runner.Failure) {
            // Events are sent once per loop iteration, not for each of a thousand starts. The start
            // of a run is not urgent, so the start and the end of a short run are reported together.
            let coalescer = EventCoalescer()
            runner = try Runner(registry: settings.registry, options: settings.options) { event in
                guard !event.run.isCheck else { return conditionMailbox.take(event) }
                guard !event.isMessageOutput else { return }
                coalescer.note(event, isFirst: outbound.enqueue(event))
            } outputGate: { run in
                if run.isCheck { return conditionMailbox.outputGate(of: run) }
                return run.isMessage ? .open : outbound.outputGate(of: run)
            } iterationEnded: { isLate in
                let (mustSend, mayWait) = coalescer.endIteration(isLate: isLate)
                if mustSend, !outbound.sendDirectly() { EventFD.signal(wake) }
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

    /// Schedules a check whether the program was replaced, and a reload of the configuration.
    func refresh() {
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
            settings: settings, runner: runner, outbound: outbound,
            conditionMailbox: conditionMailbox, wake: wake, instance: instance)
        var drainUntil: Int64?
        var idleAt: Int64?
        while true {
            idleAt = idleEnd(of: server, before: idleAt)
            // A runner that ends leaves nothing behind when someone deletes its directory.
            if requests.state.withLock({ $0.grace != nil }) { server.leaveFiles() }
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
            if server.departure.takeYield(hasLiveRun: outbound.hasLiveRun) {
                runner.shutdown(grace: Self.drainTimeout)
            }
            if let grace = server.departure.takeRequest() { end(grace: grace) }
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
        guard let idleMax = settings.idleMax, !server.isConnected, !server.departure.isRequested,
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
        case .output, .unfinished, .dropped, .limited, .slowed, .leftBehind: run.isMessage
        }
    }
}

extension ServerLoop {
    /// Checks whether the file of this program was replaced, so that a new process should take
    /// over.
    mutating func checkProgram() {
        guard !departure.mustYield, settings.isReplaced() else { return }
        departure.yield()
        settings.log(
            "this runner still executes a program or a library that was replaced, as by an upgrade; it restarts "
                + "as soon as no run is active. `systemctl restart timerd-runner` restarts it now, which "
                + "stops active runs")
    }
}
